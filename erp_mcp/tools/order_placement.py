"""Placing an order."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from erp_mcp.contract import Amount, Change, JsonObject, Reversibility
from erp_mcp.domain.money import money_string
from erp_mcp.domain.orders import twin_key
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.errors import ErpError
from erp_mcp.operations.order_effects import InsertOrder, NewLine
from erp_mcp.operations.plan import Plan
from erp_mcp.operations.quoting import QuotedLine, quote_lines
from erp_mcp.queries.lookup import find_customer, find_warehouse
from erp_mcp.store.tables import orders, stock
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
    quoted = quote_lines(tx, [(line.sku, line.quantity) for line in lines])
    _refuse_discontinued(quoted)
    currency = _one_currency(quoted, buyer)
    code = find_warehouse(tx, warehouse).code
    available = _available(tx, code, quoted)
    _refuse_shortages(code, quoted, available)
    twin = twin_key(buyer.id, [(line.sku, line.quantity_milli) for line in quoted])
    twins = _twins(tx, twin)
    total = money_string(sum(line.priced.amount_minor for line in quoted), currency)
    address = _filled(ship_to.model_dump() if ship_to else buyer.address)
    count = f"{len(quoted)} {'line' if len(quoted) == 1 else 'lines'}"
    return Plan(
        summary=f"Place an order for {buyer.name} ({buyer.id}): {count}, {total} {currency}",
        reversibility=Reversibility(kind="reversible", how="cancel_order with the new order's number, until it ships"),
        changes=(Change(target="new order", field="status", after="confirmed"),),
        money=(Amount(label="order total", amount=total, currency=currency),),
        facts={
            "customer": {"id": buyer.id, "name": buyer.name},
            "lines": [line.as_json() for line in quoted],
            "currency": currency,
            "warehouse": code,
            "ship_to": address,
            "twins": [order_id for order_id, _ in twins],
        },
        context={"available": {sku: quantity_string(milli) for sku, milli in available.items()}},
        warnings=tuple(_twin_warning(tx, order_id, placed_at) for order_id, placed_at in twins),
        effects=(InsertOrder(buyer.id, currency, code, address, note, twin, tuple(map(_new_line, quoted))),),
        result={"customer_id": buyer.id, "customer": buyer.name, "total": total, "currency": currency},
    )


def _refuse_discontinued(quoted: Sequence[QuotedLine]) -> None:
    gone = [line for line in quoted if line.discontinued]
    if gone:
        raise ErpError(
            "product_discontinued",
            f"No longer sold: {', '.join(f'{line.sku} {line.name}' for line in gone)}.",
            "Ask the user for another product; get_product shows what is known about one.",
            skus=[line.sku for line in gone],
        )


def _one_currency(quoted: Sequence[QuotedLine], buyer: sa.Row[Any]) -> str:
    currencies = sorted({line.currency for line in quoted} | {buyer.currency})
    if len(currencies) > 1:
        raise ErpError(
            "mixed_currencies",
            f"One order has one currency; customer {buyer.id} is billed in {buyer.currency}, and the products are "
            f"priced in {', '.join(sorted({line.currency for line in quoted}))}.",
            "Place one order per currency, for a customer who is billed in it; get_product shows a product's currency.",
            currencies=currencies,
        )
    return currencies[0]


def _available(tx: Tx, warehouse: str, quoted: Sequence[QuotedLine]) -> dict[str, int]:
    """What can be promised now, in thousandths; a product that the warehouse does not keep counts as 0."""
    rows = tx.connection.execute(
        sa.select(stock.c.sku, (stock.c.on_hand_milli - stock.c.reserved_milli).label("available")).where(
            stock.c.warehouse == warehouse, stock.c.sku.in_([line.sku for line in quoted])
        )
    )
    found = {row.sku: row.available for row in rows}
    return {line.sku: found.get(line.sku, 0) for line in quoted}


def _refuse_shortages(warehouse: str, quoted: Sequence[QuotedLine], available: dict[str, int]) -> None:
    shortages = [
        {
            "sku": line.sku,
            "name": line.name,
            "requested": quantity_string(line.quantity_milli),
            "available": quantity_string(available[line.sku]),
        }
        for line in quoted
        if line.quantity_milli > available[line.sku]
    ]
    if shortages:
        each = "; ".join(
            f"{s['sku']} {s['name']}: {s['requested']} wanted, {s['available']} available" for s in shortages
        )
        raise ErpError(
            "insufficient_stock",
            f"Not enough in {warehouse}: {each}.",
            "Ask the user for other quantities; get_stock shows every warehouse.",
            warehouse=warehouse,
            shortages=shortages,
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


def _filled(address: JsonObject) -> JsonObject:
    return {name: value for name, value in address.items() if value}


def _new_line(line: QuotedLine) -> NewLine:
    priced = line.priced
    return NewLine(
        line.sku, line.name, line.quantity_milli,
        priced.list_price_minor, priced.discount_bp, priced.net_unit_price_minor, priced.amount_minor,
    )  # fmt: skip
