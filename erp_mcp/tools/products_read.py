"""The tools that read products and their stock."""

from erp_mcp.queries.products import ProductDetail, product_detail
from erp_mcp.queries.stock import ProductStock, product_stock
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import AnyWarehouse, Sku


def get_product(tx: Tx, sku: Sku) -> ProductDetail:
    """One product as it is sold today."""
    return product_detail(tx, sku)


def get_stock(tx: Tx, sku: Sku, warehouse: AnyWarehouse | None = None) -> ProductStock:
    """A product's stock, per warehouse and in all."""
    return product_stock(tx, sku, warehouse)
