"""Online Retail at several times its size: repeated in the database, under new numbers for everything."""

from typing import Any, Final

import sqlalchemy as sa

from erp_mcp.store.engine import Store
from erp_mcp.store.tables import (
    customers,
    order_lines,
    orders,
    products,
    return_lines,
    returns,
    stock,
    stock_moves,
)

STEP: Final = 1_000_000
"""Between an order's number and that of its repetition."""
NUMBER_AT: Final = len("SO20101201-") + 1


def repeat(store: Store, times: int) -> None:
    """Add everything ``times - 1`` times more: other customers, products and orders of the same shape."""
    with store.write() as tx:
        for n in range(1, times):
            for table in (customers, products, stock, orders, order_lines, stock_moves, returns, return_lines):
                tx.connection.execute(_copied(table, n))
        # SQLite plans by statistics where it has them; the databases that are compared are treated alike.
        tx.connection.exec_driver_sql("ANALYZE")


def _copied(table: sa.Table, n: int) -> sa.Insert:
    """Rows of the first copy only, told by having no mark yet."""
    values = {column.name: _renamed(table, column, n) for column in table.c if not _is_serial(table, column)}
    (key, *_) = table.primary_key.columns if table is not stock_moves else (stock_moves.c.sku,)
    first = _number(key) < STEP if key.name == "order_id" or table is orders else ~key.contains("~")
    return sa.insert(table).from_select(list(values), sa.select(*values.values()).where(first))


def _renamed(table: sa.Table, column: sa.Column[Any], n: int) -> sa.ColumnElement[Any]:
    name = column.name
    if name == "order_id" or (table is orders and name == "id"):
        return sa.func.substr(column, 1, NUMBER_AT - 1) + sa.cast(_number(column) + n * STEP, sa.String)
    if name in ("source_id", "source_key"):
        return sa.cast(sa.cast(column, sa.Integer) + n * STEP, sa.String)
    if name == "twin_key":
        return sa.literal(str(n)) + sa.func.substr(column, 2)
    if name in ("id", "id_key", "sku", "sku_key", "customer_id", "name_key", "return_id") or _is_name(table, name):
        return column + sa.literal(f"~{n}")
    return column


def _is_name(table: sa.Table, name: str) -> bool:
    return name in ("name", "search_key") and table in (customers, products)


def _is_serial(table: sa.Table, column: sa.Column[Any]) -> bool:
    return table is stock_moves and column.name == "id"


def _number(column: sa.Column[Any]) -> sa.ColumnElement[int]:
    return sa.cast(sa.func.substr(column, NUMBER_AT), sa.Integer)
