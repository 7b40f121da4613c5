"""Reading orders: one whole, or a bounded page of many."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Final

import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.domain.lookup import match_key
from erp_mcp.domain.orders import STATUSES
from erp_mcp.errors import ErpError
from erp_mcp.queries.days import day_range
from erp_mcp.queries.lookup import find_customer, find_order, find_product
from erp_mcp.queries.order_models import (
    SUMMARY_COLUMNS,
    OrderDetail,
    OrderLine,
    OrderPage,
    OrderReturn,
    order_line,
    order_summary,
)
from erp_mcp.queries.page import decode_cursor, encode_cursor, invalid_cursor
from erp_mcp.store.prepared import Prepared, Row, listed, one_of
from erp_mcp.store.tables import customers, order_counts, order_lines, orders, returns
from erp_mcp.store.transaction import Tx

DETAIL_ORDERS: Final = 10
"""Orders on a page with detail."""
DETAIL_LINES: Final = 300
"""Lines on a page with detail; the first order is shown whole even if it has more."""


_LINES = Prepared(
    sa.select(order_lines).where(order_lines.c.order_id == sa.bindparam("order_id")).order_by(order_lines.c.line_no)
)
_RETURNS = Prepared(
    sa.select(returns)
    .where(returns.c.order_id == sa.bindparam("order_id"))
    .order_by(returns.c.created_at, returns.c.id)
)


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
    lines = [order_line(line, row.currency) for line in tx.rows(_LINES, order_id=row.id)]
    returned = [OrderReturn.of(tx, one) for one in tx.rows(_RETURNS, order_id=row.id)]
    return OrderDetail.of(tx, row, row.customer_name, lines, returned)


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
    filters, values = _meant(tx, wanted)
    total = _total(tx, values)
    if cursor is not None:
        values |= _after(cursor, filters)
    size = min(limit, DETAIL_ORDERS) if detail else limit
    found = tx.rows(_page(frozenset(values)), **values, size=size + 1)
    rows = _fitting(found[:size]) if detail else found[:size]
    more = len(rows) < len(found)
    lines = _lines(tx, rows) if detail else {}
    return OrderPage.model_construct(
        items=[order_summary(tx, row, lines.get(row.id, []) if detail else None) for row in rows],
        returned=len(rows),
        total=total,
        next_cursor=encode_cursor(filters, [rows[-1].placed_at, rows[-1].id]) if more else None,
        note=_note(total, detail=detail, more=more),
    )


def _meant(tx: Tx, wanted: OrderFilter) -> tuple[JsonObject, JsonObject]:
    """The filters in plain values, to which a cursor is bound, and the values of the statements' parameters."""
    filters: JsonObject = {"list": "orders"}
    values: JsonObject = {}
    if wanted.customer is not None:
        filters["customer"] = values["customer"] = find_customer(tx, wanted.customer).id
    if wanted.status is not None:
        filters["status"] = values["status"] = _status(wanted.status)
    if wanted.sku is not None:
        filters["sku"] = values["sku"] = find_product(tx, wanted.sku).sku
    start, end = day_range(tx, wanted.date_from, wanted.date_to)
    if start is not None:
        filters["from"], values["start"] = start.isoformat(), start
    if end is not None:
        filters["to"], values["end"] = end.isoformat(), end
    return filters, values


_MEANT: Final[dict[str, sa.ColumnElement[bool]]] = {
    "customer": orders.c.customer_id == sa.bindparam("customer"),
    "status": orders.c.status == sa.bindparam("status"),
    "sku": orders.c.id.in_(sa.select(order_lines.c.order_id).where(order_lines.c.sku == sa.bindparam("sku"))),
    "start": orders.c.placed_at >= sa.bindparam("start"),
    "end": orders.c.placed_at < sa.bindparam("end"),
    "after_id": sa.tuple_(orders.c.placed_at, orders.c.id)
    < sa.tuple_(sa.bindparam("after", type_=orders.c.placed_at.type), sa.bindparam("after_id", type_=sa.String)),
}
"""What each value that is given means."""


def _where(given: frozenset[str]) -> list[sa.ColumnElement[bool]]:
    return [condition for name, condition in _MEANT.items() if name in given]


@cache
def _page(given: frozenset[str]) -> Prepared:
    return Prepared(
        sa.select(*SUMMARY_COLUMNS, customers.c.name.label("customer_name"))
        .join(customers, customers.c.id == orders.c.customer_id)
        .where(*_where(given))
        .order_by(orders.c.placed_at.desc(), orders.c.id.desc())
        .limit(sa.bindparam("size", type_=sa.Integer))
    )


@cache
def _count(given: frozenset[str]) -> Prepared:
    """How many orders fit, exactly. Without a filter, or by status alone, that is kept in ``order_counts``: counting
    the orders themselves would take longer with each order there is. Of one product's, its lines know."""
    if given <= {"status"}:
        kept = sa.select(sa.func.coalesce(sa.func.sum(order_counts.c.orders), 0))
        return Prepared(kept.where(order_counts.c.status == sa.bindparam("status")) if given else kept)
    if given == {"sku"}:
        distinct = sa.func.count(sa.distinct(order_lines.c.order_id))
        return Prepared(sa.select(distinct).where(order_lines.c.sku == sa.bindparam("sku")))
    return Prepared(sa.select(sa.func.count()).select_from(orders).where(*_where(given)))


def _total(tx: Tx, values: JsonObject) -> int:
    return int(tx.value(_count(frozenset(values)), **values) or 0)


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


def _after(cursor: str, filters: JsonObject) -> JsonObject:
    placed_at, order_id = decode_cursor(cursor, filters, 2)
    try:
        moment = datetime.fromisoformat(placed_at).astimezone(UTC)
    except (ValueError, OverflowError):
        raise invalid_cursor(cursor) from None
    return {"after": moment, "after_id": order_id}


def _fitting(rows: Sequence[Row]) -> Sequence[Row]:
    """As many orders as have at most DETAIL_LINES lines together, and at least one."""
    lines = 0
    for position, row in enumerate(rows):
        lines += row.line_count
        if lines > DETAIL_LINES and position:
            return rows[:position]
    return rows


@cache
def _lines_of(count: int) -> Prepared:
    return Prepared(
        sa.select(order_lines)
        .where(one_of(order_lines.c.order_id, count))
        .order_by(order_lines.c.order_id, order_lines.c.line_no)
    )


def _lines(tx: Tx, rows: Sequence[Row]) -> dict[str, list[OrderLine]]:
    currency = {row.id: row.currency for row in rows}
    found = tx.rows(_lines_of(len(rows)), **listed(list(currency)))
    of_order = groupby(found, key=attrgetter("order_id"))
    return {order_id: [order_line(line, currency[order_id]) for line in lines] for order_id, lines in of_order}


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
