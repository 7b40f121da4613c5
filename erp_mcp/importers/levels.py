"""Stock while open orders are loaded: what they reserve is set aside here, and written when all of them are in."""

from dataclasses import dataclass

import sqlalchemy as sa

from erp_mcp.domain.orders import OPEN_STATUSES
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.importers.books import SourceOrder, Spot, Values
from erp_mcp.store.tables import stock
from erp_mcp.store.transaction import Tx


@dataclass
class _Level:
    on_hand_milli: int
    reserved_milli: int
    is_new: bool
    changed: bool = False

    @property
    def available_milli(self) -> int:
        return self.on_hand_milli - self.reserved_milli


class Levels:
    """Every row of ``stock``: the database's, and the source's where the database has none.

    Args:
        tx: the writing transaction.
        opening: the source's rows.
    """

    def __init__(self, tx: Tx, opening: dict[Spot, Values]) -> None:
        self._tx = tx
        self._levels = {
            (row.sku, row.warehouse): _Level(row.on_hand_milli, row.reserved_milli, is_new=False)
            for row in tx.connection.execute(sa.select(stock))
        }
        self.new = {spot: values for spot, values in opening.items() if spot not in self._levels}
        for spot, values in self.new.items():
            self._levels[spot] = _Level(values["on_hand_milli"], 0, is_new=True)

    def reserve(self, order: SourceOrder) -> list[str]:
        """Set an open order's stock aside, all of it or nothing; an order in another status needs none.

        Returns:
            What is short, one clause per product; nothing where it was set aside.
        """
        wanted = wanted_stock(order)
        short = [
            f"{quantity_string(milli)} of {sku} in {code}, where {quantity_string(self._available((sku, code)))} "
            f"{'is' if self._available((sku, code)) == 1000 else 'are'} available"
            for (sku, code), milli in wanted.items()
            if milli > self._available((sku, code))
        ]
        if not short:
            for spot, milli in wanted.items():
                level = self._levels[spot]
                level.reserved_milli, level.changed = level.reserved_milli + milli, True
        return short

    def write(self) -> None:
        """Write what was set aside. A row that was there already was changed by it, so its version rises."""
        rows = [
            {"of_sku": sku, "of_warehouse": code, "now": level.reserved_milli, "step": int(not level.is_new)}
            for (sku, code), level in self._levels.items()
            if level.changed
        ]
        if rows:
            self._tx.connection.execute(
                sa.update(stock)
                .where(stock.c.sku == sa.bindparam("of_sku"), stock.c.warehouse == sa.bindparam("of_warehouse"))
                .values(reserved_milli=sa.bindparam("now"), version=stock.c.version + sa.bindparam("step")),
                rows,
            )

    def _available(self, spot: Spot) -> int:
        level = self._levels.get(spot)
        return 0 if level is None else level.available_milli


def wanted_stock(order: SourceOrder) -> dict[Spot, int]:
    """What an open order reserves, in thousandths, merged by product; nothing for an order in another status."""
    wanted: dict[Spot, int] = {}
    if order.values["status"] in OPEN_STATUSES:
        for line in order.lines:
            spot = (line["sku"], order.values["warehouse"])
            wanted[spot] = wanted.get(spot, 0) + line["quantity_milli"]
    return wanted
