"""A token that is bound to one customer: what of a call is theirs, decided before the tool runs.

Somebody else's order, or another customer, is refused in the words for what does not exist. The arguments that name an
order or a customer are then set to the row that was found, so that lists and totals are of that customer alone.
"""

from erp_mcp.contract import JsonObject
from erp_mcp.domain.lookup import match_key
from erp_mcp.queries.lookup import customer_not_found, find_customer_by_id, find_order
from erp_mcp.registry import Tool
from erp_mcp.skill import BelongsTo
from erp_mcp.store.engine import Store


def own_arguments(store: Store, tool: Tool, customer: str, raw: JsonObject) -> JsonObject:
    """The arguments of a call by a token that is bound to a customer.

    Args:
        store: the ERP's database.
        tool: what is called.
        customer: the id of the one customer.
        raw: the arguments as they came.

    Returns:
        The same, with the order or customer that they name by its own id.

    Raises:
        ErpError: ``order_not_found``, ``customer_not_found`` where what is named is not theirs; ``invalid_argument``.
    """
    owner = tool.skill.belongs_to
    if not isinstance(owner, BelongsTo):
        return raw  # nobody's; what is everybody's is refused before
    if owner.kind == "customer" and raw.get(owner.argument) is None:
        return raw | {owner.argument: customer}
    reference = getattr(tool.parse(raw), owner.argument)
    with store.read() as tx:
        if owner.kind == "order":
            return raw | {owner.argument: find_order(tx, reference, customer=customer).id}
        own = find_customer_by_id(tx, customer)
    if own is None or match_key(reference) not in (own.id_key, own.name_key):
        raise customer_not_found(reference)
    return raw | {owner.argument: customer}
