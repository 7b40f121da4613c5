"""What must hold in the database at any moment, checked by SQL from outside: for ``doctor`` and for the tests."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from erp_mcp.domain.orders import OPEN_STATUSES
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.store.tables import (
    operations,
    order_counts,
    order_lines,
    orders,
    return_lines,
    returns,
    stock,
    stock_moves,
)
from erp_mcp.store.transaction import Tx

EFFECT_OF = {"create_order": orders, "adjust_stock": stock_moves, "request_return": returns}
"""Where each tool's effect must have left its approval's id."""


def check_invariants(tx: Tx) -> list[str]:
    """Every broken rule, one sentence each; an empty list when all is well.

    On hand and reserved are the sums of their moves; reserved is also the sum over open orders' lines; an order's total
    and line count are those of its lines; orders are counted rightly; returns fit the lines that came back;
    operations and their effects point at each other.
    """
    return [*_moves(tx), *_reservations(tx), *_totals(tx), *_counts(tx), *_returns(tx), *_effects(tx), *_operations(tx)]


def _moves(tx: Tx) -> Iterator[str]:
    sums = _by_place(
        stock_moves,
        sa.func.sum(stock_moves.c.on_hand_delta_milli).label("on_hand"),
        sa.func.sum(stock_moves.c.reserved_delta_milli).label("reserved"),
    )
    kept = {(r.sku, r.warehouse): (r.on_hand_milli, r.reserved_milli) for r in tx.connection.execute(sa.select(stock))}
    moved = {(r.sku, r.warehouse): (int(r.on_hand), int(r.reserved)) for r in tx.connection.execute(sums)}
    for place in sorted(kept.keys() | moved.keys()):
        have, want = kept.get(place, (0, 0)), moved.get(place, (0, 0))
        for name, is_now, should_be in zip(("on hand", "reserved"), have, want, strict=True):
            if is_now != should_be:
                shown = f"{quantity_string(is_now)}, its moves add up to {quantity_string(should_be)}"
                yield f"{place[0]} in {place[1]}: {name} is {shown}."


def _reservations(tx: Tx) -> Iterator[str]:
    wanted = (
        sa.select(order_lines.c.sku, orders.c.warehouse, sa.func.sum(order_lines.c.quantity_milli).label("milli"))
        .join(orders, orders.c.id == order_lines.c.order_id)
        .where(orders.c.status.in_(OPEN_STATUSES))
        .group_by(order_lines.c.sku, orders.c.warehouse)
    )
    open_lines = {(r.sku, r.warehouse): int(r.milli) for r in tx.connection.execute(wanted)}
    reserving = sa.select(stock).where(stock.c.reserved_milli != 0)
    reserved = {(r.sku, r.warehouse): r.reserved_milli for r in tx.connection.execute(reserving)}
    for place in sorted(open_lines.keys() | reserved.keys()):
        have, want = reserved.get(place, 0), open_lines.get(place, 0)
        if have != want:
            shown = f"{quantity_string(have)}, open orders need {quantity_string(want)}"
            yield f"{place[0]} in {place[1]}: reserved is {shown}."


def _totals(tx: Tx) -> Iterator[str]:
    total = sa.func.coalesce(sa.func.sum(order_lines.c.amount_minor), 0)
    count = sa.func.count(order_lines.c.line_no)
    wrong = (
        sa.select(orders.c.id)
        .outerjoin(order_lines, order_lines.c.order_id == orders.c.id)
        .group_by(orders.c.id, orders.c.total_minor, orders.c.line_count)
        .having(sa.or_(total != orders.c.total_minor, count != orders.c.line_count))
        .order_by(orders.c.id)
    )
    for order_id in tx.connection.scalars(wrong):
        yield f"Order {order_id}: its total or line count is not that of its lines."


def _returns(tx: Tx) -> Iterator[str]:
    """What came back is on the order's lines; refunds are those of their lines, and no line's exceed what it cost."""
    lines = sa.and_(return_lines.c.order_id == order_lines.c.order_id, return_lines.c.line_no == order_lines.c.line_no)
    back = sa.func.coalesce(sa.func.sum(return_lines.c.quantity_milli), 0)
    refunded = sa.func.coalesce(sa.func.sum(return_lines.c.amount_minor), 0)
    wrong_lines = (
        sa.select(order_lines.c.order_id, order_lines.c.line_no)
        .outerjoin(return_lines, lines)
        .group_by(order_lines.c.order_id, order_lines.c.line_no)
        .having(sa.or_(back != order_lines.c.returned_milli, refunded > order_lines.c.amount_minor))
        .order_by(order_lines.c.order_id, order_lines.c.line_no)
    )
    for order_id, line_no in tx.connection.execute(wrong_lines):
        yield f"Order {order_id}, line {line_no}: returned or refunded is not what its returns say, or too much."
    total = sa.func.coalesce(sa.func.sum(return_lines.c.amount_minor), 0)
    wrong = (
        sa.select(returns.c.id)
        .outerjoin(return_lines, return_lines.c.return_id == returns.c.id)
        .group_by(returns.c.id)
        .having(total != returns.c.refund_minor)
        .order_by(returns.c.id)
    )
    for return_id in tx.connection.scalars(wrong):
        yield f"Return {return_id}: its refund is not the sum of its lines."


def _counts(tx: Tx) -> Iterator[str]:
    counted = sa.select(orders.c.business_date, orders.c.status, sa.func.count()).group_by("business_date", "status")
    there = {(day, status): n for day, status, n in tx.connection.execute(counted)}
    kept = {(row.business_date, row.status): row.orders for row in tx.connection.execute(sa.select(order_counts))}
    for day, status in sorted(there.keys() | kept.keys()):
        if there.get((day, status), 0) != kept.get((day, status), 0):
            shown = f"{there.get((day, status), 0)}, and {kept.get((day, status), 0)} are counted"
            yield f"Orders of {day} that are {status}: {shown}."


def _effects(tx: Tx) -> Iterator[str]:
    """Effects that no operation accounts for."""
    for table in (orders, stock_moves, returns):
        approval_id = table.c.approval_id
        orphans = sa.select(approval_id).where(
            approval_id.is_not(None), ~sa.exists().where(operations.c.approval_id == approval_id)
        )
        for orphan in tx.connection.scalars(orphans.distinct().order_by(approval_id)):
            yield f"{table.name} names approval {orphan}, and there is no such operation."


def _operations(tx: Tx) -> Iterator[str]:
    """Operations whose effect is not there."""
    for tool, table in EFFECT_OF.items():
        lost = sa.select(operations.c.approval_id).where(
            operations.c.tool == tool, ~sa.exists().where(table.c.approval_id == operations.c.approval_id)
        )
        for approval_id in tx.connection.scalars(lost.order_by(operations.c.approval_id)):
            yield f"Operation {approval_id} ({tool}) has left nothing in {table.name}."


def _by_place(table: sa.Table, *sums: sa.Label[Any]) -> sa.Select[Any]:
    return sa.select(table.c.sku, table.c.warehouse, *sums).group_by(table.c.sku, table.c.warehouse)
