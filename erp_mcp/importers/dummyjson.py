"""DummyJSON's shop: products with stock, users, and carts, which are loaded as completed orders."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field, RootModel

from erp_mcp.contract import JsonObject
from erp_mcp.domain.pricing import WHOLE_BP
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
from erp_mcp.importers.source import money_in, read_json, source_invalid, source_path
from erp_mcp.store.engine import Store

DATASET: Final = "dummyjson"
CARTS: Final = "carts.json"
CURRENCY: Final = "USD"
FIRST_DAY: Final = (2024, 1, 1)
NOTES: Final = (
    "Carts are completed orders.",
    "A line keeps its discount; its amount is unit × quantity × (1 − discount), rounded half up per line.",
    "Dates are not in the source: carts have one day each from 2024-01-01, in the order of the file.",
    f"The currency is not in the source: {CURRENCY}.",
    "Left out: minimum quantities, reviews, ratings, pictures, sizes, and what is not a user's name or address.",
)


class _Product(BaseModel):
    id: int
    title: str
    sku: str
    category: str
    price: Decimal
    stock: int = Field(ge=0)


class _Address(BaseModel):
    address: str
    city: str
    state: str
    postal_code: str = Field(alias="postalCode")
    country: str


class _User(BaseModel):
    id: int
    first_name: str = Field(alias="firstName")
    last_name: str = Field(alias="lastName")
    email: str
    phone: str
    address: _Address


class _Line(BaseModel):
    id: int
    price: Decimal
    quantity: int = Field(gt=0)
    discount: Decimal = Field(alias="discountPercentage", ge=0, le=100)


class _Cart(BaseModel):
    id: int
    user_id: int = Field(alias="userId")
    products: list[_Line]


class _Products(RootModel[list[_Product]]):
    pass


class _Users(RootModel[list[_User]]):
    pass


class _Carts(RootModel[list[_Cart]]):
    pass


def load_dummyjson(
    store: Store, source: Path | None = None, progress: Progress | None = None, on_row: RowListener | None = None
) -> ImportReport:
    """Load DummyJSON's shop. Whatever is in the database already stays as it is.

    Args:
        store: an opened database, empty or with this data set in it.
        source: the folder with ``products.json``, ``users.json`` and ``carts.json``.
        progress: told how far the loading is.
        on_row: told of every row that is mended or refused.

    Raises:
        ErpError: ``source_missing``, ``import_source_invalid``, ``dataset_mismatch``. Nothing is written then.
    """
    folder = source_path(DATASET, source, CARTS).parent

    def read(reading: Reading) -> Books:
        sold = {product.id: product for product in read_json(folder / "products.json", _Products).root}
        users = {user.id: user for user in read_json(folder / "users.json", _Users).root}
        books = Books(customers={str(user.id): _customer(user) for user in users.values()})
        for product in sold.values():
            price = money_in("products.json", product.sku, product.price, CURRENCY)
            books.products[product.sku] = product_row(
                product.sku, product.title, price, CURRENCY, category=product.category
            )
            books.stock[product.sku, MAIN] = stock_row(product.stock * 1000)
        carts = read_json(folder / CARTS, _Carts).root
        books.orders = list(_orders(carts, sold, users, reading))
        books.order_count = len(books.orders)
        return books

    return load_books(store, DATASET, read, NOTES, progress=progress, on_row=on_row)


def _orders(
    carts: list[_Cart], sold: dict[int, _Product], users: dict[int, _User], reading: Reading
) -> Iterator[SourceOrder]:
    first = datetime(*FIRST_DAY, tzinfo=reading.zone)
    for row, cart in enumerate(carts, start=1):
        unknown = [line.id for line in cart.products if line.id not in sold]
        if cart.user_id not in users or unknown or not cart.products:
            reading.notes.refuse(CARTS, row, "cart without lines, or of an unknown user or product", f"cart {cart.id}")
            continue
        yield source_order(
            (CARTS, row),
            str(cart.id),
            cart.id,
            _lines(cart, sold),
            customer_id=str(cart.user_id),
            status="completed",
            currency=CURRENCY,
            placed=first + timedelta(days=row - 1),
            ship_to=_address(users[cart.user_id].address),
        )


def _lines(cart: _Cart, sold: dict[int, _Product]) -> list[Values]:
    # The same product may stand in a cart twice, at two discounts: these stay two lines, as in the source.
    return [
        line_row(
            number,
            sold[line.id].sku,
            sold[line.id].title,
            line.quantity * 1000,
            money_in(CARTS, f"cart {cart.id}", line.price, CURRENCY),
            _basis_points(cart, line.discount),
        )
        for number, line in enumerate(cart.products, start=1)
    ]


def _customer(user: _User) -> Values:
    return customer_row(
        str(user.id),
        f"{user.first_name} {user.last_name}",
        CURRENCY,
        email=user.email,
        phone=user.phone,
        address=_address(user.address),
        country=user.address.country,
    )


def _address(address: _Address) -> JsonObject:
    return filled(
        line1=address.address, city=address.city, region=address.state, postal_code=address.postal_code,
        country=address.country,
    )  # fmt: skip


def _basis_points(cart: _Cart, percent: Decimal) -> int:
    scaled = percent * WHOLE_BP / 100
    if scaled != int(scaled):
        raise source_invalid(CARTS, f"cart {cart.id}: discount {percent} % has more than two decimal places")
    return int(scaled)
