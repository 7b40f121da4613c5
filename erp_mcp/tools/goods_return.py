"""Taking goods back, and sending others for them."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import sqlalchemy as sa

from erp_mcp.contract import Amount, Change, JsonObject, Reversibility, Target
from erp_mcp.domain.money import money_string
from erp_mcp.domain.orders import RETURNABLE_STATUSES, twin_key
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.errors import ErpError
from erp_mcp.operations.order_effects import InsertOrder
from erp_mcp.operations.plan import Plan
from erp_mcp.operations.return_effects import InsertReturn
from erp_mcp.operations.return_lines import LineBack, lines_back
from erp_mcp.operations.sale import Sale, new_line, quote_sale
from erp_mcp.queries.lookup import find_order
from erp_mcp.store.tables import customers
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import Lines, OrderId, Reason

REFUND: Final = (
    "Net unit price as placed × quantity, rounded half up; the last piece of a line gets the rest of its amount."
)


def request_return(tx: Tx, order_id: OrderId, lines: Lines, reason: Reason, exchange_for: Lines | None = None) -> Plan:
    """Plan the return of goods of a shipped or completed order: refund, stock back, and an order in exchange.

    Raises:
        ErpError: ``not_returnable``, ``return_exceeds_order``; for the exchange ``product_discontinued``,
            ``mixed_currencies``, ``insufficient_stock`` (all shortages together); what the look-ups raise.
    """
    order = find_order(tx, order_id)
    if order.status not in RETURNABLE_STATUSES:
        raise _not_returnable(order)
    back = tuple(lines_back(tx, order, _pairs(lines)))
    sale = None
    if exchange_for is not None:
        sale = quote_sale(
            tx,
            _pairs(exchange_for),
            currency=order.currency,
            whose=f"order {order.id} is",
            warehouse=order.warehouse,
            field="exchange_for",
        )
    return _plan(tx, order, back, sale, reason)


def _plan(tx: Tx, order: sa.Row[Any], back: tuple[LineBack, ...], sale: Sale | None, reason: str) -> Plan:
    customer = tx.connection.execute(
        sa.select(customers.c.name).where(customers.c.id == order.customer_id)
    ).scalar_one()
    refund = sum(line.refund_minor for line in back)
    money = _money(order.currency, refund, sale)
    what = "Return" if sale is None else "Exchange"
    shown = ", ".join(f"{amount.label} {amount.amount} {amount.currency}" for amount in money)
    return Plan(
        summary=f"{what} goods of order {order.id} of {customer} ({order.customer_id}): {shown}",
        reversibility=Reversibility(kind="compensable", how=_how_back(sale)),
        targets=(Target(kind="order", id=order.id, version=order.version, name=customer),),
        changes=_changes(order, back, sale),
        money=money,
        facts={
            "customer": {"id": order.customer_id, "name": customer},
            "status": order.status,
            "lines": [line.as_json(order.currency) for line in back],
            "stock_back": {"warehouse": order.warehouse, "quantities": _quantities(back)},
        }
        | _exchange_facts(order, sale),
        context={"refund": REFUND} | ({} if sale is None else {"available": _shown(sale.available)}),
        warnings=_warnings(order),
        effects=(
            InsertReturn(
                order.id, order.version, order.warehouse, order.currency, reason, back, _exchange(order, sale)
            ),
        ),
        result={
            "order_id": order.id,
            "returned": [{"sku": sku, "quantity": quantity} for sku, quantity in _quantities(back).items()],
            "currency": order.currency,
        }
        | {amount.label.replace(" ", "_"): amount.amount for amount in money},
    )


def _money(currency: str, refund: int, sale: Sale | None) -> tuple[Amount, ...]:
    amounts = [("refund", refund)]
    if sale is not None:
        difference = sale.total_minor - refund
        amounts.append(("exchange total", sale.total_minor))
        amounts.append(("to pay", difference) if difference > 0 else ("to pay back", -difference))
    return tuple(
        Amount(label=label, amount=money_string(minor, currency), currency=currency) for label, minor in amounts
    )


def _changes(order: sa.Row[Any], back: Sequence[LineBack], sale: Sale | None) -> tuple[Change, ...]:
    returned = (
        Change(
            target=f"{order.id} line {line.line_no}, {line.sku}",
            field="returned",
            before=quantity_string(line.returned_milli),
            after=quantity_string(line.returned_milli + line.quantity_milli),
        )
        for line in back
    )
    placed = () if sale is None else (Change(target="exchange order", field="status", after="confirmed"),)
    return (*returned, *placed)


def _exchange_facts(order: sa.Row[Any], sale: Sale | None) -> JsonObject:
    if sale is None:
        return {}
    lines = [line.as_json() for line in sale.lines]
    return {"exchange": {"lines": lines, "warehouse": order.warehouse, "ship_to": order.ship_to}}


def _exchange(order: sa.Row[Any], sale: Sale | None) -> InsertOrder | None:
    if sale is None:
        return None
    twin = twin_key(order.customer_id, [(line.sku, line.quantity_milli) for line in sale.lines])
    return InsertOrder(
        customer_id=order.customer_id,
        currency=order.currency,
        warehouse=order.warehouse,
        ship_to=order.ship_to,
        note=f"Exchange for goods of order {order.id}",
        twin_key=twin,
        lines=tuple(map(new_line, sale.lines)),
    )


def _how_back(sale: Sale | None) -> str:
    how = "goods that came back stay in stock; create_order sells them again, at the prices of that day"
    return how if sale is None else f"{how}; cancel_order takes back the exchange order until it ships"


def _warnings(order: sa.Row[Any]) -> tuple[str, ...]:
    if order.status == "completed":
        return ()
    return (f"Order {order.id} is shipped, and not recorded as completed: the goods may still be on their way.",)


def _pairs(lines: Lines) -> list[tuple[str, Decimal]]:
    return [(line.sku, line.quantity) for line in lines]


def _quantities(back: Sequence[LineBack]) -> JsonObject:
    totals: dict[str, int] = {}
    for line in back:
        totals[line.sku] = totals.get(line.sku, 0) + line.quantity_milli
    return _shown(totals)


def _shown(milli: dict[str, int]) -> JsonObject:
    return {sku: quantity_string(value) for sku, value in milli.items()}


def _not_returnable(order: sa.Row[Any]) -> ErpError:
    still_open = order.status != "cancelled"
    return ErpError(
        "not_returnable",
        f"Order {order.id} is {order.status}; only goods of a shipped or completed order can come back.",
        "Tell the user; cancel_order or update_order changes an order that has not shipped."
        if still_open
        else "Tell the user; get_order shows when and why it was cancelled.",
        order_id=order.id,
        status=order.status,
    )
