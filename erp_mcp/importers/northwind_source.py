"""Northwind's CSV files as the ERP's books."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from erp_mcp.domain.pricing import WHOLE_BP, Tier, check_tiers
from erp_mcp.domain.quantity import to_milli
from erp_mcp.errors import ErpError
from erp_mcp.importers.books import (
    MAIN,
    Books,
    SourceOrder,
    Values,
    customer_row,
    line_row,
    product_row,
    source_order,
    stock_row,
)
from erp_mcp.importers.load import Reading
from erp_mcp.importers.report import RowNotes
from erp_mcp.importers.source import SourceRow, money_in, read_csv, source_invalid

CURRENCY: Final = "USD"
TIERS: Final = tuple(Tier(q * 1000, bp, None) for q, bp in ((11, 200), (15, 500), (25, 1000), (41, 1500), (61, 2000)))
"""The volume tiers of the AdventureWorks sample, given to every product: Northwind has none."""

_ADDRESS: Final = ("Address", "City", "Region", "PostalCode", "Country")
_PRODUCT: Final = (
    "ProductID",
    "ProductName",
    "CategoryID",
    "QuantityPerUnit",
    "UnitPrice",
    "UnitsInStock",
    "ReorderLevel",
    "Discontinued",
)


def read_northwind(folder: Path, reading: Reading) -> Books:
    """Read the whole source.

    Args:
        folder: where the CSV files lie.
        reading: the business time zone (the source knows days only), and where rows are reported.

    Raises:
        ErpError: ``import_source_invalid``.
    """
    books = Books()
    _read_customers(folder, books, reading.notes)
    _read_products(folder, books)
    books.tiers = dict.fromkeys(books.products, TIERS)
    lines = _read_lines(folder, books)
    taken = list(_read_orders(folder, books, lines, reading))
    books.orders, books.order_count = taken, len(taken)
    for order in taken:
        if order.values["status"] == "confirmed":
            for line in order.lines:
                books.stock[line["sku"], MAIN]["on_hand_milli"] += line["quantity_milli"]
    return books


def _read_customers(folder: Path, books: Books, notes: RowNotes) -> None:
    columns = ("CustomerID", "CompanyName", "ContactName", "Phone", "Country", *_ADDRESS)
    for row in read_csv(folder, "Customers.csv", columns):
        customer_id = row["CustomerID"].strip()
        if customer_id != row["CustomerID"]:
            notes.mend(row.file, row.number, "trimmed", f"CustomerID {row['CustomerID']!r} was trimmed")
        books.customers[customer_id] = customer_row(
            customer_id,
            row["CompanyName"],
            CURRENCY,
            contact=row["ContactName"],
            phone=row["Phone"],
            address=_address(row, ""),
            country=row["Country"],
        )


def _read_products(folder: Path, books: Books) -> None:
    categories = {
        row["CategoryID"]: row["CategoryName"]
        for row in read_csv(folder, "Categories.csv", ("CategoryID", "CategoryName"))
    }
    for row in read_csv(folder, "Products.csv", _PRODUCT):
        sku, list_price = _sku(row), _money(row, "UnitPrice")
        check_tiers(list_price, TIERS)
        books.products[sku] = product_row(
            sku,
            row["ProductName"],
            list_price,
            CURRENCY,
            category=categories.get(row["CategoryID"], ""),
            pack=row["QuantityPerUnit"],
            discontinued=row["Discontinued"] == "1",
        )
        books.stock[sku, MAIN] = stock_row(_quantity(row, "UnitsInStock"), _quantity(row, "ReorderLevel"))


def _read_lines(folder: Path, books: Books) -> dict[str, list[Values]]:
    """The lines by the source's order number."""
    found: dict[str, list[Values]] = {}
    for row in read_csv(folder, "OrderDetails.csv", ("OrderID", "ProductID", "UnitPrice", "Quantity", "Discount")):
        sku = _sku(row)
        if sku not in books.products:
            raise source_invalid(row.file, f"row {row.number} names product {row['ProductID']}, which is not there")
        lines = found.setdefault(row["OrderID"], [])
        name, quantity = books.products[sku]["name"], _quantity(row, "Quantity")
        lines.append(line_row(len(lines) + 1, sku, name, quantity, _money(row, "UnitPrice"), _discount(row)))
    return found


def _read_orders(folder: Path, books: Books, lines: dict[str, list[Values]], reading: Reading) -> Iterator[SourceOrder]:
    shippers = {
        row["ShipperID"]: row["CompanyName"] for row in read_csv(folder, "Shippers.csv", ("ShipperID", "CompanyName"))
    }
    columns = ("OrderID", "CustomerID", "OrderDate", "ShippedDate", "ShipVia", *(f"Ship{name}" for name in _ADDRESS))
    for row in read_csv(folder, "Orders.csv", columns):
        number, customer_id = row["OrderID"], row["CustomerID"].strip()
        if customer_id not in books.customers:
            reason = "an order of an unknown customer"
            reading.notes.refuse(row.file, row.number, reason, f"customer {customer_id!r} is not among the customers")
            continue
        if number not in lines:
            reading.notes.refuse(row.file, row.number, "an order without lines", f"order {number} has no lines")
            continue
        shipped = _day(row, "ShippedDate", reading.zone) if row["ShippedDate"] else None
        yield source_order(
            (row.file, row.number),
            number,
            int(number) if number.isdecimal() else None,
            lines[number],
            customer_id=customer_id,
            status="completed" if shipped else "confirmed",
            currency=CURRENCY,
            placed=_day(row, "OrderDate", reading.zone),
            ship_to=_address(row, "Ship"),
            carrier=shippers.get(row["ShipVia"], ""),
            shipped_at=shipped,
        )


def _address(row: SourceRow, prefix: str) -> dict[str, str]:
    names = ("line1", "city", "region", "postal_code", "country")
    return {name: row[prefix + column] for name, column in zip(names, _ADDRESS, strict=True)}


def _sku(row: SourceRow) -> str:
    return f"NW-{row['ProductID'].zfill(3)}"


def _money(row: SourceRow, column: str) -> int:
    return money_in(row.file, f"row {row.number}: {column}", _number(row, column), CURRENCY)


def _quantity(row: SourceRow, column: str) -> int:
    value = _number(row, column)
    try:
        return to_milli(value, 0, column)
    except ErpError as error:
        raise source_invalid(row.file, f"row {row.number}: {error.message.rstrip('.')}") from error


def _discount(row: SourceRow) -> int:
    scaled = _number(row, "Discount") * WHOLE_BP
    if scaled != int(scaled) or not 0 <= scaled <= WHOLE_BP:
        raise source_invalid(row.file, f"row {row.number}: Discount {row['Discount']} is not a whole number of 0.01 %")
    return int(scaled)


def _number(row: SourceRow, column: str) -> Decimal:
    try:
        value = Decimal(row[column])
    except InvalidOperation as error:
        raise source_invalid(row.file, f"row {row.number}: {column} {row[column]!r} is not a number") from error
    if not value.is_finite():
        raise source_invalid(row.file, f"row {row.number}: {column} {row[column]!r} is not a number")
    return value


def _day(row: SourceRow, column: str, zone: ZoneInfo) -> datetime:
    """Midnight of a day in the business time zone: the source knows days only."""
    try:
        return datetime.fromisoformat(row[column]).replace(tzinfo=zone)
    except ValueError as error:
        raise source_invalid(row.file, f"row {row.number}: {column} {row[column]!r} is not a time") from error
