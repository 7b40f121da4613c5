"""What writes do to orders."""

from dataclasses import dataclass

import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.domain.orders import OrderStatus, order_number
from erp_mcp.operations.effects import Effect, apply, stale
from erp_mcp.operations.stock_effects import Reserve
from erp_mcp.store.tables import order_lines, orders, sequences
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


@apply.register
def _insert(effect: InsertOrder, tx: Tx, approval_id: str) -> JsonObject:
    order_id = _next_number(tx)
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
    tx.connection.execute(
        sa.insert(order_lines),
        [{"order_id": order_id, "line_no": n, **vars(line)} for n, line in enumerate(effect.lines, start=1)],
    )
    for line in effect.lines:
        apply(Reserve(line.sku, effect.warehouse, line.quantity_milli, order_id), tx, approval_id)
    return {"order_id": order_id, "status": "confirmed", "version": 1}


def _next_number(tx: Tx) -> str:
    """The day's next free number; an imported order may have taken one already."""
    name = f"order:{tx.business_date.isoformat()}"
    while True:
        value = tx.connection.execute(
            sa.update(sequences)
            .where(sequences.c.name == name)
            .values(value=sequences.c.value + 1)
            .returning(sequences.c.value)
        ).scalar_one_or_none()
        if value is None:
            value = 1
            tx.connection.execute(sa.insert(sequences).values(name=name, value=value))
        number = order_number(tx.business_date, value)
        if tx.connection.execute(sa.select(orders.c.id).where(orders.c.id == number)).first() is None:
            return number


@apply.register
def _set_status(effect: SetOrderStatus, tx: Tx, approval_id: str) -> JsonObject:
    done = tx.connection.execute(
        sa.update(orders)
        .where(orders.c.id == effect.order_id, orders.c.version == effect.version)
        .values(status=effect.status, reason=effect.reason, version=orders.c.version + 1)
    )
    if done.rowcount != 1:
        raise stale(f"Order {effect.order_id}", effect.version)
    return {"status": effect.status, "version": effect.version + 1}
