"""Changing how a customer is reached."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from erp_mcp.contract import Change, JsonObject, Reversibility, Target
from erp_mcp.domain.orders import OPEN_STATUSES
from erp_mcp.errors import ErpError
from erp_mcp.operations.addresses import address_changes, can_be_given, filled
from erp_mcp.operations.customer_effects import ChangeCustomer
from erp_mcp.operations.plan import Plan
from erp_mcp.queries.lookup import find_customer
from erp_mcp.store.tables import orders
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import Address, CustomerRef, Email, Phone


def update_customer(
    tx: Tx,
    customer: CustomerRef,
    address: Address | None = None,
    phone: Phone | None = None,
    email: Email | None = None,
) -> Plan:
    """Plan a change of a customer's address, phone or e-mail address; each value before and after is bound.

    The values stand in the changes, for the approver; summary, result and refusals, which a model reads, only say which
    of them change.

    Raises:
        ErpError: ``nothing_to_change``; ``customer_not_found``, ``ambiguous``.
    """
    found = find_customer(tx, customer)
    before: JsonObject = {"address": filled(found.address), "phone": found.phone, "email": found.email}
    given: JsonObject = {"address": filled(address.model_dump()) if address else None, "phone": phone, "email": email}
    new = {name: value for name, value in given.items() if value is not None and value != before[name]}
    if not new:
        raise _nothing_to_change(found, given)
    return Plan(
        summary=f"Change {_listed(new)} of {found.name} ({found.id})",
        reversibility=_reversibility(before, new),
        targets=(Target(kind="customer", id=found.id, version=found.version, name=found.name),),
        changes=_changes(found.id, before, new),
        facts={"customer": {"id": found.id, "name": found.name}},
        warnings=_warnings(tx, found.id, new),
        effects=(ChangeCustomer(found.id, found.version, **new),),
        result={"customer_id": found.id, "customer": found.name, "changed": list(new)},
    )


def _changes(customer_id: str, before: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    moved = address_changes(customer_id, "address", before["address"], new.get("address", before["address"]))
    plain = (
        Change(target=customer_id, field=name, before=before[name], after=new[name])
        for name in ("phone", "email")
        if name in new
    )
    return (*moved, *plain)


def _reversibility(before: Mapping[str, Any], new: Mapping[str, Any]) -> Reversibility:
    """What was empty cannot be made empty again, since the tool takes no empty value."""
    lost = [name for name in new if not (can_be_given(before[name]) if name == "address" else before[name])]
    how = "update_customer with the values shown as before"
    if not lost:
        return Reversibility(kind="reversible", how=how)
    return Reversibility(kind="compensable", how=f"{how}; {_listed(lost)} was empty or incomplete, and stays filled")


def _warnings(tx: Tx, customer_id: str, new: Mapping[str, Any]) -> tuple[str, ...]:
    if "address" not in new:
        return ()
    waiting = sa.and_(orders.c.customer_id == customer_id, orders.c.status.in_(OPEN_STATUSES))
    count = tx.connection.scalar(sa.select(sa.func.count()).select_from(orders).where(waiting)) or 0
    if not count:
        return ()
    kept = "1 open order keeps" if count == 1 else f"{count} open orders keep"
    return (f"{kept} the address it was placed with; update_order changes an order's own.",)


def _nothing_to_change(found: sa.Row[Any], given: Mapping[str, Any]) -> ErpError:
    names = [name for name, value in given.items() if value is not None]
    said = f"its {_listed(names)} would stay as it is" if names else "no address, phone or email was given"
    return ErpError(
        "nothing_to_change",
        f"Customer {found.id}: {said}.",
        "Ask the user what should be different; get_customer shows what is filed.",
        customer_id=found.id,
    )


def _listed(names: Any) -> str:
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else str(last)
