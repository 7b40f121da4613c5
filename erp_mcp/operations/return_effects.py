"""What a return writes: itself, the order's lines, the stock that comes back, and the order sent in exchange."""

from dataclasses import dataclass

import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.domain.orders import return_number
from erp_mcp.operations.effects import Effect, apply, stale
from erp_mcp.operations.numbers import next_number
from erp_mcp.operations.order_effects import InsertOrder
from erp_mcp.operations.return_lines import LineBack
from erp_mcp.operations.stock_effects import TakeBack
from erp_mcp.store.tables import order_lines, orders, return_lines, returns
from erp_mcp.store.transaction import Tx


@dataclass(frozen=True)
class InsertReturn(Effect):
    """Take goods of an order back. The return's number is given here, at execution.

    Args:
        order_id: which order.
        version: of the order, as the approver saw it.
        warehouse: where the goods come back to.
        currency: of the refund.
        reason: kept with the return and with the stock moves.
        lines: what comes back.
        exchange: the order that is placed for it, if any.
    """

    order_id: str
    version: int
    warehouse: str
    currency: str
    reason: str
    lines: tuple[LineBack, ...]
    exchange: InsertOrder | None = None


@apply.register
def _insert(effect: InsertReturn, tx: Tx, approval_id: str) -> JsonObject:
    this = sa.and_(orders.c.id == effect.order_id, orders.c.version == effect.version)
    if tx.connection.execute(sa.update(orders).where(this).values(version=orders.c.version + 1)).rowcount != 1:
        raise stale(f"Order {effect.order_id}", effect.version)
    # Reserved before the goods are back on hand: what comes back is not what is sent out for it.
    sent = None if effect.exchange is None else apply(effect.exchange, tx, approval_id)["order_id"]
    return_id = next_number(tx, "return", return_number, returns.c.id)
    tx.connection.execute(
        sa.insert(returns).values(
            id=return_id,
            order_id=effect.order_id,
            reason=effect.reason,
            refund_minor=sum(line.refund_minor for line in effect.lines),
            currency=effect.currency,
            exchange_order_id=sent,
            created_at=tx.now,
            approval_id=approval_id,
        )
    )
    for line in effect.lines:
        _take_line(effect, line, return_id, tx)
    for sku, milli in _per_sku(effect.lines).items():
        apply(TakeBack(sku, effect.warehouse, milli, effect.order_id, effect.reason), tx, approval_id)
    exchange = {} if sent is None else {"exchange_order_id": sent}
    return {"return_id": return_id, "version": effect.version + 1} | exchange


def _take_line(effect: InsertReturn, line: LineBack, return_id: str, tx: Tx) -> None:
    tx.connection.execute(
        sa.insert(return_lines).values(
            return_id=return_id,
            order_id=effect.order_id,
            line_no=line.line_no,
            sku=line.sku,
            quantity_milli=line.quantity_milli,
            amount_minor=line.refund_minor,
        )
    )
    tx.connection.execute(
        sa.update(order_lines)
        .where(order_lines.c.order_id == effect.order_id, order_lines.c.line_no == line.line_no)
        .values(returned_milli=order_lines.c.returned_milli + line.quantity_milli)
    )


def _per_sku(lines: tuple[LineBack, ...]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for line in lines:
        totals[line.sku] = totals.get(line.sku, 0) + line.quantity_milli
    return totals
