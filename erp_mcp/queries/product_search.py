"""Finding products by words, in bounded pages."""

from typing import Any, Final

import sqlalchemy as sa

from erp_mcp.contract import JsonObject, Wire
from erp_mcp.domain.lookup import match_key
from erp_mcp.domain.money import money_string
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.errors import ErpError
from erp_mcp.queries.page import Page, decode_cursor, encode_cursor, invalid_cursor
from erp_mcp.store.tables import products, stock
from erp_mcp.store.transaction import Tx

MAX_ALLOWED: Final = 100
"""Category names that an error lists."""

_AVAILABLE: Final = (
    sa.select(sa.func.coalesce(sa.func.sum(stock.c.on_hand_milli - stock.c.reserved_milli), 0))
    .where(stock.c.sku == products.c.sku)
    .scalar_subquery()
)


class ProductSummary(Wire):
    """A product in a list; ``available`` is what all warehouses together can promise."""

    sku: str
    name: str
    category: str | None = None
    pack: str | None = None
    unit_price: str
    currency: str
    available: str
    discontinued: bool

    @classmethod
    def of(cls, row: sa.Row[Any]) -> "ProductSummary":
        """From a row of ``products`` with ``available`` (thousandths) beside it."""
        return cls(
            sku=row.sku,
            name=row.name,
            category=row.category or None,
            pack=row.pack or None,
            unit_price=money_string(row.unit_price_minor, row.currency),
            currency=row.currency,
            available=quantity_string(int(row.available)),
            discontinued=row.discontinued,
        )


class ProductPage(Page[ProductSummary]):
    """Products, an exact SKU first, then by name."""


def product_page(
    tx: Tx, query: str, category: str | None, *, in_stock_only: bool, limit: int, cursor: str | None
) -> ProductPage:
    """A page of the products that have every word of a query in SKU, name or category.

    Args:
        tx: the transaction.
        query: words, in any order, also parts of words.
        category: only this one, exactly (case and width do not matter).
        in_stock_only: only products of which something is available.
        limit: how many at most.
        cursor: ``next_cursor`` of the page before.

    Raises:
        ErpError: ``invalid_filter`` for an unknown category, ``invalid_cursor``.
    """
    key = match_key(query)
    conditions = [products.c.search_key.contains(word, autoescape=True) for word in key.split() or [query]]
    filters: JsonObject = {"list": "products", "query": key, "in_stock": in_stock_only}
    if category is not None:
        filters["categories"] = _categories(tx, category)
        conditions.append(products.c.category.in_(filters["categories"]))
    if in_stock_only:
        conditions.append(_AVAILABLE > 0)
    rank = sa.case((products.c.sku_key == key, 0), else_=1)
    after = [] if cursor is None else [_after(rank, cursor, filters)]
    rows = tx.connection.execute(
        sa.select(products, rank.label("rank"), _AVAILABLE.label("available"))
        .where(*conditions, *after)
        .order_by(rank, products.c.name_key, products.c.sku)
        .limit(limit + 1)
    ).all()
    total = tx.connection.scalar(sa.select(sa.func.count()).select_from(products).where(*conditions)) or 0
    items = rows[:limit]
    more = len(rows) > limit
    last = [str(items[-1].rank), items[-1].name_key, items[-1].sku] if more else []
    return ProductPage(
        items=[ProductSummary.of(row) for row in items],
        returned=len(items),
        total=total,
        next_cursor=encode_cursor(filters, last) if more else None,
        note=_note(total, more=more),
    )


def _after(rank: sa.Case[int], cursor: str, filters: JsonObject) -> sa.ColumnElement[bool]:
    given, name_key, sku = decode_cursor(cursor, filters, 3)
    if given not in ("0", "1"):
        raise invalid_cursor(cursor)
    last = sa.tuple_(sa.literal(int(given)), sa.literal(name_key), sa.literal(sku))
    return sa.tuple_(rank, products.c.name_key, products.c.sku) > last


def _categories(tx: Tx, given: str) -> list[str]:
    """The categories that a name means: usually one; several where they differ only by case or width."""
    names = tx.connection.scalars(sa.select(products.c.category).distinct().order_by(products.c.category)).all()
    named = [name for name in names if name]
    found = [name for name in named if name == given] or [name for name in named if match_key(name) == match_key(given)]
    if found:
        return found
    hint = "Use one of the allowed categories, or leave category out and search by words."
    if not named:
        hint = "The products here have no categories: leave category out and search by words."
    raise ErpError(
        "invalid_filter",
        f"category {given!r} is not a category of products.",
        hint,
        allowed=named[:MAX_ALLOWED],
        count=len(named),
    )


def _note(total: int, *, more: bool) -> str:
    if not total:
        return (
            "No product fits: every word must be part of its SKU, name or category. Try fewer words, "
            "or without in_stock_only and category."
        )
    parts = ["An exact SKU first, then by name."]
    if more:
        parts.append("More follow: call again with next_cursor and the same arguments.")
    parts.append("get_product gives price tiers, get_stock each warehouse.")
    return " ".join(parts)
