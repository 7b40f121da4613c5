"""What writes do to customers."""

from dataclasses import dataclass

import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.operations.effects import Effect, apply, stale
from erp_mcp.store.tables import customers
from erp_mcp.store.transaction import Tx


@dataclass(frozen=True)
class ChangeCustomer(Effect):
    """Change how a customer is reached; None leaves a value as it is.

    Args:
        customer_id: whose.
        version: as the approver saw it.
        address: all fields of the new address; the country by which sales are added up follows it.
        phone: the new number.
        email: the new e-mail address.
    """

    customer_id: str
    version: int
    address: JsonObject | None = None
    phone: str | None = None
    email: str | None = None


@apply.register
def _change(effect: ChangeCustomer, tx: Tx, approval_id: str) -> JsonObject:
    values: JsonObject = {"version": customers.c.version + 1}
    if effect.address is not None:
        values |= {"address": effect.address, "country": effect.address["country"]}
    if effect.phone is not None:
        values["phone"] = effect.phone
    if effect.email is not None:
        values["email"] = effect.email
    this = sa.and_(customers.c.id == effect.customer_id, customers.c.version == effect.version)
    if tx.connection.execute(sa.update(customers).where(this).values(values)).rowcount != 1:
        raise stale(f"Customer {effect.customer_id}", effect.version)
    return {"version": effect.version + 1}
