"""Sales added up by product, category, customer, country or month; one row and one total per currency."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import sqlalchemy as sa

from erp_mcp.contract import Wire
from erp_mcp.domain.money import money_string
from erp_mcp.domain.orders import VALID_ORDERS, VALID_STATUSES, Grouping
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.queries.days import day_range
from erp_mcp.queries.page import Page
from erp_mcp.queries.totals import OrderTotal, order_sums, per_currency
from erp_mcp.store.tables import customers, order_lines, orders, products
from erp_mcp.store.transaction import Tx

Conditions = list[sa.ColumnElement[bool]]


class SalesGroup(Wire):
    """One group in one currency. Groups of products have a quantity, groups of whole orders their number."""

    key: str
    name: str | None = None
    currency: str
    amount: str
    orders: int | None = None
    quantity: str | None = None

    @classmethod
    def of(cls, row: sa.Row[Any]) -> "SalesGroup":
        """From a ranked group."""
        return cls(
            key=row.key,
            name=row.name or None,
            currency=row.currency,
            amount=money_string(int(row.amount_minor), row.currency),
            orders=row.orders,
            quantity=None if row.quantity_milli is None else quantity_string(int(row.quantity_milli)),
        )


class SalesSummary(Page[SalesGroup]):
    """Sales by group. ``totals`` cover all groups, shown or not; the valid orders' definition is in it."""

    group_by: Grouping
    date_from: str | None = None
    date_to: str | None = None
    valid_orders: str
    totals: list[OrderTotal]


def sales(tx: Tx, group_by: Grouping, date_from: date | None, date_to: date | None, limit: int) -> SalesSummary:
    """Valid orders added up.

    Args:
        tx: the transaction.
        group_by: what makes a group; a country is the customer's, a month that of the business date.
        date_from: first business day on which orders were placed.
        date_to: last such day, inclusive.
        limit: groups per currency at most: the largest amounts, or the latest months.

    Raises:
        ErpError: ``invalid_filter`` where the first day comes after the last.
    """
    conditions: Conditions = [orders.c.status.in_(VALID_STATUSES)]
    start, end = day_range(tx, date_from, date_to)
    if start is not None:
        conditions.append(orders.c.placed_at >= start)
    if end is not None:
        conditions.append(orders.c.placed_at < end)
    rows = tx.connection.execute(_largest(_groups(group_by, conditions), group_by, limit)).all()
    total = rows[0].total if rows else 0
    return SalesSummary(
        items=[SalesGroup.of(row) for row in rows],
        returned=len(rows),
        total=total,
        note=_note(group_by, total, rows),
        group_by=group_by,
        date_from=None if date_from is None else date_from.isoformat(),
        date_to=None if date_to is None else date_to.isoformat(),
        valid_orders=VALID_ORDERS,
        totals=per_currency(tx.connection.execute(order_sums().where(*conditions))),
    )


def _groups(group_by: Grouping, conditions: Conditions) -> sa.CTE:
    """Columns key, name, currency, amount_minor, orders, quantity_milli: one row per group and currency."""
    match group_by:
        case "product":
            per_sku = _per_sku(conditions)
            name = sa.func.coalesce(products.c.name, per_sku.c.name)
            joined = per_sku.outerjoin(products, products.c.sku == per_sku.c.key)
            money = (per_sku.c.currency, per_sku.c.amount_minor)
            quantity = per_sku.c.quantity_milli
            query = sa.select(per_sku.c.key, name.label("name"), *money, _NO_COUNT, quantity).select_from(joined)
        case "category":
            per_sku = _per_sku(conditions)
            category = sa.func.coalesce(products.c.category, "")
            query = (
                sa.select(
                    category.label("key"),
                    sa.literal("").label("name"),
                    per_sku.c.currency,
                    sa.func.sum(per_sku.c.amount_minor).label("amount_minor"),
                    _NO_COUNT,
                    sa.func.sum(per_sku.c.quantity_milli).label("quantity_milli"),
                )
                .select_from(per_sku.outerjoin(products, products.c.sku == per_sku.c.key))
                .group_by(category, per_sku.c.currency)
            )
        case "customer":
            sums = order_sums(orders.c.customer_id).where(*conditions).order_by(None).cte("sums")
            joined = sums.join(customers, customers.c.id == sums.c.customer_id)
            columns = (sums.c.currency, sums.c.amount_minor, sums.c.orders, _NO_QUANTITY)
            query = sa.select(customers.c.id.label("key"), customers.c.name, *columns).select_from(joined)
        case "country" | "month":
            query = _by_key(group_by, conditions)
    return query.cte("groups")


_NO_COUNT = sa.null().cast(sa.BigInteger).label("orders")
_NO_QUANTITY = sa.null().cast(sa.BigInteger).label("quantity_milli")


def _per_sku(conditions: Conditions) -> sa.CTE:
    return (
        sa.select(
            order_lines.c.sku.label("key"),
            sa.func.max(order_lines.c.name).label("name"),
            orders.c.currency,
            sa.func.sum(order_lines.c.amount_minor).label("amount_minor"),
            sa.func.sum(order_lines.c.quantity_milli).label("quantity_milli"),
        )
        .join(orders, orders.c.id == order_lines.c.order_id)
        .where(*conditions)
        # The currency first: with the product first, SQLite walks the lines by the product's index and jumps to each.
        .group_by(orders.c.currency, order_lines.c.sku)
        .cte("per_sku")
    )


def _by_key(group_by: Grouping, conditions: Conditions) -> sa.Select[Any]:
    """Whole orders by the customer's country or the month of the business date."""
    key: sa.ColumnElement[str] = sa.func.substr(orders.c.business_date, 1, 7)
    if group_by == "country":
        key = customers.c.country
    sums = order_sums(key.label("key")).where(*conditions).order_by(None)
    if group_by == "country":
        sums = sums.join(customers, customers.c.id == orders.c.customer_id)
    found = sums.cte("sums")
    columns = (found.c.currency, found.c.amount_minor, found.c.orders, _NO_QUANTITY)
    return sa.select(found.c.key, sa.literal("").label("name"), *columns)


def _largest(groups: sa.CTE, group_by: Grouping, limit: int) -> sa.Select[Any]:
    first = groups.c.key.desc() if group_by == "month" else groups.c.amount_minor.desc()
    ranked = sa.select(
        groups,
        sa.func.row_number().over(partition_by=groups.c.currency, order_by=(first, groups.c.key)).label("rank"),
        sa.func.count().over().label("total"),
    ).subquery()
    return sa.select(ranked).where(ranked.c.rank <= limit).order_by(ranked.c.currency, ranked.c.rank)


def _note(group_by: Grouping, total: int, rows: Sequence[sa.Row[Any]]) -> str:
    if not total:
        return "No valid order lies in this period."
    parts = ["Latest month first." if group_by == "month" else "Largest amount first."]
    if len(rows) < total:
        parts.append(f"{len(rows)} of {total} groups are shown; totals cover all of them. Raise limit for more.")
    if group_by == "country":
        parts.append("The country is the customer's.")
    if any(not row.key for row in rows):
        parts.append(f"An empty key stands for what has no {group_by}.")
    parts.append("get_customer_purchases gives one customer's, list_orders single orders.")
    return " ".join(parts)
