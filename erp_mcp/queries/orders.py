"""Reading orders: one whole, or a bounded page of many."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.domain.lookup import match_key
from erp_mcp.domain.orders import STATUSES
from erp_mcp.errors import ErpError
from erp_mcp.queries.days import day_range
from erp_mcp.queries.lookup import Row, find_customer, find_order, find_product
from erp_mcp.queries.order_models import OrderDetail, OrderLine, OrderPage, OrderReturn, OrderSummary
from erp_mcp.queries.page import decode_cursor, encode_cursor, invalid_cursor
from erp_mcp.store.tables import customers, order_counts, order_lines, orders, returns
from erp_mcp.store.transaction import Tx

DETAIL_ORDERS: Final = 10
"""Orders on a page with detail."""
DETAIL_LINES: Final = 300
"""Lines on a page with detail; the first order is shown whole even if it has more."""


@dataclass(frozen=True)
class OrderFilter:
    """Which orders are meant; everything that is given must hold.

    Args:
        customer: id or exact name.
        status: one of the statuses.
        sku: orders with at least one line of it.
        date_from: first business day on which they were placed.
        date_to: last such day, inclusive.
    """

    customer: str | None = None
    status: str | None = None
    sku: str | None = None
    date_from: date | None = None
    date_to: date | None = None


def order_detail(tx: Tx, ref: str) -> OrderDetail:
    """One order with its lines.

    Raises:
        ErpError: ``order_not_found``, ``ambiguous``.
    """
    row = find_order(tx, ref)
    name = tx.connection.scalar(sa.select(customers.c.name).where(customers.c.id == row.customer_id))
    return OrderDetail.of(tx, row, str(name), _lines(tx, [row])[row.id], _returns(tx, row.id))


def order_page(tx: Tx, wanted: OrderFilter, *, detail: bool, limit: int, cursor: str | None) -> OrderPage:
    """A page of orders, newest first; orders of the same time by number.

    Args:
        tx: the transaction.
        wanted: which orders.
        detail: with their lines, on a smaller page.
        limit: how many at most.
        cursor: ``next_cursor`` of the page before.

    Raises:
        ErpError: ``invalid_filter``, ``invalid_cursor``, and what the look-ups of customer and product raise.
    """
    conditions, filters = _conditions(tx, wanted)
    total = _total(tx, conditions, filters)
    after = [] if cursor is None else [_after(cursor, filters)]
    size = min(limit, DETAIL_ORDERS) if detail else limit
    query = (
        sa.select(orders, customers.c.name.label("customer_name"))
        .join(customers, customers.c.id == orders.c.customer_id)
        .where(*conditions, *after)
        .order_by(orders.c.placed_at.desc(), orders.c.id.desc())
        .limit(size + 1)
    )
    found = tx.connection.execute(query).all()
    rows = _fitting(found[:size]) if detail else found[:size]
    more = len(rows) < len(found)
    lines = _lines(tx, rows) if detail else {}
    return OrderPage(
        items=[OrderSummary.of(tx, row, lines.get(row.id)) for row in rows],
        returned=len(rows),
        total=total,
        next_cursor=encode_cursor(filters, [rows[-1].placed_at.isoformat(), rows[-1].id]) if more else None,
        note=_note(total, detail=detail, more=more),
    )


def _conditions(tx: Tx, wanted: OrderFilter) -> tuple[list[sa.ColumnElement[bool]], JsonObject]:
    """The WHERE clause, and the same in plain values, to which a cursor is bound."""
    conditions: list[sa.ColumnElement[bool]] = []
    filters: JsonObject = {"list": "orders"}
    if wanted.customer is not None:
        filters["customer"] = find_customer(tx, wanted.customer).id
        conditions.append(orders.c.customer_id == filters["customer"])
    if wanted.status is not None:
        filters["status"] = _status(wanted.status)
        conditions.append(orders.c.status == filters["status"])
    if wanted.sku is not None:
        filters["sku"] = find_product(tx, wanted.sku).sku
        with_sku = sa.select(order_lines.c.order_id).where(order_lines.c.sku == filters["sku"])
        conditions.append(orders.c.id.in_(with_sku))
    start, end = day_range(tx, wanted.date_from, wanted.date_to)
    if start is not None:
        filters["from"] = start.isoformat()
        conditions.append(orders.c.placed_at >= start)
    if end is not None:
        filters["to"] = end.isoformat()
        conditions.append(orders.c.placed_at < end)
    return conditions, filters


def _total(tx: Tx, conditions: list[sa.ColumnElement[bool]], filters: JsonObject) -> int:
    """How many orders fit, exactly. Without a filter, or by status alone, that is kept in ``order_counts``: counting
    the orders themselves would take longer with each order there is."""
    if filters.keys() <= {"list", "status"}:
        kept = sa.select(sa.func.coalesce(sa.func.sum(order_counts.c.orders), 0))
        if "status" in filters:
            kept = kept.where(order_counts.c.status == filters["status"])
        return int(tx.connection.scalar(kept) or 0)
    return tx.connection.scalar(sa.select(sa.func.count()).select_from(orders).where(*conditions)) or 0


def _status(given: str) -> str:
    status = match_key(given)
    if status not in STATUSES:
        raise ErpError(
            "invalid_filter",
            f"status {given!r} is not a status of orders.",
            f"Use one of: {', '.join(STATUSES)}; or leave status out for all of them.",
            allowed=list(STATUSES),
        )
    return status


def _after(cursor: str, filters: JsonObject) -> sa.ColumnElement[bool]:
    placed_at, order_id = decode_cursor(cursor, filters, 2)
    try:
        moment = datetime.fromisoformat(placed_at).astimezone(UTC)
    except (ValueError, OverflowError):
        raise invalid_cursor(cursor) from None
    last = sa.tuple_(sa.literal(moment, orders.c.placed_at.type), sa.literal(order_id))
    return sa.tuple_(orders.c.placed_at, orders.c.id) < last


def _fitting(rows: Sequence[Row]) -> Sequence[Row]:
    """As many orders as have at most DETAIL_LINES lines together, and at least one."""
    lines = 0
    for position, row in enumerate(rows):
        lines += row.line_count
        if lines > DETAIL_LINES and position:
            return rows[:position]
    return rows


def _lines(tx: Tx, rows: Sequence[sa.Row[Any]]) -> dict[str, list[OrderLine]]:
    found: dict[str, list[OrderLine]] = {row.id: [] for row in rows}
    currency = {row.id: row.currency for row in rows}
    query = sa.select(order_lines).where(order_lines.c.order_id.in_(found))
    for line in tx.connection.execute(query.order_by(order_lines.c.order_id, order_lines.c.line_no)):
        found[line.order_id].append(OrderLine.of(line, currency[line.order_id]))
    return found


def _returns(tx: Tx, order_id: str) -> list[OrderReturn]:
    theirs = sa.select(returns).where(returns.c.order_id == order_id).order_by(returns.c.created_at, returns.c.id)
    return [OrderReturn.of(tx, row) for row in tx.connection.execute(theirs)]


def _note(total: int, *, detail: bool, more: bool) -> str:
    if not total:
        return "No order fits these filters."
    parts = ["Newest first."]
    if more:
        parts.append("More follow: call again with next_cursor and the same filters.")
    if detail:
        parts.append(f"With detail a page has at most {DETAIL_ORDERS} orders.")
    else:
        parts.append("get_order gives one order's lines and shipping.")
    return " ".join(parts)
