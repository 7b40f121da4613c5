"""Cancelling an order."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from erp_mcp.contract import Amount, Change, JsonObject, Reversibility, Target
from erp_mcp.domain.money import money_string
from erp_mcp.domain.orders import can_move
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.errors import ErpError
from erp_mcp.operations.order_effects import SetOrderStatus
from erp_mcp.operations.plan import Plan
from erp_mcp.operations.stock_effects import Release
from erp_mcp.queries.lookup import find_order
from erp_mcp.store.tables import customers, order_lines
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import OrderId, Reason


def cancel_order(tx: Tx, order_id: OrderId, reason: Reason) -> Plan:
    """Plan the cancellation of an open order: its status, and the stock that it gives back.

    Raises:
        ErpError: ``already_cancelled``, ``not_cancellable``, ``order_not_found``, ``ambiguous``.
    """
    order = find_order(tx, order_id)
    if not can_move(order.status, "cancelled"):
        raise _not_cancellable(order)
    customer = tx.connection.execute(
        sa.select(customers.c.name).where(customers.c.id == order.customer_id)
    ).scalar_one()
    lines = tx.connection.execute(
        sa.select(order_lines).where(order_lines.c.order_id == order.id).order_by(order_lines.c.line_no)
    ).all()
    reserved = _per_sku(lines)
    total = money_string(order.total_minor, order.currency)
    return Plan(
        summary=f"Cancel order {order.id} of {customer} ({order.customer_id}): {order.line_count} "
        f"{'line' if order.line_count == 1 else 'lines'}, {total} {order.currency}",
        reversibility=Reversibility(
            kind="compensable",
            how="a cancelled order stays cancelled; create_order places a new one, at the prices and stock of that day",
        ),
        targets=(Target(kind="order", id=order.id, version=order.version, name=customer),),
        changes=(
            Change(target=order.id, field="status", before=order.status, after="cancelled"),
            *(
                Change(target=sku, field="reserved for this order", before=quantity_string(milli), after="0")
                for sku, milli in reserved.items()
            ),
        ),
        money=(Amount(label="order total", amount=total, currency=order.currency),),
        context={
            "customer": {"id": order.customer_id, "name": customer},
            "placed_at": order.placed_at.astimezone(tx.zone).isoformat(timespec="minutes"),
            "lines": [_line(line, order.currency) for line in lines],
        },
        effects=(
            SetOrderStatus(order.id, order.version, "cancelled", reason),
            *(Release(sku, order.warehouse, milli, order.id, reason) for sku, milli in reserved.items()),
        ),
        result={
            "order_id": order.id,
            "released": [{"sku": sku, "quantity": quantity_string(milli)} for sku, milli in reserved.items()],
        },
    )


def _per_sku(lines: Sequence[sa.Row[Any]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for line in lines:
        totals[line.sku] = totals.get(line.sku, 0) + line.quantity_milli
    return totals


def _line(line: sa.Row[Any], currency: str) -> JsonObject:
    return {
        "sku": line.sku,
        "name": line.name,
        "quantity": quantity_string(line.quantity_milli),
        "amount": money_string(line.amount_minor, currency),
    }


def _not_cancellable(order: sa.Row[Any]) -> ErpError:
    if order.status == "cancelled":
        return ErpError(
            "already_cancelled",
            f"Order {order.id} is cancelled already.",
            "Nothing is left to do; get_order shows when and why.",
            order_id=order.id,
            status=order.status,
        )
    return ErpError(
        "not_cancellable",
        f"Order {order.id} is {order.status}; only a pending or confirmed order can be cancelled.",
        "Tell the user; get_order shows the order's state.",
        order_id=order.id,
        status=order.status,
    )
