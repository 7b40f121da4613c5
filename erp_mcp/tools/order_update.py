"""Changing an order that has not shipped."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from erp_mcp.contract import Amount, Change, JsonObject, Reversibility, Target
from erp_mcp.domain.money import money_string
from erp_mcp.domain.orders import OPEN_STATUSES, twin_key
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.errors import ErpError
from erp_mcp.operations.addresses import address_changes, can_be_given, filled
from erp_mcp.operations.effects import Effect
from erp_mcp.operations.order_effects import ChangeOrder
from erp_mcp.operations.order_revision import Revision, revise
from erp_mcp.operations.plan import Plan
from erp_mcp.operations.sale import new_line
from erp_mcp.operations.stock_effects import Release, Reserve
from erp_mcp.queries.lookup import find_order
from erp_mcp.store.tables import customers
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import Address, Lines, Note, OrderId

PRICES = "A SKU whose quantity stays keeps its price as placed; a changed or new one is priced today, with its tier."


def update_order(
    tx: Tx,
    order_id: OrderId,
    lines: Lines | None = None,
    ship_to: Address | None = None,
    note: Note | None = None,
) -> Plan:
    """Plan a change of an open order's lines, delivery address or note. Money before and after is bound.

    Raises:
        ErpError: ``not_updatable``, ``nothing_to_change``; ``product_discontinued``, ``mixed_currencies``,
            ``insufficient_stock`` (all shortages together); what the look-ups raise.
    """
    order = find_order(tx, order_id)
    if order.status not in OPEN_STATUSES:
        raise _not_updatable(order)
    revision = None if lines is None else revise(tx, order, [(line.sku, line.quantity) for line in lines])
    address = None if ship_to is None else filled(ship_to.model_dump())
    address = None if address == filled(order.ship_to) else address
    note = None if note == order.note else note
    changed = [name for name, value in (("lines", revision), ("ship_to", address), ("note", note)) if value is not None]
    if not changed:
        raise _nothing_to_change(order)
    return _plan(tx, order, revision, address, note, changed)


def _plan(
    tx: Tx,
    order: sa.Row[Any],
    revision: Revision | None,
    address: JsonObject | None,
    note: str | None,
    changed: list[str],
) -> Plan:
    customer = tx.connection.execute(
        sa.select(customers.c.name).where(customers.c.id == order.customer_id)
    ).scalar_one()
    total = order.total_minor if revision is None else revision.total_minor
    shown = money_string(total, order.currency)
    moved = {} if revision is None else revision.moved
    was = (
        ""
        if revision is None
        else f", total {money_string(order.total_minor, order.currency)} → {shown} {order.currency}"
    )
    return Plan(
        summary=f"Change the {_listed(changed)} of order {order.id} of {customer} ({order.customer_id}){was}",
        reversibility=_reversibility(order, revision, address),
        targets=(Target(kind="order", id=order.id, version=order.version, name=customer),),
        changes=_changes(order, moved, address, note),
        money=_money(order, revision),
        facts=_facts(order, customer, revision, address),
        context={}
        if revision is None
        else {
            "prices": PRICES,
            "available": {sku: quantity_string(milli) for sku, milli in revision.available.items()},
        },
        warnings=() if revision is None else tuple(revision.price_changes()),
        effects=_effects(order, revision, address, note),
        result={"order_id": order.id, "changed": changed, "total": shown, "currency": order.currency},
    )


def _changes(
    order: sa.Row[Any], moved: Mapping[str, tuple[int, int]], address: JsonObject | None, note: str | None
) -> tuple[Change, ...]:
    """What is reserved for the order is always what its lines ask for, so one change says both."""
    quantities = (
        Change(target=sku, field="ordered and reserved", before=quantity_string(before), after=quantity_string(after))
        for sku, (before, after) in moved.items()
    )
    moves = () if address is None else address_changes(order.id, "ship to", order.ship_to, address)
    notes = () if note is None else (Change(target=order.id, field="note", before=order.note, after=note),)
    return (*quantities, *moves, *notes)


def _money(order: sa.Row[Any], revision: Revision | None) -> tuple[Amount, ...]:
    def amount(label: str, minor: int) -> Amount:
        return Amount(label=label, amount=money_string(minor, order.currency), currency=order.currency)

    if revision is None:
        return (amount("order total, unchanged", order.total_minor),)
    return (
        amount("order total before", order.total_minor),
        amount("order total after", revision.total_minor),
        amount("difference", revision.total_minor - order.total_minor),
    )


def _facts(order: sa.Row[Any], customer: str, revision: Revision | None, address: JsonObject | None) -> JsonObject:
    facts: JsonObject = {"customer": {"id": order.customer_id, "name": customer}, "status": order.status}
    if revision is not None:
        facts |= {
            "lines_before": [line.as_json() for line in revision.before],
            "lines_after": revision.lines_json(),
            "warehouse": order.warehouse,
            "reserved": {sku: _signed(after - before) for sku, (before, after) in revision.moved.items()},
        }
    if address is not None:
        facts["ship_to"] = address
    return facts


def _effects(
    order: sa.Row[Any], revision: Revision | None, address: JsonObject | None, note: str | None
) -> tuple[Effect, ...]:
    if revision is None:
        return (ChangeOrder(order.id, order.version, address, note),)
    twin = twin_key(order.customer_id, [(line.sku, line.quantity_milli) for line in revision.after])
    change = ChangeOrder(order.id, order.version, address, note, tuple(map(new_line, revision.after)), twin)
    less = {sku: before - after for sku, (before, after) in revision.moved.items() if before > after}
    more = {sku: after - before for sku, (before, after) in revision.moved.items() if after > before}
    return (
        change,
        *(Release(sku, order.warehouse, milli, order.id, "order changed") for sku, milli in less.items()),
        *(Reserve(sku, order.warehouse, milli, order.id) for sku, milli in more.items()),
    )


def _reversibility(order: sa.Row[Any], revision: Revision | None, address: JsonObject | None) -> Reversibility:
    how = "update_order with the values shown as before, until it ships"
    if address is not None and not can_be_given(order.ship_to):
        return Reversibility(kind="compensable", how=f"{how}; the address before was incomplete, and cannot be given")
    if revision is None or revision.restorable:
        return Reversibility(kind="reversible", how=how)
    return Reversibility(
        kind="compensable", how=f"{how}; its lines would be priced anew, since their prices as placed are not today's"
    )


def _signed(milli: int) -> str:
    return f"+{quantity_string(milli)}" if milli > 0 else quantity_string(milli)


def _listed(changed: list[str]) -> str:
    words = {"lines": "lines", "ship_to": "delivery address", "note": "note"}
    *rest, last = [words[name] for name in changed]
    return f"{', '.join(rest)} and {last}" if rest else last


def _not_updatable(order: sa.Row[Any]) -> ErpError:
    left = order.status in ("shipped", "completed")
    return ErpError(
        "not_updatable",
        f"Order {order.id} is {order.status}; only a pending or confirmed order can be changed.",
        "Tell the user; request_return takes back goods that have left."
        if left
        else "Tell the user; create_order places a new order.",
        order_id=order.id,
        status=order.status,
    )


def _nothing_to_change(order: sa.Row[Any]) -> ErpError:
    return ErpError(
        "nothing_to_change",
        f"Order {order.id} would stay as it is: no line, delivery address or note differs.",
        "Ask the user what should be different; get_order shows the order as it is.",
        order_id=order.id,
    )
