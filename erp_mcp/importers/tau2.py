"""The retail shop of tau2-bench: users, products with variants, orders. What it lacks is chosen here, and said."""

from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel

from erp_mcp.contract import JsonObject
from erp_mcp.domain.orders import OrderStatus
from erp_mcp.importers.books import (
    MAIN,
    Books,
    SourceOrder,
    Values,
    customer_row,
    filled,
    line_row,
    product_row,
    source_order,
    stock_row,
)
from erp_mcp.importers.load import Reading, load_books
from erp_mcp.importers.report import ImportReport, Progress, RowListener
from erp_mcp.importers.source import money_in, read_json, source_path
from erp_mcp.store.engine import Store

DATASET: Final = "tau2"
FILE: Final = "db.json"
CURRENCY: Final = "USD"
FIRST_DAY: Final = (2024, 1, 1)
AVAILABLE: Final = 100
STATUS: Final[dict[str, OrderStatus]] = {
    "pending": "confirmed", "processed": "shipped", "delivered": "completed", "cancelled": "cancelled",
}  # fmt: skip
NOTES: Final = (
    "SKU is the variant's item_id, with its options in the product's name; the customer's id is the user_id.",
    "Quantities are not in the source: each item of an order is one unit; the same item several times is one line.",
    f"Stock is not in the source: available is {AVAILABLE} of a variant that is marked so, and 0 of the others.",
    "On hand is what is available and what open orders reserve.",
    "Dates are not in the source: orders have one day each from 2024-01-01, in the order of the file.",
    "Pending orders are confirmed, processed ones shipped, delivered ones completed.",
    f"The currency is not in the source: {CURRENCY}.",
    "Left out: payment methods and payments.",
)


class _Address(BaseModel):
    address1: str
    address2: str
    city: str
    country: str
    state: str
    zip: str


class _Name(BaseModel):
    first_name: str
    last_name: str


class _User(BaseModel):
    user_id: str
    name: _Name
    address: _Address
    email: str


class _Item(BaseModel):
    name: str
    item_id: str
    price: Decimal
    options: dict[str, str]


class _Variant(BaseModel):
    item_id: str
    options: dict[str, str]
    available: bool
    price: Decimal


class _Product(BaseModel):
    name: str
    variants: dict[str, _Variant]


class _Fulfillment(BaseModel):
    tracking_id: list[str]


class _Order(BaseModel):
    order_id: str
    user_id: str
    address: _Address
    items: list[_Item]
    status: Literal["pending", "processed", "delivered", "cancelled"]
    fulfillments: list[_Fulfillment]


class _Shop(BaseModel):
    products: dict[str, _Product]
    users: dict[str, _User]
    orders: dict[str, _Order]


def load_tau2(
    store: Store, source: Path | None = None, progress: Progress | None = None, on_row: RowListener | None = None
) -> ImportReport:
    """Load the retail shop of tau2-bench. Whatever is in the database already stays as it is.

    Args:
        store: an opened database, empty or with this data set in it.
        source: its ``db.json``, or the folder that holds it.
        progress: told how far the loading is.
        on_row: told of every row that is mended or refused.

    Raises:
        ErpError: ``source_missing``, ``import_source_invalid``, ``dataset_mismatch``. Nothing is written then.
    """
    path = source_path(DATASET, source, FILE)

    def read(reading: Reading) -> Books:
        return _books(path.name, read_json(path, _Shop), reading)

    return load_books(store, DATASET, read, NOTES, progress=progress, on_row=on_row)


def _books(file: str, shop: _Shop, reading: Reading) -> Books:
    books = Books(customers={user.user_id: _customer(user) for user in shop.users.values()})
    for product in shop.products.values():
        for variant in product.variants.values():
            sku, price = variant.item_id, money_in(file, variant.item_id, variant.price, CURRENCY)
            name = _named(product.name, variant.options)
            books.products[sku] = product_row(sku, name, price, CURRENCY, category=product.name)
            books.stock[sku, MAIN] = stock_row(AVAILABLE * 1000 if variant.available else 0)
    taken = []
    first = datetime(*FIRST_DAY, tzinfo=reading.zone)
    for row, order in enumerate(shop.orders.values(), start=1):
        problem = _problem(order, books)
        if problem:
            reading.notes.refuse(file, row, "order of an unknown user or item", problem)
            continue
        # Days are added to the wall clock, so each order is at midnight of its own day.
        taken.append(_order(file, row, order, first + timedelta(days=row - 1)))
        if taken[-1].values["status"] == "confirmed":
            for line in taken[-1].lines:
                books.stock[line["sku"], MAIN]["on_hand_milli"] += line["quantity_milli"]
    books.orders, books.order_count = taken, len(taken)
    return books


def _problem(order: _Order, books: Books) -> str:
    if order.user_id not in books.customers:
        return f"order {order.order_id}: there is no user {order.user_id!r}"
    unknown = [item.item_id for item in order.items if item.item_id not in books.products]
    if unknown or not order.items:
        return f"order {order.order_id}: " + (f"there is no item {unknown[0]!r}" if unknown else "it has no items")
    return ""


def _customer(user: _User) -> Values:
    name = f"{user.name.first_name} {user.name.last_name}"
    address = _address(user.address)
    country = user.address.country
    return customer_row(user.user_id, name, CURRENCY, email=user.email, address=address, country=country)


def _order(file: str, row: int, order: _Order, placed: datetime) -> SourceOrder:
    digits = "".join(character for character in order.order_id if character.isdecimal())
    return source_order(
        (file, row),
        order.order_id,
        int(digits) if digits else None,
        _lines(file, order),
        customer_id=order.user_id,
        status=STATUS[order.status],
        currency=CURRENCY,
        placed=placed,
        ship_to=_address(order.address),
        tracking_number=", ".join(number for parcel in order.fulfillments for number in parcel.tracking_id),
    )


def _lines(file: str, order: _Order) -> list[Values]:
    """One line per item and price; how often the item is named is the quantity."""
    counts: dict[tuple[str, Decimal], int] = {}
    names: dict[str, str] = {}
    for item in order.items:
        counts[item.item_id, item.price] = counts.get((item.item_id, item.price), 0) + 1
        names[item.item_id] = _named(item.name, item.options)
    return [
        line_row(number, sku, names[sku], count * 1000, money_in(file, order.order_id, price, CURRENCY))
        for number, ((sku, price), count) in enumerate(counts.items(), start=1)
    ]


def _named(name: str, options: dict[str, str]) -> str:
    return f"{name} ({', '.join(f'{option}: {value}' for option, value in options.items())})" if options else name


def _address(address: _Address) -> JsonObject:
    return filled(
        line1=address.address1, line2=address.address2, city=address.city, region=address.state,
        postal_code=address.zip, country=address.country,
    )  # fmt: skip
