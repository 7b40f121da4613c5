"""What writes do to orders."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.domain.orders import OrderStatus, order_number
from erp_mcp.operations.effects import Effect, apply, stale
from erp_mcp.operations.numbers import next_number
from erp_mcp.operations.stock_effects import Reserve
from erp_mcp.store.tables import order_lines, orders
from erp_mcp.store.transaction import Tx


@dataclass(frozen=True)
class NewLine:
    """A line as it is kept: name, list price, discount and amount stay what they were when the order was placed."""

    sku: str
    name: str
    quantity_milli: int
    unit_price_minor: int
    discount_bp: int
    net_unit_price_minor: int
    amount_minor: int


@dataclass(frozen=True)
class InsertOrder(Effect):
    """Place an order and reserve its stock. Its number is given here, at execution, and nowhere else.

    Args:
        customer_id: who ordered.
        currency: of every amount in it.
        warehouse: where its stock is reserved.
        ship_to: address fields.
        note: free text.
        twin_key: what identical orders have in common.
        lines: one per SKU.
    """

    customer_id: str
    currency: str
    warehouse: str
    ship_to: JsonObject
    note: str
    twin_key: str
    lines: tuple[NewLine, ...]


@dataclass(frozen=True)
class SetOrderStatus(Effect):
    """Move an order to another status.

    Args:
        order_id: which order.
        version: as the approver saw it.
        status: the new one.
        reason: kept on the order.
    """

    order_id: str
    version: int
    status: OrderStatus
    reason: str = ""


@dataclass(frozen=True)
class ChangeOrder(Effect):
    """Change an open order; None leaves a value as it is. What its stock reserves is changed by effects of its own.

    Args:
        order_id: which order.
        version: as the approver saw it.
        ship_to: the new address's fields.
        note: the new note; empty for none.
        lines: all of its new lines.
        twin_key: belongs to ``lines``.
    """

    order_id: str
    version: int
    ship_to: JsonObject | None = None
    note: str | None = None
    lines: tuple[NewLine, ...] | None = None
    twin_key: str = ""


@apply.register
def _insert(effect: InsertOrder, tx: Tx, approval_id: str) -> JsonObject:
    order_id = next_number(tx, "order", order_number, orders.c.id)
    tx.connection.execute(
        sa.insert(orders).values(
            id=order_id,
            customer_id=effect.customer_id,
            status="confirmed",
            currency=effect.currency,
            warehouse=effect.warehouse,
            total_minor=sum(line.amount_minor for line in effect.lines),
            line_count=len(effect.lines),
            placed_at=tx.now,
            business_date=tx.business_date.isoformat(),
            ship_to=effect.ship_to,
            note=effect.note,
            twin_key=effect.twin_key,
            approval_id=approval_id,
            version=1,
        )
    )
    _insert_lines(tx, order_id, effect.lines)
    for line in effect.lines:
        apply(Reserve(line.sku, effect.warehouse, line.quantity_milli, order_id), tx, approval_id)
    return {"order_id": order_id, "status": "confirmed", "version": 1}


@apply.register
def _change(effect: ChangeOrder, tx: Tx, approval_id: str) -> JsonObject:
    values: JsonObject = {"version": orders.c.version + 1}
    if effect.ship_to is not None:
        values["ship_to"] = effect.ship_to
    if effect.note is not None:
        values["note"] = effect.note
    if effect.lines is not None:
        values["total_minor"] = sum(line.amount_minor for line in effect.lines)
        values["line_count"] = len(effect.lines)
        values["twin_key"] = effect.twin_key
    _compare_and_set(tx, effect.order_id, effect.version, values)
    if effect.lines is not None:
        tx.connection.execute(sa.delete(order_lines).where(order_lines.c.order_id == effect.order_id))
        _insert_lines(tx, effect.order_id, effect.lines)
    return {"version": effect.version + 1}


@apply.register
def _set_status(effect: SetOrderStatus, tx: Tx, approval_id: str) -> JsonObject:
    values = {"status": effect.status, "reason": effect.reason, "version": orders.c.version + 1}
    _compare_and_set(tx, effect.order_id, effect.version, values)
    return {"status": effect.status, "version": effect.version + 1}


def _compare_and_set(tx: Tx, order_id: str, version: int, values: JsonObject) -> None:
    this = sa.and_(orders.c.id == order_id, orders.c.version == version)
    if tx.connection.execute(sa.update(orders).where(this).values(values)).rowcount != 1:
        raise stale(f"Order {order_id}", version)


def _insert_lines(tx: Tx, order_id: str, lines: Sequence[NewLine]) -> None:
    rows = [{"order_id": order_id, "line_no": n, **vars(line)} for n, line in enumerate(lines, start=1)]
    tx.connection.execute(sa.insert(order_lines), rows)
