"""Northwind's CSV files as rows of the ERP's tables, in memory: the source is small."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from erp_mcp.domain.lookup import match_key
from erp_mcp.domain.money import half_up, to_minor
from erp_mcp.domain.orders import order_number, twin_key
from erp_mcp.domain.pricing import WHOLE_BP, Tier, check_tiers, imported_amount
from erp_mcp.domain.quantity import to_milli
from erp_mcp.errors import ErpError
from erp_mcp.importers.report import RowNote
from erp_mcp.importers.source import SourceRow, read_csv, source_invalid

CURRENCY: Final = "USD"
WAREHOUSE: Final = "MAIN"
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

Values = dict[str, Any]


@dataclass
class Northwind:
    """All rows. Orders and lines are keyed by the source's order number, the others by their own id."""

    customers: dict[str, Values] = field(default_factory=dict)
    products: dict[str, Values] = field(default_factory=dict)
    stock: dict[str, Values] = field(default_factory=dict)
    orders: dict[str, Values] = field(default_factory=dict)
    lines: dict[str, list[Values]] = field(default_factory=dict)
    mended: list[RowNote] = field(default_factory=list)
    refused: list[RowNote] = field(default_factory=list)


def read_northwind(folder: Path, zone: ZoneInfo) -> Northwind:
    """Read the whole source.

    Args:
        folder: where the CSV files lie.
        zone: the business time zone; the source knows days only.

    Raises:
        ErpError: ``import_source_invalid``.
    """
    load = Northwind()
    _read_customers(folder, load)
    _read_products(folder, load)
    _read_lines(folder, load)
    _read_orders(folder, load, zone)
    for number, order in load.orders.items():
        if order["status"] == "confirmed":
            for line in load.lines[number]:
                load.stock[line["sku"]]["reserved_milli"] += line["quantity_milli"]
    return load


def _read_customers(folder: Path, load: Northwind) -> None:
    columns = ("CustomerID", "CompanyName", "ContactName", "Phone", "Country", *_ADDRESS)
    for row in read_csv(folder, "Customers.csv", columns):
        customer_id = row["CustomerID"].strip()
        if customer_id != row["CustomerID"]:
            load.mended.append(_note(row, f"CustomerID {row['CustomerID']!r} was trimmed"))
        load.customers[customer_id] = {
            "id": customer_id,
            "id_key": match_key(customer_id),
            "name": row["CompanyName"],
            "name_key": match_key(row["CompanyName"]),
            "contact": row["ContactName"],
            "phone": row["Phone"],
            "address": _address(row, ""),
            "country": row["Country"],
            "currency": CURRENCY,
        }


def _read_products(folder: Path, load: Northwind) -> None:
    categories = {
        row["CategoryID"]: row["CategoryName"]
        for row in read_csv(folder, "Categories.csv", ("CategoryID", "CategoryName"))
    }
    for row in read_csv(folder, "Products.csv", _PRODUCT):
        sku = _sku(row)
        list_price = _money(row, "UnitPrice")
        check_tiers(list_price, TIERS)
        load.products[sku] = {
            "sku": sku,
            "sku_key": match_key(sku),
            "name": row["ProductName"],
            "name_key": match_key(row["ProductName"]),
            "category": categories.get(row["CategoryID"], ""),
            "pack": row["QuantityPerUnit"],
            "unit_price_minor": list_price,
            "currency": CURRENCY,
            "discontinued": row["Discontinued"] == "1",
        }
        load.stock[sku] = {
            "sku": sku,
            "warehouse": WAREHOUSE,
            "available_milli": _quantity(row, "UnitsInStock"),
            "reserved_milli": 0,
            "reorder_level_milli": _quantity(row, "ReorderLevel"),
        }


def _read_lines(folder: Path, load: Northwind) -> None:
    for row in read_csv(folder, "OrderDetails.csv", ("OrderID", "ProductID", "UnitPrice", "Quantity", "Discount")):
        sku = _sku(row)
        if sku not in load.products:
            raise source_invalid(row.file, f"row {row.number} names product {row['ProductID']}, which is not there")
        unit, quantity, discount = _money(row, "UnitPrice"), _quantity(row, "Quantity"), _discount(row)
        lines = load.lines.setdefault(row["OrderID"], [])
        lines.append(
            {
                "line_no": len(lines) + 1,
                "sku": sku,
                "name": load.products[sku]["name"],
                "quantity_milli": quantity,
                "unit_price_minor": unit,
                "discount_bp": discount,
                "net_unit_price_minor": half_up(unit * (WHOLE_BP - discount), WHOLE_BP),
                "amount_minor": imported_amount(unit, quantity, discount),
            }
        )


def _read_orders(folder: Path, load: Northwind, zone: ZoneInfo) -> None:
    shippers = {
        row["ShipperID"]: row["CompanyName"] for row in read_csv(folder, "Shippers.csv", ("ShipperID", "CompanyName"))
    }
    columns = ("OrderID", "CustomerID", "OrderDate", "ShippedDate", "ShipVia", *(f"Ship{name}" for name in _ADDRESS))
    for row in read_csv(folder, "Orders.csv", columns):
        problem = _problem(row, load)
        if problem:
            load.refused.append(_note(row, problem))
            continue
        lines = load.lines[row["OrderID"]]
        placed = _day(row, "OrderDate", zone)
        shipped = _day(row, "ShippedDate", zone) if row["ShippedDate"] else None
        customer_id = row["CustomerID"].strip()
        load.orders[row["OrderID"]] = {
            "id": order_number(placed.date(), int(row["OrderID"])),
            "source_id": row["OrderID"],
            "source_key": match_key(row["OrderID"]),
            "customer_id": customer_id,
            "status": "completed" if shipped else "confirmed",
            "currency": CURRENCY,
            "warehouse": WAREHOUSE,
            "total_minor": sum(line["amount_minor"] for line in lines),
            "line_count": len(lines),
            "placed_at": placed,
            "business_date": placed.date().isoformat(),
            "ship_to": _address(row, "Ship"),
            "carrier": shippers.get(row["ShipVia"], ""),
            "shipped_at": shipped,
            "twin_key": twin_key(customer_id, [(line["sku"], line["quantity_milli"]) for line in lines]),
        }


def _problem(row: SourceRow, load: Northwind) -> str:
    """Why an order cannot be taken; empty if it can."""
    if row["CustomerID"].strip() not in load.customers:
        return f"customer {row['CustomerID']!r} is not among the customers"
    if row["OrderID"] not in load.lines:
        return "the order has no lines"
    return ""


def _address(row: SourceRow, prefix: str) -> dict[str, str]:
    names = ("line1", "city", "region", "postal_code", "country")
    return {name: row[prefix + column] for name, column in zip(names, _ADDRESS, strict=True)}


def _sku(row: SourceRow) -> str:
    return f"NW-{row['ProductID'].zfill(3)}"


def _money(row: SourceRow, column: str) -> int:
    value = _number(row, column)
    try:
        return to_minor(value, CURRENCY)
    except ErpError as error:
        raise source_invalid(row.file, f"row {row.number}: {column}: {error.message.rstrip('.')}") from error


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


def _note(row: SourceRow, what: str) -> RowNote:
    return RowNote(file=row.file, row=row.number, what=what)
