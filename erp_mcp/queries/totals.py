"""Sums of orders: one per currency, never over currencies."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from erp_mcp.contract import Wire
from erp_mcp.domain.money import money_string
from erp_mcp.store.tables import orders


class OrderTotal(Wire):
    """How many orders there are in one currency, and what they come to."""

    currency: str
    orders: int
    amount: str


class MoneyTotal(Wire):
    """A sum in one currency."""

    currency: str
    amount: str


def order_sums(*by: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Count and sum of orders per currency, and per each further column; a WHERE clause is yet to be added."""
    return (
        sa.select(
            *by,
            orders.c.currency,
            sa.func.count().label("orders"),
            sa.func.sum(orders.c.total_minor).label("amount_minor"),
        )
        .group_by(*by, orders.c.currency)
        .order_by(*by, orders.c.currency)
    )


def per_currency(rows: Iterable[sa.Row[Any]]) -> list[OrderTotal]:
    """Rows of :func:`order_sums` added up, one total per currency."""
    sums: dict[str, tuple[int, int]] = {}
    for row in rows:
        count, amount = sums.get(row.currency, (0, 0))
        sums[row.currency] = count + row.orders, amount + int(row.amount_minor)
    return [
        OrderTotal(currency=currency, orders=count, amount=money_string(amount, currency))
        for currency, (count, amount) in sorted(sums.items())
    ]
