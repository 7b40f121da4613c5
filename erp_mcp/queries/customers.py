"""Finding customers by words, and reading one."""

from functools import cache

import sqlalchemy as sa

from erp_mcp.contract import Wire
from erp_mcp.domain.lookup import match_key
from erp_mcp.domain.orders import OPEN_STATUSES
from erp_mcp.queries.days import local_time
from erp_mcp.queries.lookup import find_customer
from erp_mcp.queries.order_models import ShipTo
from erp_mcp.queries.page import Page
from erp_mcp.store.prepared import Prepared, Row, containing, contains
from erp_mcp.store.tables import customers, orders
from erp_mcp.store.transaction import Tx

_OPEN_ORDERS = Prepared(
    sa.select(sa.func.count())
    .select_from(orders)
    .where(
        orders.c.customer_id == sa.bindparam("customer"),
        orders.c.status.in_([sa.literal(status) for status in OPEN_STATUSES]),
    )
)
_LAST_ORDER = Prepared(
    sa.select(sa.func.max(orders.c.placed_at)).where(orders.c.customer_id == sa.bindparam("customer"))
)


class CustomerSummary(Wire):
    """A customer in a list."""

    customer_id: str
    name: str
    contact: str | None = None
    city: str | None = None
    country: str | None = None
    currency: str

    @classmethod
    def of(cls, row: Row) -> "CustomerSummary":
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
    words = key.split() or [query]
    rows = tx.rows(_found(len(words)), **containing(words), key=key, size=limit)
    total = rows[0].total if rows else 0
    return CustomerPage(
        items=[CustomerSummary.of(row) for row in rows],
        returned=len(rows),
        total=total,
        note=_note(total, len(rows), sum(row.name_key == key for row in rows)),
    )


@cache
def _found(words: int) -> Prepared:
    email = sa.func.lower(customers.c.email)
    conditions = [sa.or_(contains(customers.c.search_key, n), contains(email, n)) for n in range(words)]
    key = sa.bindparam("key", type_=sa.String)
    exact = sa.or_(customers.c.id_key == key, customers.c.name_key == key, email == key)
    rank = sa.case((exact, 0), else_=1)
    return Prepared(
        sa.select(customers, rank.label("rank"), sa.func.count().over().label("total"))
        .where(*conditions)
        .order_by(rank, customers.c.name_key, customers.c.id)
        .limit(sa.bindparam("size", type_=sa.Integer))
    )


def customer_detail(tx: Tx, ref: str) -> CustomerDetail:
    """One customer, by id or exact name.

    Raises:
        ErpError: ``customer_not_found``, ``ambiguous``.
    """
    row = find_customer(tx, ref)
    still_open = tx.value(_OPEN_ORDERS, customer=row.id)
    last = tx.value(_LAST_ORDER, customer=row.id)
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
