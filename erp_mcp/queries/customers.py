"""Finding customers by words, and reading one."""

from typing import Any

import sqlalchemy as sa

from erp_mcp.contract import Wire
from erp_mcp.domain.lookup import match_key
from erp_mcp.domain.orders import OPEN_STATUSES
from erp_mcp.queries.days import local_time
from erp_mcp.queries.lookup import find_customer
from erp_mcp.queries.order_models import ShipTo
from erp_mcp.queries.page import Page
from erp_mcp.store.tables import customers, orders
from erp_mcp.store.transaction import Tx


class CustomerSummary(Wire):
    """A customer in a list."""

    customer_id: str
    name: str
    contact: str | None = None
    city: str | None = None
    country: str | None = None
    currency: str

    @classmethod
    def of(cls, row: sa.Row[Any]) -> "CustomerSummary":
        """From a row of ``customers``."""
        return cls(
            customer_id=row.id,
            name=row.name,
            contact=row.contact or None,
            city=row.address.get("city") or None,
            country=row.country or None,
            currency=row.currency,
        )


class CustomerPage(Page[CustomerSummary]):
    """Customers, an exact id, name or e-mail address first, then by name."""


class CustomerDetail(Wire):
    """One customer as filed. ``version`` rises with each change."""

    customer_id: str
    name: str | None = None
    contact: str | None = None
    email: str | None = None
    phone: str | None = None
    address: ShipTo | None = None
    country: str | None = None
    currency: str
    open_orders: int
    last_order_at: str | None = None
    version: int


def customer_page(tx: Tx, query: str, limit: int) -> CustomerPage:
    """The customers that have every word of a query in id, name, contact or e-mail address.

    Args:
        tx: the transaction.
        query: words, in any order, also parts of words.
        limit: how many at most; there are no further pages, only better queries.
    """
    key = match_key(query)
    email = sa.func.lower(customers.c.email)
    conditions = [
        sa.or_(customers.c.search_key.contains(word, autoescape=True), email.contains(word, autoescape=True))
        for word in key.split() or [query]
    ]
    exact = sa.or_(customers.c.id_key == key, customers.c.name_key == key, email == key)
    rank = sa.case((exact, 0), else_=1)
    found = (
        sa.select(customers, rank.label("rank"), sa.func.count().over().label("total"))
        .where(*conditions)
        .order_by(rank, customers.c.name_key, customers.c.id)
        .limit(limit)
    )
    rows = tx.connection.execute(found).all()
    total = rows[0].total if rows else 0
    return CustomerPage(
        items=[CustomerSummary.of(row) for row in rows],
        returned=len(rows),
        total=total,
        note=_note(total, len(rows), sum(row.name_key == key for row in rows)),
    )


def customer_detail(tx: Tx, ref: str) -> CustomerDetail:
    """One customer, by id or exact name.

    Raises:
        ErpError: ``customer_not_found``, ``ambiguous``.
    """
    row = find_customer(tx, ref)
    theirs = orders.c.customer_id == row.id
    is_open = orders.c.status.in_(OPEN_STATUSES)
    still_open = tx.connection.scalar(sa.select(sa.func.count()).select_from(orders).where(theirs, is_open))
    last = tx.connection.scalar(sa.select(sa.func.max(orders.c.placed_at)).where(theirs))
    return CustomerDetail(
        customer_id=row.id,
        name=row.name,
        contact=row.contact or None,
        email=row.email or None,
        phone=row.phone or None,
        address=ShipTo.of(row.address),
        country=row.country or None,
        currency=row.currency,
        open_orders=still_open or 0,
        last_order_at=None if last is None else local_time(tx, last),
        version=row.version,
    )


def _note(total: int, returned: int, same_name: int) -> str:
    if not total:
        return "No customer fits: every word must be part of the id, name, contact or e-mail address. Try fewer words."
    parts = ["An exact id, name or e-mail address first, then by name."]
    if same_name > 1:
        parts.append(f"{same_name} customers have exactly this name: ask the user which one, and use its id.")
    if returned < total:
        parts.append("More fit than are shown: add words, or raise limit.")
    parts.append("get_customer gives one customer's address and contact.")
    return " ".join(parts)
