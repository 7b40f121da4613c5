"""Reading stock: on hand, reserved by open orders, and available, per warehouse."""

import sqlalchemy as sa

from erp_mcp.contract import Wire
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.queries.lookup import find_product, find_stock
from erp_mcp.store.prepared import Prepared, Row
from erp_mcp.store.tables import stock
from erp_mcp.store.transaction import Tx

EVERYWHERE = Prepared(sa.select(stock).where(stock.c.sku == sa.bindparam("sku")).order_by(stock.c.warehouse))
"""A product's stock in all warehouses."""


class StockLevel(Wire):
    """A product in one warehouse. ``available`` is on hand less reserved; ``version`` rises with each change."""

    warehouse: str
    on_hand: str
    reserved: str
    available: str
    reorder_level: str
    low: bool
    version: int

    @classmethod
    def of(cls, row: Row) -> "StockLevel":
        """From a row of ``stock``. It is low at the reorder level, not only below; a level of 0 is no level."""
        available = row.on_hand_milli - row.reserved_milli
        return cls(
            warehouse=row.warehouse,
            on_hand=quantity_string(row.on_hand_milli),
            reserved=quantity_string(row.reserved_milli),
            available=quantity_string(available),
            reorder_level=quantity_string(row.reorder_level_milli),
            low=available <= row.reorder_level_milli and row.reorder_level_milli > 0,
            version=row.version,
        )


class ProductStock(Wire):
    """A product's stock: each warehouse that was asked for, and their sums."""

    sku: str
    name: str
    discontinued: bool
    on_hand: str
    reserved: str
    available: str
    warehouses: list[StockLevel]


def product_stock(tx: Tx, sku: str, warehouse: str | None) -> ProductStock:
    """The stock of a product.

    Args:
        tx: the transaction.
        sku: as typed.
        warehouse: only this one; all of them if left out.

    Raises:
        ErpError: ``product_not_found``, ``warehouse_not_found``, ``stock_not_found``, ``ambiguous``.
    """
    product = find_product(tx, sku)
    rows = [find_stock(tx, product.sku, warehouse)] if warehouse else tx.rows(EVERYWHERE, sku=product.sku)
    on_hand, reserved = sum(row.on_hand_milli for row in rows), sum(row.reserved_milli for row in rows)
    return ProductStock(
        sku=product.sku,
        name=product.name,
        discontinued=product.discontinued,
        on_hand=quantity_string(on_hand),
        reserved=quantity_string(reserved),
        available=quantity_string(on_hand - reserved),
        warehouses=[StockLevel.of(row) for row in rows],
    )
