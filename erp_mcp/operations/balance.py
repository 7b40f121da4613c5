"""A customer's balance: read only when it is executed, so that a preview that waits for a person does not hold it."""

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.domain.money import money_string
from erp_mcp.operations.effects import Effect, apply
from erp_mcp.queries.totals import order_sums, per_currency
from erp_mcp.store.tables import customers, orders
from erp_mcp.store.transaction import Tx

OWED_STATUSES: Final = ("pending", "confirmed", "shipped")
OPEN_AMOUNT: Final = (
    "The open amount is the total of orders that are pending, confirmed or shipped: ordered and not completed. "
    "Payments are not kept here; refunds and currencies are not netted."
)


@dataclass(frozen=True)
class RevealBalance(Effect):
    """Read a customer's balance into the receipt. Nothing is written but the operation itself.

    Args:
        customer_id: whose.
    """

    customer_id: str


@apply.register
def _reveal(effect: RevealBalance, tx: Tx, approval_id: str) -> JsonObject:
    customer = tx.connection.execute(sa.select(customers).where(customers.c.id == effect.customer_id)).one()
    mine = sa.and_(orders.c.customer_id == customer.id, orders.c.status.in_(OWED_STATUSES))
    open_amounts = per_currency(tx.connection.execute(order_sums().where(mine)))
    limit = customer.credit_limit_minor
    return {
        "open_amounts": [total.model_dump() for total in open_amounts],
        "credit_limit": "none" if limit is None else money_string(limit, customer.currency),
        "currency": customer.currency,
        "definition": OPEN_AMOUNT,
    }
