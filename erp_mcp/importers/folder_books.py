"""The books that a person's own CSV rows add up to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from erp_mcp.contract import JsonObject
from erp_mcp.domain.pricing import Tier, check_tiers
from erp_mcp.errors import ErpError
from erp_mcp.importers.books import (
    MAIN,
    MAIN_NAME,
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
from erp_mcp.importers.fields import (
    RowError,
    currency_of,
    flag,
    moment,
    money,
    percent_bp,
    places,
    quantity_milli,
    required,
    status_of,
)
from erp_mcp.importers.load import Reading
from erp_mcp.importers.source import SourceRow

ADDRESS: Final = ("line1", "line2", "city", "region", "postal_code", "country")
_MAX_DIGITS: Final = 12
"""Digits of an order number that is kept as our own; a longer one is only found by its source's."""


@dataclass
class _Head:
    """An order while its lines are read.

    Args:
        row: where it stands in ``orders.csv``.
        currency: of its lines' prices.
        values: what ``source_order`` needs beside the lines.
        lines: that were taken.
        spoilt: the row of a line that was refused, 0 if there is none.
    """

    row: SourceRow
    currency: str
    values: dict[str, Any]
    lines: list[Values] = field(default_factory=list)
    spoilt: int = 0


class FolderBooks:
    """Takes rows one by one, orders before their lines. Each method raises ``RowError`` for what it cannot take."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._books = Books(warehouses={})
        self._tiers: dict[str, list[Tier]] = {}
        self._heads: dict[str, _Head] = {}

    def add_product(self, row: SourceRow) -> None:
        """One product."""
        sku, currency = self._key(row, "sku", self._books.products), currency_of(row, self._reading.currency)
        self._books.products[sku] = product_row(
            sku,
            required(row, "name"),
            money(row, "unit_price", currency),
            currency,
            category=row.text("category"),
            pack=row.text("pack"),
            places=places(row, "quantity_places"),
            discontinued=flag(row, "discontinued"),
        )

    def add_customer(self, row: SourceRow) -> None:
        """One customer."""
        identity, currency = self._key(row, "id", self._books.customers), currency_of(row, self._reading.currency)
        self._books.customers[identity] = customer_row(
            identity,
            required(row, "name"),
            currency,
            contact=row.text("contact"),
            email=row.text("email"),
            phone=row.text("phone"),
            address=_address(row),
            country=row.text("country"),
            credit_limit_minor=money(row, "credit_limit", currency) if row.text("credit_limit") else None,
        )

    def add_stock(self, row: SourceRow) -> None:
        """What is on hand of one product in one warehouse."""
        product, code = self._product(row), row.text("warehouse") or MAIN
        spot, decimals = (product["sku"], code), product["quantity_places"]
        if spot in self._books.stock:
            raise RowError("there already", f"the stock of {product['sku']} in {code} is there already")
        level = stock_row(quantity_milli(row, "on_hand", decimals), quantity_milli(row, "reorder_level", decimals))
        self._books.stock[spot] = level
        self._name_warehouse(code)

    def add_tier(self, row: SourceRow) -> None:
        """One price tier of a product: a discount or a net price."""
        product = self._product(row)
        if bool(row.text("discount_percent")) == bool(row.text("unit_price")):
            what = f"the tier of {product['sku']} needs either discount_percent or unit_price"
            raise RowError("a tier with two prices or none", what)
        discount = percent_bp(row, "discount_percent") if row.text("discount_percent") else None
        net = money(row, "unit_price", product["currency"]) if row.text("unit_price") else None
        tier = Tier(quantity_milli(row, "min_quantity", product["quantity_places"]), discount, net)
        tiers = [*self._tiers.get(product["sku"], ()), tier]
        try:
            check_tiers(product["unit_price_minor"], tiers)
        except ErpError as error:
            raise RowError("a tier that does not fit the others", f"{product['sku']}: {error.message}") from None
        self._tiers[product["sku"]] = tiers

    def add_order(self, row: SourceRow) -> None:
        """One order, without its lines."""
        identity, customer = self._key(row, "id", self._heads), self._customer(row)
        currency = currency_of(row, customer["currency"])
        warehouse = row.text("warehouse") or MAIN
        values: dict[str, Any] = {
            "customer_id": customer["id"], "status": status_of(row, "status"), "currency": currency,
            "placed": moment(row, "date", self._reading.zone), "ship_to": _address(row) or customer["address"],
            "warehouse": warehouse, "carrier": row.text("carrier"), "tracking_number": row.text("tracking_number"),
            "shipped_at": moment(row, "shipped", self._reading.zone) if row.text("shipped") else None,
            "note": row.text("note"),
        }  # fmt: skip
        self._name_warehouse(warehouse)
        self._heads[identity] = _Head(row, currency, values)

    def add_line(self, row: SourceRow) -> None:
        """One line of an order. A line that is refused refuses its order, too, in ``finished``."""
        head = self._heads.get(required(row, "order"))
        if head is None:
            raise RowError("a line of an unknown order", f"order {row.text('order')!r} was not taken from orders.csv")
        spoilt, head.spoilt = head.spoilt, row.number  # until the line is read whole
        product = self._product(row)
        quantity = quantity_milli(row, "quantity", product["quantity_places"])
        if not quantity:
            raise RowError("quantity cannot be used", f"quantity {row.text('quantity')!r} is not above 0")
        price, discount = money(row, "unit_price", head.currency), percent_bp(row, "discount_percent")
        head.lines.append(line_row(len(head.lines) + 1, product["sku"], product["name"], quantity, price, discount))
        head.spoilt = spoilt

    def finished(self) -> Books:
        """The books, with every order that is whole."""
        taken = [
            self._order(identity, head) for identity, head in self._heads.items() if self._is_whole(identity, head)
        ]
        books = self._books
        books.tiers = self._tiers
        books.orders, books.order_count = taken, len(taken)
        books.warehouses = books.warehouses or {MAIN: MAIN_NAME}
        return books

    def _is_whole(self, identity: str, head: _Head) -> bool:
        if head.spoilt:
            reason, what = (
                "an order with a refused line",
                f"order {identity!r}: row {head.spoilt} of its lines was refused",
            )
        elif not head.lines:
            reason, what = "an order without lines", f"order {identity!r} has no lines"
        else:
            return True
        self._reading.notes.refuse(head.row.file, head.row.number, reason, what)
        return False

    def _order(self, identity: str, head: _Head) -> SourceOrder:
        is_number = identity.isascii() and identity.isdecimal() and len(identity) <= _MAX_DIGITS
        number = int(identity) if is_number else None
        return source_order((head.row.file, head.row.number), identity, number, head.lines, **head.values)

    def _key(self, row: SourceRow, column: str, taken: Mapping[str, object]) -> str:
        key = required(row, column)
        if key in taken:
            raise RowError("there already", f"{column} {key!r} is there already")
        if key != row[column]:
            self._reading.notes.mend(row.file, row.number, "trimmed", f"{column} {row[column]!r} was trimmed")
        return key

    def _product(self, row: SourceRow) -> Values:
        sku = required(row, "sku")
        if sku not in self._books.products:
            raise RowError("an unknown product", f"sku {sku!r} was not taken from products.csv")
        return self._books.products[sku]

    def _customer(self, row: SourceRow) -> Values:
        identity = required(row, "customer")
        if identity not in self._books.customers:
            raise RowError("an unknown customer", f"customer {identity!r} was not taken from customers.csv")
        return self._books.customers[identity]

    def _name_warehouse(self, code: str) -> None:
        self._books.warehouses.setdefault(code, MAIN_NAME if code == MAIN else code)


def _address(row: SourceRow) -> JsonObject:
    return filled(**{name: row.text(name) for name in ADDRESS})
