"""A read that asks first: what a customer owes is shown only after a person agreed."""

from erp_mcp.contract import Reversibility
from erp_mcp.operations.balance import OPEN_AMOUNT, RevealBalance
from erp_mcp.operations.plan import Plan
from erp_mcp.queries.lookup import find_customer
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import CustomerRef


def check_balance(tx: Tx, customer: CustomerRef) -> Plan:
    """Plan to show a customer's open amount and credit limit. The plan holds neither: they are read on execution.

    Raises:
        ErpError: ``customer_not_found``, ``ambiguous``.
    """
    found = find_customer(tx, customer)
    return Plan(
        summary=f"Show the open amount and credit limit of {found.name} ({found.id}) to whoever asked",
        reversibility=Reversibility(kind="irreversible", how="nothing is changed, and what was read stays known"),
        facts={"customer": {"id": found.id, "name": found.name}, "shows": ["open amount", "credit limit"]},
        context={"definition": OPEN_AMOUNT},
        effects=(RevealBalance(found.id),),
        result={"customer_id": found.id, "customer": found.name},
    )
