"""An ERP in which every field of every tool's answer is filled, the calls that show them all, and tokens of each kind.

Personal data of people is written so that it can be found again anywhere in an answer: see ``PEOPLE``.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.domain.lookup import match_key
from erp_mcp.principal import PERSONAL
from erp_mcp.store.engine import open_store
from erp_mcp.store.tables import customers, order_lines, orders, price_tiers, products, returns, stock, stock_moves
from erp_mcp.store.transaction import Tx
from tests.integration.small_erp import OPEN, SHIPPED, START, make_small_erp

CANCELLED: Final = "SO20260102-1003"
THEIRS: Final = "SO20260102-2001"
"""An order of another customer, ZWEI."""
PEOPLE: Final = (
    "Acme Ltd", "Zwei GmbH", "Euro Corp", "Wanda Contact", "wanda@people.example", "555-0199", "7 Hidden Lane",
    "Secretville", "leave it with Wanda", "Wanda changed her mind", "Wanda sent it back", "Wanda dropped it",
)  # fmt: skip
"""Everything personal that there is: none of it may reach a token without the scope, by whatever field or message."""


def make_access_erp(url: str) -> None:
    """The small ERP, with everything filled that can be."""
    make_small_erp(url)
    store = open_store(url)
    with store.write() as tx:
        _fill(tx)
    store.close()


def _fill(tx: Tx) -> None:
    run = tx.connection.execute
    home = {
        "line1": "7 Hidden Lane", "line2": "back door", "city": "Secretville", "region": "Hid", "postal_code": "1",
        "country": "UK",
    }  # fmt: skip
    contact = {"contact": "Wanda Contact", "email": "wanda@people.example", "phone": "555-0199", "country": "UK"}
    run(
        sa.update(customers)
        .where(customers.c.id == "ACME")
        .values(address=home, search_key=match_key("ACME Acme Ltd Wanda Contact"), **contact)
    )
    run(sa.update(customers).values(credit_limit_minor=500_000))
    run(sa.update(products).where(products.c.sku == "A-1").values(category="Fruit", pack="crate of 12"))
    run(sa.insert(price_tiers).values(sku="A-1", min_quantity_milli=90_000, unit_price_minor=700))
    run(sa.update(stock).where(stock.c.sku == "LAST").values(reorder_level_milli=5_000))
    run(sa.update(stock).where(stock.c.sku == "A-1").values(reorder_level_milli=500_000))
    run(
        sa.insert(stock_moves).values(
            sku="A-1", warehouse="MAIN", kind="adjustment", reason="Wanda dropped it", approval_id="a-1", at=START
        )
    )
    run(
        sa.update(orders)
        .where(orders.c.id == SHIPPED)
        .values(ship_to=home, note="leave it with Wanda", carrier="Post", tracking_number="T1", shipped_at=START)
    )
    _insert(tx, CANCELLED, "ACME", "cancelled", reason="Wanda changed her mind")
    _insert(tx, THEIRS, "ZWEI", "confirmed")
    run(
        sa.insert(returns).values(
            id="R-1",
            order_id=SHIPPED,
            reason="Wanda sent it back",
            refund_minor=100,
            currency="USD",
            exchange_order_id=OPEN,
            created_at=START,
        )
    )


def _insert(tx: Tx, order_id: str, customer: str, status: str, **more: Any) -> None:
    row = tx.connection.execute(sa.select(orders).where(orders.c.id == OPEN)).one()._asdict()
    number = order_id[-4:]
    changed = {"id": order_id, "source_id": number, "source_key": number, "customer_id": customer, "status": status}
    later = {"placed_at": START + timedelta(minutes=int(number)), "twin_key": order_id}
    tx.connection.execute(sa.insert(orders).values(row | changed | later | more))
    line = tx.connection.execute(sa.select(order_lines).where(order_lines.c.order_id == OPEN)).first()
    assert line is not None
    tx.connection.execute(sa.insert(order_lines).values(line._asdict() | {"order_id": order_id}))


_DAYS: Final = {"date_from": "2026-01-01", "date_to": "2026-12-31"}
_GOODS: Final = [{"sku": "A-1", "quantity": 1}]
CALLS: Final[dict[str, list[JsonObject]]] = {
    "adjust_stock": [{"sku": "A-1", "delta": 1, "reason": "counted"}],
    "batch": [{"calls": [{"tool": "adjust_stock", "arguments": {"sku": "A-1", "delta": 1, "reason": "counted"}}]}],
    "cancel_order": [{"order_id": OPEN, "reason": "by mistake"}],
    "check_balance": [{"customer": "ACME"}],
    "check_shipping": [{"order_id": SHIPPED}],
    "compare_quotes": [{"skus": ["A-1", "LAST", "DEAD", "NOWHERE"], "quantity": 5}],
    "compute_quote": [{"lines": [*_GOODS, {"sku": "LAST", "quantity": 9}], "customer": "ACME"}],
    "create_order": [{"customer": "ACME", "lines": _GOODS, "note": "hello"}],
    "find_customers": [{"query": "wanda"}],
    "get_customer": [{"customer": "ACME"}],
    "get_customer_purchases": [{"customer": "ACME", **_DAYS}],
    "get_order": [{"order_id": SHIPPED}, {"order_id": CANCELLED}],
    "get_product": [{"sku": "A-1"}],
    "get_stock": [{"sku": "A-1"}],
    "list_low_stock": [{"limit": 1}],
    "list_orders": [{"customer": "ACME", "detail": True}, {"customer": "ACME", "limit": 1}],
    "request_return": [{"order_id": SHIPPED, "lines": _GOODS, "reason": "spoiled"}],
    "sales_summary": [{"group_by": "customer", **_DAYS}, {"group_by": "product"}],
    "search_products": [{"query": "a", "limit": 1}, {"query": "apples"}],
    "stock_history": [{"sku": "A-1", "limit": 1}, {"sku": "A-1"}],
    "update_customer": [{"customer": "ACME", "phone": "1"}],
    "update_order": [{"order_id": OPEN, "note": "ring twice"}],
}  # fmt: skip
NO_FURTHER_PAGES: Final = {
    ("compare_quotes", "next_cursor"), ("find_customers", "next_cursor"), ("sales_summary", "next_cursor"),
    ("get_customer_purchases", "products.next_cursor"),
}  # fmt: skip
"""Fields of the page's common form that these lists never fill."""


@dataclass(frozen=True)
class Token:
    """A token as it is made.

    Args:
        scopes: what it may do; None is no token at all.
        customer: whom it is bound to.
    """

    scopes: tuple[str, ...] | None
    customer: str | None = None

    def lacks(self, scopes: tuple[str, ...]) -> bool:
        """Whether it may not call what needs these scopes."""
        return self.scopes is None or not ("*" in self.scopes or set(scopes) <= set(self.scopes))

    @property
    def sees_people(self) -> bool:
        """Whether personal data is shown to it."""
        return self.scopes is not None and bool({"*", PERSONAL} & set(self.scopes))


_OPERATIONS: Final = ("orders:read", "shipping:read", "stock:read", "stock:write", "products:read", "customers:read")
TOKENS: Final[dict[str, Token]] = {
    "none": Token(None),
    "public": Token(("products:read", "orders:read", "shipping:read")),
    "ops": Token(_OPERATIONS),
    "full": Token(("*",)),
    "bound": Token((*_OPERATIONS, "orders:write", "customers:write", "customers:balance", PERSONAL), "ACME"),
    "bound without people": Token(_OPERATIONS, "ACME"),
}


def field_paths(value: Any, prefix: str = "") -> set[str]:
    """The paths of all fields in an answer, such as ``items[].name``."""
    if isinstance(value, list):
        return set().union(*(field_paths(item, f"{prefix}[]") for item in value))
    if not isinstance(value, dict):
        return set()
    found: set[str] = set()
    for name, child in value.items():
        path = f"{prefix}.{name}" if prefix else name
        found |= {path} | field_paths(child, path)
    return found


def schema_paths(schema: JsonObject, prefix: str = "") -> set[str]:
    """The paths of all fields that a schema knows."""
    if schema.get("type") == "array":
        return schema_paths(schema["items"], f"{prefix}[]")
    found: set[str] = set()
    for name, child in schema.get("properties", {}).items():
        path = f"{prefix}.{name}" if prefix else name
        found |= {path} | schema_paths(child, path)
    return found
