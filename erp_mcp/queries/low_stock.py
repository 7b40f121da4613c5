"""What has come down to its reorder level."""

from functools import cache
from typing import Any

import sqlalchemy as sa

from erp_mcp.contract import JsonObject, Wire
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.queries.lookup import find_warehouse
from erp_mcp.queries.page import Page, decode_cursor, encode_cursor, invalid_cursor
from erp_mcp.store.prepared import Prepared, Row
from erp_mcp.store.tables import LOW_STOCK, products, stock
from erp_mcp.store.transaction import Tx

_SPARE = stock.c.on_hand_milli - stock.c.reserved_milli - stock.c.reorder_level_milli
"""How far above its reorder level a row is: 0 or less here, and the least comes first."""


class LowStock(Wire):
    """A product in a warehouse where buying more is due. ``short_by`` is reorder level less available."""

    sku: str
    name: str
    warehouse: str
    on_hand: str
    reserved: str
    available: str
    reorder_level: str
    short_by: str

    @classmethod
    def of(cls, row: Row) -> "LowStock":
        """From a row of ``stock`` with the product's name beside it."""
        return cls(
            sku=row.sku,
            name=row.name,
            warehouse=row.warehouse,
            on_hand=quantity_string(row.on_hand_milli),
            reserved=quantity_string(row.reserved_milli),
            available=quantity_string(row.on_hand_milli - row.reserved_milli),
            reorder_level=quantity_string(row.reorder_level_milli),
            short_by=quantity_string(-row.spare),
        )


class LowStockPage(Page[LowStock]):
    """Low stock, the furthest below its reorder level first."""


def low_stock_page(tx: Tx, warehouse: str | None, *, limit: int, cursor: str | None) -> LowStockPage:
    """A page of products at or below their reorder level, without the discontinued ones: nobody buys those again.

    Args:
        tx: the transaction.
        warehouse: only this one; all of them if left out.
        limit: how many at most.
        cursor: ``next_cursor`` of the page before.

    Raises:
        ErpError: ``warehouse_not_found``, ``ambiguous``, ``invalid_cursor``.
    """
    filters: JsonObject = {"list": "low stock"}
    values: JsonObject = {}
    if warehouse is not None:
        filters["warehouse"] = values["warehouse"] = find_warehouse(tx, warehouse).code
    total = int(tx.value(_count(frozenset(values)), **values) or 0)
    if cursor is not None:
        values |= _after(cursor, filters)
    rows = tx.rows(_low(frozenset(values)), **values, size=limit + 1)
    items = rows[:limit]
    more = len(rows) > limit
    last = [str(items[-1].spare), items[-1].sku, items[-1].warehouse] if more else []
    return LowStockPage(
        items=[LowStock.of(row) for row in items],
        returned=len(items),
        total=total,
        next_cursor=encode_cursor(filters, last) if more else None,
        note=_note(total, more=more),
    )


_JOINED = stock.join(products, products.c.sku == stock.c.sku)
_LAST = sa.tuple_(
    sa.bindparam("after_spare", type_=sa.BigInteger),
    sa.bindparam("after_sku", type_=sa.String),
    sa.bindparam("after_warehouse", type_=sa.String),
)


def _where(given: frozenset[str]) -> list[Any]:
    conditions: list[Any] = [sa.text(LOW_STOCK), products.c.discontinued.is_(False)]
    if "warehouse" in given:
        conditions.append(stock.c.warehouse == sa.bindparam("warehouse"))
    if "after_sku" in given:
        conditions.append(sa.tuple_(_SPARE, stock.c.sku, stock.c.warehouse) > _LAST)
    return conditions


@cache
def _count(given: frozenset[str]) -> Prepared:
    return Prepared(sa.select(sa.func.count()).select_from(_JOINED).where(*_where(given)))


@cache
def _low(given: frozenset[str]) -> Prepared:
    return Prepared(
        sa.select(stock, products.c.name, _SPARE.label("spare"))
        .select_from(_JOINED)
        .where(*_where(given))
        .order_by(_SPARE, stock.c.sku, stock.c.warehouse)
        .limit(sa.bindparam("size", type_=sa.Integer))
    )


def _after(cursor: str, filters: JsonObject) -> JsonObject:
    spare, sku, warehouse = decode_cursor(cursor, filters, 3)
    if not spare.removeprefix("-").isdecimal() or len(spare) > 18:
        raise invalid_cursor(cursor)
    return {"after_spare": int(spare), "after_sku": sku, "after_warehouse": warehouse}


def _note(total: int, *, more: bool) -> str:
    if not total:
        return "Nothing is at or below its reorder level (discontinued products and those without a level aside)."
    parts = ["At or below the reorder level, the furthest below first; discontinued products are left out."]
    if more:
        parts.append("More follow: call again with next_cursor and the same arguments.")
    parts.append("stock_history shows how one got there.")
    return " ".join(parts)
