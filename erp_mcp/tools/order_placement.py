"""Placing an order."""

from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from erp_mcp.contract import Amount, Change, Reversibility
from erp_mcp.domain.money import money_string
from erp_mcp.domain.orders import twin_key
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.operations.addresses import filled
from erp_mcp.operations.order_effects import InsertOrder
from erp_mcp.operations.plan import Plan
from erp_mcp.operations.sale import new_line, quote_sale
from erp_mcp.queries.lookup import find_customer, find_warehouse
from erp_mcp.store.tables import orders
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import Address, CustomerRef, Lines, Note, WarehouseCode

TWIN_WINDOW: Final = timedelta(hours=24)
"""Identical orders of the last day are put before the approver (DESIGN section 2)."""


def create_order(
    tx: Tx,
    customer: CustomerRef,
    lines: Lines,
    warehouse: WarehouseCode | None = None,
    ship_to: Address | None = None,
    note: Note = "",
) -> Plan:
    """Plan a new order at today's prices. Prices, address and identical orders are bound; stock left is context.

    Raises:
        ErpError: ``product_discontinued``, ``mixed_currencies``, ``insufficient_stock`` (all shortages together), and
            what the look-ups raise.
    """
    buyer = find_customer(tx, customer)
    code = find_warehouse(tx, warehouse).code
    wanted = [(line.sku, line.quantity) for line in lines]
    whose = f"customer {buyer.id} is billed"
    sale = quote_sale(tx, wanted, currency=buyer.currency, whose=whose, warehouse=code)
    twin = twin_key(buyer.id, [(line.sku, line.quantity_milli) for line in sale.lines])
    twins = _twins(tx, twin)
    total = money_string(sale.total_minor, currency := buyer.currency)
    address = filled(ship_to.model_dump() if ship_to else buyer.address)
    count = f"{len(sale.lines)} {'line' if len(sale.lines) == 1 else 'lines'}"
    return Plan(
        summary=f"Place an order for {buyer.name} ({buyer.id}): {count}, {total} {currency}",
        reversibility=Reversibility(kind="reversible", how="cancel_order with the new order's number, until it ships"),
        changes=(Change(target="new order", field="status", after="confirmed"),),
        money=(Amount(label="order total", amount=total, currency=currency),),
        facts={
            "customer": {"id": buyer.id, "name": buyer.name},
            "lines": [line.as_json() for line in sale.lines],
            "currency": currency,
            "warehouse": code,
            "ship_to": address,
            "twins": [order_id for order_id, _ in twins],
        },
        context={"available": {sku: quantity_string(milli) for sku, milli in sale.available.items()}},
        warnings=tuple(_twin_warning(tx, order_id, placed_at) for order_id, placed_at in twins),
        effects=(InsertOrder(buyer.id, currency, code, address, note, twin, tuple(map(new_line, sale.lines))),),
        result={"customer_id": buyer.id, "customer": buyer.name, "total": total, "currency": currency},
    )


def _twins(tx: Tx, twin: str) -> list[tuple[str, datetime]]:
    rows = tx.connection.execute(
        sa.select(orders.c.id, orders.c.placed_at)
        .where(orders.c.twin_key == twin, orders.c.placed_at >= tx.now - TWIN_WINDOW, orders.c.status != "cancelled")
        .order_by(orders.c.placed_at, orders.c.id)
    )
    return [(row.id, row.placed_at) for row in rows]


def _twin_warning(tx: Tx, order_id: str, placed_at: datetime) -> str:
    placed = placed_at.astimezone(tx.zone)
    today = placed.date() == tx.business_date
    return f"Same customer and lines as {order_id}, placed {placed.strftime('%H:%M' if today else '%Y-%m-%d %H:%M')}."
