"""The tools that read orders."""

from erp_mcp.queries.order_models import OrderDetail, OrderPage
from erp_mcp.queries.orders import OrderFilter, order_detail, order_page
from erp_mcp.queries.page import DEFAULT_LIMIT
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import Cursor, CustomerRef, Day, Flag, Limit, OrderId, Sku, Status


def get_order(tx: Tx, order_id: OrderId) -> OrderDetail:
    """One order, whole."""
    return order_detail(tx, order_id)


def list_orders(
    tx: Tx,
    customer: CustomerRef | None = None,
    status: Status | None = None,
    sku: Sku | None = None,
    date_from: Day | None = None,
    date_to: Day | None = None,
    detail: Flag = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
) -> OrderPage:
    """A page of orders, newest first."""
    wanted = OrderFilter(customer, status, sku, date_from, date_to)
    return order_page(tx, wanted, detail=detail, limit=limit, cursor=cursor)
