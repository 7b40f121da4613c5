"""Finding products by words, in bounded pages."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import sqlalchemy as sa

from erp_mcp.contract import JsonObject, Wire
from erp_mcp.domain.lookup import match_key
from erp_mcp.domain.money import money_string
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.errors import ErpError
from erp_mcp.queries.page import Page, decode_cursor, encode_cursor, invalid_cursor
from erp_mcp.store.prepared import Prepared, Row, containing, contains, listed, one_of
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
    def of(cls, row: Row) -> "ProductSummary":
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
    words = key.split() or [query]
    filters: JsonObject = {"list": "products", "query": key, "in_stock": in_stock_only}
    values: JsonObject = {**containing(words), "key": key}
    shape = _Shape(len(words), 0, in_stock_only)
    if category is not None:
        filters["categories"] = names = _categories(tx, category)
        values |= listed(names)
        shape = replace(shape, categories=len(names))
    after = {} if cursor is None else _after(cursor, filters)
    rows = tx.rows(_found(shape, is_later=cursor is not None), **values, **after, size=limit + 1)
    total = int(tx.value(_count(shape), **values) or 0)
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


@dataclass(frozen=True)
class _Shape:
    """What a search's statements are made of: how many words and categories, and whether only what is available."""

    words: int
    categories: int
    in_stock_only: bool

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        found = [contains(products.c.search_key, place) for place in range(self.words)]
        if self.categories:
            found.append(one_of(products.c.category, self.categories))
        if self.in_stock_only:
            found.append(_AVAILABLE > 0)
        return found


_RANK = sa.case((products.c.sku_key == sa.bindparam("key"), 0), else_=1)
_LAST = sa.tuple_(
    sa.bindparam("after_rank", type_=sa.Integer),
    sa.bindparam("after_name", type_=sa.Text),
    sa.bindparam("after_sku", type_=sa.String),
)


@cache
def _found(shape: _Shape, *, is_later: bool) -> Prepared:
    after = [sa.tuple_(_RANK, products.c.name_key, products.c.sku) > _LAST] if is_later else []
    return Prepared(
        sa.select(products, _RANK.label("rank"), _AVAILABLE.label("available"))
        .where(*shape.conditions(), *after)
        .order_by(_RANK, products.c.name_key, products.c.sku)
        .limit(sa.bindparam("size", type_=sa.Integer))
    )


@cache
def _count(shape: _Shape) -> Prepared:
    return Prepared(sa.select(sa.func.count()).select_from(products).where(*shape.conditions()))


_CATEGORIES = Prepared(sa.select(products.c.category).distinct().order_by(products.c.category))


def _after(cursor: str, filters: JsonObject) -> JsonObject:
    given, name_key, sku = decode_cursor(cursor, filters, 3)
    if given not in ("0", "1"):
        raise invalid_cursor(cursor)
    return {"after_rank": int(given), "after_name": name_key, "after_sku": sku}


def _categories(tx: Tx, given: str) -> list[str]:
    """The categories that a name means: usually one; several where they differ only by case or width."""
    named = [row.category for row in tx.rows(_CATEGORIES) if row.category]
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
