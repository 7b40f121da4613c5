"""The moves behind a product's stock, newest first, each with what was left after it."""

from collections.abc import Sequence
from datetime import date
from functools import cache
from typing import Any

import sqlalchemy as sa

from erp_mcp.contract import JsonObject, Wire
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.queries.days import day_range, local_time
from erp_mcp.queries.lookup import find_product, find_stock
from erp_mcp.queries.page import Page, decode_cursor, encode_cursor, invalid_cursor
from erp_mcp.queries.stock import EVERYWHERE
from erp_mcp.store.prepared import Prepared, Row
from erp_mcp.store.tables import stock_moves
from erp_mcp.store.transaction import Tx


class StockMove(Wire):
    """One change of stock. The ``_after`` values are those of its warehouse, right after the move."""

    move_id: int
    at: str
    warehouse: str
    kind: str
    on_hand_change: str
    on_hand_after: str
    reserved_change: str
    reserved_after: str
    reason: str | None = None
    order_id: str | None = None
    approval_id: str | None = None

    @classmethod
    def of(cls, tx: Tx, row: Row, after: tuple[int, int]) -> "StockMove":
        """From a row of ``stock_moves`` and what was on hand and reserved after it, in thousandths."""
        return cls(
            move_id=row.id,
            at=local_time(tx, row.at),
            warehouse=row.warehouse,
            kind=row.kind,
            on_hand_change=quantity_string(row.on_hand_delta_milli),
            on_hand_after=quantity_string(after[0]),
            reserved_change=quantity_string(row.reserved_delta_milli),
            reserved_after=quantity_string(after[1]),
            reason=row.reason or None,
            order_id=row.order_id,
            approval_id=row.approval_id,
        )


class StockHistory(Page[StockMove]):
    """A product's moves, newest first."""

    sku: str
    name: str


def stock_history_page(
    tx: Tx, sku: str, warehouse: str | None, date_from: date | None, *, limit: int, cursor: str | None
) -> StockHistory:
    """A page of a product's stock moves.

    Args:
        tx: the transaction.
        sku: as typed.
        warehouse: only this one; all of them if left out.
        date_from: from the first move of this business day on.
        limit: how many at most.
        cursor: ``next_cursor`` of the page before.

    Raises:
        ErpError: ``product_not_found``, ``warehouse_not_found``, ``stock_not_found``, ``ambiguous``,
            ``invalid_cursor``.
    """
    product = find_product(tx, sku)
    filters: JsonObject = {"list": "stock moves", "sku": product.sku}
    values: JsonObject = {"sku": product.sku}
    if warehouse is not None:
        filters["warehouse"] = values["warehouse"] = find_stock(tx, product.sku, warehouse).warehouse
    start, _ = day_range(tx, date_from, None)
    if start is not None:
        filters["from"], values["start"] = start.isoformat(), start
    total = int(tx.value(_count(frozenset(values)), **values) or 0)
    if cursor is not None:
        values["before"] = _position(cursor, filters)
    rows = tx.rows(_moves(frozenset(values)), **values, size=limit + 1)
    items = rows[:limit]
    more = len(rows) > limit
    return StockHistory(
        items=_with_running_values(tx, product.sku, items),
        returned=len(items),
        total=total,
        next_cursor=encode_cursor(filters, [str(items[-1].id)]) if more else None,
        note=_note(total, more=more),
        sku=product.sku,
        name=product.name,
    )


def _where(given: frozenset[str]) -> list[sa.ColumnElement[bool]]:
    conditions = [stock_moves.c.sku == sa.bindparam("sku")]
    if "warehouse" in given:
        conditions.append(stock_moves.c.warehouse == sa.bindparam("warehouse"))
    if "start" in given:
        # By number, not by time: the moves shown are then without gaps, which the running values rest on.
        since = stock_moves.c.at >= sa.bindparam("start")
        first = sa.select(sa.func.min(stock_moves.c.id)).where(*conditions, since)
        conditions.append(stock_moves.c.id >= first.scalar_subquery())
    if "before" in given:
        conditions.append(stock_moves.c.id < sa.bindparam("before"))
    return conditions


@cache
def _count(given: frozenset[str]) -> Prepared:
    return Prepared(sa.select(sa.func.count()).select_from(stock_moves).where(*_where(given)))


@cache
def _moves(given: frozenset[str]) -> Prepared:
    newest = sa.select(stock_moves).where(*_where(given)).order_by(stock_moves.c.id.desc())
    return Prepared(newest.limit(sa.bindparam("size", type_=sa.Integer)))


_NEWER = Prepared(
    sa.select(
        stock_moves.c.warehouse,
        sa.func.sum(stock_moves.c.on_hand_delta_milli).label("on_hand_delta_milli"),
        sa.func.sum(stock_moves.c.reserved_delta_milli).label("reserved_delta_milli"),
    )
    .where(stock_moves.c.sku == sa.bindparam("sku"), stock_moves.c.id > sa.bindparam("newest"))
    .group_by(stock_moves.c.warehouse)
)
"""What came after a page."""


def _position(cursor: str, filters: JsonObject) -> int:
    (number,) = decode_cursor(cursor, filters, 1)
    if not number.isdecimal() or len(number) > 18:
        raise invalid_cursor(cursor)
    return int(number)


def _with_running_values(tx: Tx, sku: str, rows: Sequence[Row]) -> list[StockMove]:
    """Walk back from today's stock, less everything that came after the page."""
    if not rows:
        return []
    after = {row.warehouse: (row.on_hand_milli, row.reserved_milli) for row in tx.rows(EVERYWHERE, sku=sku)}
    for later in tx.rows(_NEWER, sku=sku, newest=rows[0].id):
        after[later.warehouse] = _undone(after, later)
    moves = []
    for row in rows:
        moves.append(StockMove.of(tx, row, after.get(row.warehouse, (0, 0))))
        after[row.warehouse] = _undone(after, row)
    return moves


def _undone(after: dict[str, tuple[int, int]], row: Any) -> tuple[int, int]:
    """What a row's warehouse had before the row's changes."""
    on_hand, reserved = after.get(row.warehouse, (0, 0))
    return on_hand - int(row.on_hand_delta_milli), reserved - int(row.reserved_delta_milli)


def _note(total: int, *, more: bool) -> str:
    if not total:
        return "No move fits."
    parts = ["Newest first."]
    if more:
        parts.append("More follow: call again with next_cursor and the same arguments.")
    parts.append("get_order shows the order of a move; get_stock what is there now.")
    return " ".join(parts)
