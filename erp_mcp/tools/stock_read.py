"""The tools that read stock over time and where it runs low."""

from erp_mcp.queries.low_stock import LowStockPage, low_stock_page
from erp_mcp.queries.page import DEFAULT_LIMIT
from erp_mcp.queries.stock_history import StockHistory, stock_history_page
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import AnyWarehouse, Cursor, Day, Limit, Sku


def list_low_stock(
    tx: Tx, warehouse: AnyWarehouse | None = None, limit: Limit = DEFAULT_LIMIT, cursor: Cursor | None = None
) -> LowStockPage:
    """A page of products at or below their reorder level."""
    return low_stock_page(tx, warehouse, limit=limit, cursor=cursor)


def stock_history(
    tx: Tx,
    sku: Sku,
    warehouse: AnyWarehouse | None = None,
    date_from: Day | None = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor | None = None,
) -> StockHistory:
    """A page of a product's stock moves, newest first."""
    return stock_history_page(tx, sku, warehouse, date_from, limit=limit, cursor=cursor)
