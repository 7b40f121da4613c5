"""What a customer has bought: products by status, and totals that cover everything."""

from collections.abc import Sequence
from datetime import date
from functools import cache
from typing import Final

import sqlalchemy as sa

from erp_mcp.contract import JsonObject, Wire
from erp_mcp.domain.money import money_string
from erp_mcp.domain.orders import VALID_ORDERS, VALID_STATUSES
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.queries.days import day_range
from erp_mcp.queries.lookup import find_customer
from erp_mcp.queries.page import Page
from erp_mcp.queries.totals import MoneyTotal, OrderTotal, order_sums, per_currency
from erp_mcp.store.prepared import Prepared, Row
from erp_mcp.store.tables import order_lines, orders, returns
from erp_mcp.store.transaction import Tx

MAX_PRODUCTS: Final = 100
"""Rows of products that an answer shows; the totals do not rest on them."""


class PurchasedProduct(Wire):
    """One product in orders of one status. The amount is what it cost then, discounts off."""

    sku: str
    name: str
    status: str
    currency: str
    orders: int
    quantity: str
    amount: str

    @classmethod
    def of(cls, row: Row) -> "PurchasedProduct":
        """From a sum over ``order_lines``."""
        return cls(
            sku=row.sku,
            name=row.name,
            status=row.status,
            currency=row.currency,
            orders=row.orders,
            quantity=quantity_string(int(row.quantity_milli)),
            amount=money_string(int(row.amount_minor), row.currency),
        )


class PurchasedProducts(Page[PurchasedProduct]):
    """Products by status: valid ones first, within a currency the largest amount first."""


class StatusTotal(OrderTotal):
    """Orders of one status."""

    status: str


class CustomerPurchases(Wire):
    """A customer's purchases. ``totals`` are those of valid orders; cancelled ones stand apart."""

    customer_id: str
    customer_name: str | None = None
    date_from: str | None = None
    date_to: str | None = None
    valid_orders: str
    totals: list[OrderTotal]
    cancelled: list[OrderTotal]
    refunded: list[MoneyTotal]
    by_status: list[StatusTotal]
    products: PurchasedProducts


def customer_purchases(tx: Tx, customer: str, date_from: date | None, date_to: date | None) -> CustomerPurchases:
    """What a customer has bought.

    Args:
        tx: the transaction.
        customer: id or exact name.
        date_from: first business day on which orders were placed.
        date_to: last such day, inclusive.

    Raises:
        ErpError: ``customer_not_found``, ``ambiguous``, ``invalid_filter``.
    """
    buyer = find_customer(tx, customer)
    values: JsonObject = {"customer": buyer.id}
    start, end = day_range(tx, date_from, date_to)
    if start is not None:
        values["start"] = start
    if end is not None:
        values["end"] = end
    given = frozenset(values)
    sums = tx.rows(_by_status(given), **values)
    return CustomerPurchases(
        customer_id=buyer.id,
        customer_name=buyer.name,
        date_from=None if date_from is None else date_from.isoformat(),
        date_to=None if date_to is None else date_to.isoformat(),
        valid_orders=VALID_ORDERS,
        totals=per_currency(row for row in sums if row.status in VALID_STATUSES),
        cancelled=per_currency(row for row in sums if row.status not in VALID_STATUSES),
        refunded=[
            MoneyTotal(currency=row.currency, amount=money_string(int(row.minor), row.currency))
            for row in tx.rows(_refunds(given), **values)
        ],
        by_status=[
            StatusTotal(
                status=row.status,
                currency=row.currency,
                orders=row.orders,
                amount=money_string(int(row.amount_minor), row.currency),
            )
            for row in sums
        ],
        products=_products(tx.rows(_bought(given), **values)),
    )


def _where(given: frozenset[str]) -> list[sa.ColumnElement[bool]]:
    conditions = [orders.c.customer_id == sa.bindparam("customer")]
    if "start" in given:
        conditions.append(orders.c.placed_at >= sa.bindparam("start"))
    if "end" in given:
        conditions.append(orders.c.placed_at < sa.bindparam("end"))
    return conditions


@cache
def _by_status(given: frozenset[str]) -> Prepared:
    return Prepared(order_sums(orders.c.status).where(*_where(given)))


@cache
def _refunds(given: frozenset[str]) -> Prepared:
    return Prepared(
        sa.select(returns.c.currency, sa.func.sum(returns.c.refund_minor).label("minor"))
        .join(orders, orders.c.id == returns.c.order_id)
        .where(*_where(given))
        .group_by(returns.c.currency)
        .order_by(returns.c.currency)
    )


@cache
def _bought(given: frozenset[str]) -> Prepared:
    amount = sa.func.sum(order_lines.c.amount_minor)
    cancelled_last = sa.case((orders.c.status.in_([sa.literal(status) for status in VALID_STATUSES]), 0), else_=1)
    return Prepared(
        sa.select(
            order_lines.c.sku,
            sa.func.max(order_lines.c.name).label("name"),
            orders.c.status,
            orders.c.currency,
            sa.func.count(sa.distinct(orders.c.id)).label("orders"),
            sa.func.sum(order_lines.c.quantity_milli).label("quantity_milli"),
            amount.label("amount_minor"),
            sa.func.count().over().label("total"),
        )
        .join(orders, orders.c.id == order_lines.c.order_id)
        .where(*_where(given))
        .group_by(order_lines.c.sku, orders.c.status, orders.c.currency)
        .order_by(cancelled_last, orders.c.currency, amount.desc(), order_lines.c.sku, orders.c.status)
        .limit(MAX_PRODUCTS)
    )


def _products(rows: Sequence[Row]) -> PurchasedProducts:
    total = rows[0].total if rows else 0
    return PurchasedProducts(
        items=[PurchasedProduct.of(row) for row in rows],
        returned=len(rows),
        total=total,
        note=_note(total, len(rows)),
    )


def _note(total: int, returned: int) -> str:
    if not total:
        return "Nothing was ordered. list_orders finds orders by other filters."
    if returned < total:
        return (
            f"Only the first {returned} of {total} rows, by amount; the totals cover all of them. "
            "Narrow the dates for the rest, or page through list_orders with detail."
        )
    return "One row per product and status, by amount; rows of cancelled orders come last and are not in the totals."
