"""Writes on stock."""

from erp_mcp.contract import Change, Reversibility, Target
from erp_mcp.domain.quantity import MAX_MILLI, quantity_string, to_milli
from erp_mcp.errors import ErpError
from erp_mcp.operations.plan import Plan
from erp_mcp.operations.stock_effects import MoveStock
from erp_mcp.queries.lookup import find_product, stock_of
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import Delta, Reason, Sku, WarehouseCode


def adjust_stock(tx: Tx, sku: Sku, delta: Delta, reason: Reason, warehouse: WarehouseCode | None = None) -> Plan:
    """Plan a correction of what is on hand. On hand before and after, and the stock row's version, are bound.

    Raises:
        ErpError: ``insufficient_stock`` where less would be left than open orders have reserved, or than zero;
            ``invalid_argument``; what the look-ups raise.
    """
    product = find_product(tx, sku)
    row = stock_of(tx, product, warehouse)
    delta_milli = to_milli(delta, product.quantity_places, "delta")
    before, after = row.on_hand_milli, row.on_hand_milli + delta_milli
    if after < row.reserved_milli:
        raise _too_little(product.sku, row.warehouse, before, row.reserved_milli, delta_milli)
    if after > MAX_MILLI:
        raise ErpError(
            "invalid_argument",
            f"delta: {quantity_string(delta_milli)} would leave more than {quantity_string(MAX_MILLI)} on hand.",
            "Ask the user for the right number.",
        )
    where = f"{product.sku}@{row.warehouse}"
    return Plan(
        summary=f"Adjust the stock of {product.sku} {product.name} in {row.warehouse} by {_signed(delta_milli)}: "
        f"on hand {quantity_string(before)} → {quantity_string(after)}",
        reversibility=Reversibility(
            kind="reversible", how=f"adjust_stock on {product.sku} with delta {_signed(-delta_milli)}"
        ),
        targets=(Target(kind="stock", id=where, version=row.version, name=product.name),),
        changes=(Change(target=where, field="on hand", before=quantity_string(before), after=quantity_string(after)),),
        facts={"sku": product.sku, "name": product.name, "warehouse": row.warehouse},
        context={
            "reserved": quantity_string(row.reserved_milli),
            "available_after": quantity_string(after - row.reserved_milli),
        },
        effects=(MoveStock(product.sku, row.warehouse, delta_milli, row.version, reason),),
        result={"sku": product.sku, "warehouse": row.warehouse, "delta": quantity_string(delta_milli)},
    )


def _signed(milli: int) -> str:
    return f"+{quantity_string(milli)}" if milli > 0 else quantity_string(milli)


def _too_little(sku: str, warehouse: str, on_hand: int, reserved: int, delta: int) -> ErpError:
    available = quantity_string(on_hand - reserved)
    return ErpError(
        "insufficient_stock",
        f"{sku} in {warehouse} has {available} available ({quantity_string(on_hand)} on hand, "
        f"{quantity_string(reserved)} reserved by open orders); {quantity_string(delta)} cannot be taken away.",
        "Ask the user for a smaller number, or look at the open orders with list_orders.",
        sku=sku,
        warehouse=warehouse,
        available=available,
        requested=quantity_string(-delta),
    )
