"""New lines for an order that was placed: what keeps its price, what is priced today, what is reserved in addition.

The rule: a SKU whose quantity stays keeps its lines as they were placed; every other SKU is one line, at the prices of
today and the tier of its whole new quantity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.domain.pricing import PricedLine
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.operations.quoting import QuotedLine, quote_lines
from erp_mcp.operations.sale import available_in, refuse_discontinued, refuse_other_currencies, refuse_shortages
from erp_mcp.store.tables import order_lines
from erp_mcp.store.transaction import Tx


@dataclass(frozen=True)
class Revision:
    """An order's lines before and after.

    Args:
        before: as kept; one SKU may have several lines.
        after: as they would be.
        today: the SKUs that are priced today.
        moved: quantity before and after of each SKU whose quantity changes, in thousandths; what is reserved follows.
        available: what could be promised before, in thousandths, of each SKU of which more is wanted.
        restorable: whether the lines before, ordered again today, would come out as they were placed.
    """

    before: tuple[QuotedLine, ...]
    after: tuple[QuotedLine, ...]
    today: frozenset[str]
    moved: dict[str, tuple[int, int]]
    available: dict[str, int]
    restorable: bool

    @property
    def total_minor(self) -> int:
        """The sum of the new lines, in minor units."""
        return sum(line.priced.amount_minor for line in self.after)

    def lines_json(self) -> list[JsonObject]:
        """The new lines as an approver reads them; ``priced`` says at which prices."""
        return [line.as_json() | {"priced": "today" if line.sku in self.today else "as placed"} for line in self.after]

    def price_changes(self) -> list[str]:
        """One sentence for each SKU that was on the order and now costs something else per unit."""
        placed: dict[str, list[str]] = {}
        for line in self.before:
            placed.setdefault(line.sku, []).append(line.as_json()["net_unit_price"])
        now = {line.sku: line.as_json()["net_unit_price"] for line in self.after if line.sku in self.today}
        return [
            f"{sku}: {' and '.join(dict.fromkeys(placed[sku]))} each as placed, {price} each today."
            for sku, price in now.items()
            if sku in placed and set(placed[sku]) != {price}
        ]


def revise(tx: Tx, order: sa.Row[Any], lines: Sequence[tuple[str, Decimal]]) -> Revision | None:
    """Plan new lines; None where no SKU's quantity would change.

    Args:
        tx: read only.
        order: a row of ``orders``, open.
        lines: all of its new lines, SKU as typed and quantity; lines of one SKU are merged.

    Raises:
        ErpError: ``product_discontinued`` (of which more is wanted), ``mixed_currencies``, ``insufficient_stock`` (all
            shortages together), and what ``quote_lines`` raises.
    """
    before = _placed(tx, order)
    quoted = quote_lines(tx, lines)
    had, wanted = _per_sku(before), _per_sku(quoted)
    moved = {
        sku: (had.get(sku, 0), wanted.get(sku, 0)) for sku in (had | wanted) if had.get(sku, 0) != wanted.get(sku, 0)
    }
    if not moved:
        return None
    today = [line for line in quoted if line.sku in moved]
    more = [line for line in today if line.quantity_milli > had.get(line.sku, 0)]
    refuse_discontinued(more)
    refuse_other_currencies(today, order.currency, f"order {order.id} is")
    available = available_in(tx, order.warehouse, [line.sku for line in more])
    extra = [(line.sku, line.name, line.quantity_milli - had.get(line.sku, 0)) for line in more]
    refuse_shortages(order.warehouse, extra, available)
    after = [
        line
        for new in quoted
        for line in ([new] if new.sku in moved else [old for old in before if old.sku == new.sku])
    ]
    return Revision(
        before, tuple(after), frozenset(line.sku for line in today), moved, available, _restorable(tx, before, moved)
    )


def _placed(tx: Tx, order: sa.Row[Any]) -> tuple[QuotedLine, ...]:
    rows = tx.connection.execute(
        sa.select(order_lines).where(order_lines.c.order_id == order.id).order_by(order_lines.c.line_no)
    )
    return tuple(
        QuotedLine(
            row.sku, row.name, order.currency, False, row.quantity_milli,
            PricedLine(row.unit_price_minor, row.discount_bp, row.net_unit_price_minor, row.amount_minor),
        )
        for row in rows
    )  # fmt: skip


def _per_sku(lines: Sequence[QuotedLine]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for line in lines:
        totals[line.sku] = totals.get(line.sku, 0) + line.quantity_milli
    return totals


def _restorable(tx: Tx, before: Sequence[QuotedLine], moved: dict[str, tuple[int, int]]) -> bool:
    gone = [line for line in before if line.sku in moved]
    again = quote_lines(tx, [(line.sku, Decimal(quantity_string(line.quantity_milli))) for line in gone])
    return again == gone
