"""The tools that look for products."""

from erp_mcp.queries.page import DEFAULT_LIMIT
from erp_mcp.queries.product_search import ProductPage, product_page
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import Category, Cursor, Flag, Limit, Query


def search_products(
    tx: Tx,
    query: Query,
    category: Category | None = None,
    in_stock_only: Flag = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
) -> ProductPage:
    """A page of the products that have every word of the query."""
    return product_page(tx, query, category, in_stock_only=in_stock_only, limit=limit, cursor=cursor)
