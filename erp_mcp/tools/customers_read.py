"""The tools that read customers and what they bought."""

from erp_mcp.queries.customers import CustomerDetail, CustomerPage, customer_detail, customer_page
from erp_mcp.queries.page import DEFAULT_LIMIT
from erp_mcp.queries.purchases import CustomerPurchases, customer_purchases
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import CustomerRef, Day, Limit, Query


def find_customers(tx: Tx, query: Query, limit: Limit = DEFAULT_LIMIT) -> CustomerPage:
    """The customers that have every word of the query."""
    return customer_page(tx, query, limit)


def get_customer(tx: Tx, customer: CustomerRef) -> CustomerDetail:
    """One customer as filed."""
    return customer_detail(tx, customer)


def get_customer_purchases(
    tx: Tx, customer: CustomerRef, date_from: Day | None = None, date_to: Day | None = None
) -> CustomerPurchases:
    """What a customer has bought: products by status, and totals."""
    return customer_purchases(tx, customer, date_from, date_to)
