"""Loading a source's books, whole or not at all. What is in the database already stays as it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from erp_mcp.domain.money import MAX_MINOR
from erp_mcp.domain.orders import order_number
from erp_mcp.errors import ErpError
from erp_mcp.importers.books import Books, SourceOrder, Spot, Values
from erp_mcp.importers.levels import Levels, wanted_stock
from erp_mcp.importers.report import ImportReport, Progress, RowListener, RowNotes, unwatched
from erp_mcp.store.bulk import insert_rows
from erp_mcp.store.engine import Store
from erp_mcp.store.meta import read_meta, write_meta
from erp_mcp.store.tables import (
    customers,
    order_lines,
    orders,
    price_tiers,
    products,
    return_lines,
    returns,
    stock,
    stock_moves,
    warehouses,
)
from erp_mcp.store.transaction import Tx

LINES_AT_ONCE: Final = 20_000
"""Order lines that are held before they are written: it bounds the memory that loading takes."""


@dataclass(frozen=True)
class Reading:
    """What a source is read with.

    Args:
        zone: the business time zone; sources know days and local times.
        currency: the business currency, for sources that name none.
        notes: told of every row that is mended or refused.
        progress: told how far the reading is.
    """

    zone: ZoneInfo
    currency: str
    notes: RowNotes
    progress: Progress


def load_books(
    store: Store,
    dataset: str,
    read: Callable[[Reading], Books],
    chosen: Sequence[str],
    *,
    progress: Progress | None = None,
    on_row: RowListener | None = None,
) -> ImportReport:
    """Read a source and load it in one transaction. Loading the same again changes nothing.

    Args:
        store: an opened database, empty or with this data set in it.
        dataset: its name.
        read: reads the source; called before anything is written, since it can take a while.
        chosen: what was decided where the source says nothing.
        progress: told what is being done and how far it is.
        on_row: told of every row that is mended or refused; the report itself holds the first ones of each reason.

    Raises:
        ErpError: ``dataset_mismatch`` where another data set is loaded; what ``read`` raises. Nothing is written then.
    """
    notes = RowNotes(on_row)
    with store.read() as tx:
        _refuse_another(tx, dataset)
        reading = Reading(tx.zone, read_meta(tx).get("currency", "USD"), notes, progress or unwatched)
    books = read(reading)
    with store.write() as tx:
        _refuse_another(tx, dataset)
        loading = _Loading(tx, dataset, books, reading)
        loading.run()
        write_meta(tx, "dataset", dataset)
    return ImportReport(
        dataset=dataset,
        taken=loading.taken,
        unchanged=loading.unchanged,
        mended=notes.kept("mended"),
        refused=notes.kept("refused"),
        mended_rows=notes.counts("mended"),
        refused_rows=notes.counts("refused"),
        notes=list(chosen),
    )


def _refuse_another(tx: Tx, dataset: str) -> None:
    loaded = read_meta(tx).get("dataset", dataset)
    if loaded != dataset:
        raise ErpError(
            "dataset_mismatch",
            f"The database holds the data set {loaded!r}, not {dataset!r}.",
            "Load it into a new database: set COUNTERSIGN_HOME (or COUNTERSIGN_ERP_URL) to another one.",
        )


class _Loading:
    """One load, step by step: in the order of the foreign keys, and with opening moves before the others."""

    def __init__(self, tx: Tx, dataset: str, books: Books, reading: Reading) -> None:
        self._tx, self._books, self._reading = tx, books, reading
        self._reason = f"imported from {dataset}"
        self._levels = Levels(tx, books.stock)
        self._numbers = _Numbers(tx)
        self._new_orders: dict[str, str] = {}
        self.taken: dict[str, int] = {}
        self.unchanged: dict[str, int] = {}

    def run(self) -> None:
        books = self._books
        codes = {code: {"code": code, "name": name} for code, name in books.warehouses.items()}
        self._insert(warehouses, self._missing(warehouses.c.code, codes))
        self._take("customers", customers, customers.c.id, books.customers)
        new = self._take("products", products, products.c.sku, books.products)
        tiers = [{"sku": row["sku"], **tier._asdict()} for row in new for tier in books.tiers.get(row["sku"], ())]
        self._insert(price_tiers, tiers)
        self._open_stock()
        self._take_orders()
        self._levels.write()
        if books.returns:
            self._take_returns()

    def _take(self, kind: str, table: sa.Table, key: sa.Column[str], rows: dict[str, Values]) -> list[Values]:
        new = self._missing(key, rows)
        self._insert(table, new)
        self.taken[kind], self.unchanged[kind] = len(new), len(rows) - len(new)
        return new

    def _open_stock(self) -> None:
        new = self._levels.new
        self._insert(stock, [{"sku": sku, "warehouse": code, **values} for (sku, code), values in new.items()])
        self._insert(stock_moves, [self._move(s, "opening", on_hand=v["on_hand_milli"]) for s, v in new.items()])

    def _take_orders(self) -> None:
        there = set(self._tx.connection.scalars(sa.select(orders.c.source_id)))
        self.taken |= {"orders": 0, "order_lines": 0}
        self.unchanged["orders"] = 0
        pending = _Pending()
        for seen, order in enumerate(self._books.orders, start=1):
            if order.values["source_id"] in there:
                self.unchanged["orders"] += 1
            elif order.values["total_minor"] > MAX_MINOR:
                what = f"order {order.values['source_id']} comes to more than can be kept"
                self._reading.notes.refuse(order.file, order.row, "an amount that is too large", what)
            elif short := self._levels.reserve(order):
                what = f"order {order.values['source_id']} is open and needs {'; '.join(short)}"
                self._reading.notes.refuse(order.file, order.row, "not enough stock for an open order", what)
            else:
                self._take_order(order, pending)
            if len(pending.lines) >= LINES_AT_ONCE:
                self._write(pending)
                self._reading.progress("loading orders", seen, self._books.order_count)
        self._write(pending)
        self._reading.progress("loading orders", self._books.order_count, self._books.order_count)

    def _take_order(self, order: SourceOrder, pending: "_Pending") -> None:
        number = self._numbers.free(order)
        self._new_orders[order.values["source_id"]] = number
        pending.orders.append({"id": number, **order.values})
        pending.lines.extend({"order_id": number, **line} for line in order.lines)
        wanted = wanted_stock(order)
        pending.moves.extend(self._move(s, "reserve", reserved=milli, order=number) for s, milli in wanted.items())
        self.taken["orders"] += 1
        self.taken["order_lines"] += len(order.lines)

    def _write(self, pending: "_Pending") -> None:
        for table, rows in ((orders, pending.orders), (order_lines, pending.lines), (stock_moves, pending.moves)):
            self._insert(table, rows)
            rows.clear()

    def _take_returns(self) -> None:
        there = set(self._tx.connection.scalars(sa.select(returns.c.id)))
        heads: list[Values] = []
        lines: list[Values] = []
        for found in self._books.returns:
            number = self._new_orders.get(found.order)
            if found.values["id"] in there:
                continue
            if number is None:  # what is there stays as it is, so nothing comes back from it either
                what = f"order {found.order} was loaded before, and stays as it is"
                self._reading.notes.refuse(found.file, found.row, "returned from an order loaded before", what)
                continue
            heads.append(found.values | {"order_id": number})
            lines.extend(line | {"return_id": found.values["id"], "order_id": number} for line in found.lines)
        self._insert(returns, heads)
        self._insert(return_lines, lines)
        self.taken["returns"] = len(heads)
        self.unchanged["returns"] = sum(found.values["id"] in there for found in self._books.returns)

    def _missing(self, key: sa.Column[str], rows: dict[str, Values]) -> list[Values]:
        present = set(self._tx.connection.scalars(sa.select(key)))
        return [row for identity, row in rows.items() if identity not in present]

    def _insert(self, table: sa.Table, rows: Sequence[Values]) -> None:
        insert_rows(self._tx.connection, table, rows)

    def _move(self, spot: Spot, kind: str, *, on_hand: int = 0, reserved: int = 0, order: str | None = None) -> Values:
        # One shape for every kind of move, since they are inserted as one list.
        return {
            "sku": spot[0], "warehouse": spot[1], "kind": kind, "reason": self._reason, "at": self._tx.now,
            "on_hand_delta_milli": on_hand, "reserved_delta_milli": reserved, "order_id": order,
        }  # fmt: skip


@dataclass
class _Pending:
    """Rows that are ready, but not written yet."""

    orders: list[Values] = field(default_factory=list)
    lines: list[Values] = field(default_factory=list)
    moves: list[Values] = field(default_factory=list)


class _Numbers:
    """Which order numbers are free."""

    def __init__(self, tx: Tx) -> None:
        self._taken = set(tx.connection.scalars(sa.select(orders.c.id)))
        self._last: dict[date, int] = {}

    def free(self, order: SourceOrder) -> str:
        """An order's own number within its day; the day's next free one where it has none, or it is another order's."""
        day = order.values["placed_at"].date()
        number = "" if order.number is None else order_number(day, order.number)
        while not number or number in self._taken:
            self._last[day] = self._last.get(day, 0) + 1
            number = order_number(day, self._last[day])
        self._taken.add(number)
        return number
