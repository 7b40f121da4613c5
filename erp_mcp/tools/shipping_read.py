"""The tool that says where a parcel is."""

from erp_mcp.queries.shipping import Shipping, shipping
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import OrderId


def check_shipping(tx: Tx, order_id: OrderId) -> Shipping:
    """An order's carrier, tracking number, state and dates."""
    return shipping(tx, order_id)
