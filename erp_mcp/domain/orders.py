"""An order's life: which states there are, how it may move between them, and how it is numbered."""

import hashlib
from collections.abc import Iterable
from datetime import date
from typing import Final, Literal, get_args

OrderStatus = Literal["pending", "confirmed", "shipped", "completed", "cancelled"]

Grouping = Literal["product", "category", "customer", "country", "month"]
"""What sales are added up by."""

STATUSES: Final[tuple[OrderStatus, ...]] = get_args(OrderStatus)
OPEN_STATUSES: Final[tuple[OrderStatus, ...]] = ("pending", "confirmed")
"""Orders that reserve stock: they can still be changed and cancelled."""
RETURNABLE_STATUSES: Final[tuple[OrderStatus, ...]] = ("shipped", "completed")
"""Orders whose goods have left, and can come back."""
VALID_STATUSES: Final[tuple[OrderStatus, ...]] = ("pending", "confirmed", "shipped", "completed")
"""Orders that count as sold: all but the cancelled ones."""
VALID_ORDERS: Final = (
    "Valid orders are pending, confirmed, shipped and completed; cancelled ones do not count. Amounts are those of the "
    "orders as placed, before refunds."
)
"""The same in words, for every result whose totals rest on it."""
TRANSITIONS: Final[dict[OrderStatus, tuple[OrderStatus, ...]]] = {
    "pending": ("confirmed", "cancelled"),
    "confirmed": ("shipped", "cancelled"),
    "shipped": ("completed",),
    "completed": (),
    "cancelled": (),
}


def can_move(before: OrderStatus, after: OrderStatus) -> bool:
    """Whether an order may go from one status to another."""
    return after in TRANSITIONS[before]


def order_number(business_date: date, n: int) -> str:
    """``SO20261130-0001``: business date and a number within that day, at least four digits.

    Args:
        business_date: the day in the business time zone.
        n: from 1; an imported order keeps its own number.
    """
    return f"SO{business_date:%Y%m%d}-{n:04d}"


def return_number(business_date: date, n: int) -> str:
    """``RT20261130-0001``: like an order's number, for goods that come back."""
    return f"RT{business_date:%Y%m%d}-{n:04d}"


def twin_key(customer_id: str, lines: Iterable[tuple[str, int]]) -> str:
    """What identical orders have in common: a hash of the customer and the SKUs with their quantities.

    Args:
        customer_id: the customer's id.
        lines: pairs of SKU and quantity in thousandths; their order and how a SKU is split over lines do not matter.
    """
    totals: dict[str, int] = {}
    for sku, milli in lines:
        totals[sku] = totals.get(sku, 0) + milli
    parts = [customer_id, *(f"{sku}\x1f{milli}" for sku, milli in sorted(totals.items()))]
    return hashlib.sha256("\x1e".join(parts).encode()).hexdigest()
