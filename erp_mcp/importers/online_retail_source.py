"""Online Retail's invoice lines, grouped by invoice and held compactly: half a million of them fit into memory."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from sys import intern
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from erp_mcp.domain.money import half_up
from erp_mcp.domain.quantity import MAX_MILLI
from erp_mcp.importers.report import RowNotes
from erp_mcp.importers.source import SourceRow, Watch, read_csv

COLUMNS: Final = (
    "InvoiceNo", "StockCode", "Description", "Quantity", "InvoiceDate", "UnitPrice", "CustomerID", "Country",
)  # fmt: skip
_CACHED: Final = 20_000
"""Different numbers that are remembered: they repeat so much that reading each once saves seconds and memory."""
_MAX_DIGITS: Final = 10
"""Before and after the point of a price."""


class Line(NamedTuple):
    """A line: its row in the file, what, how many (whole units), at which price (minor units)."""

    row: int
    sku: str
    description: str
    quantity: int
    price_minor: int


@dataclass(slots=True)
class Invoice:
    """An invoice or a credit note.

    Args:
        file, row: where it begins.
        number: as in the source; a credit note's begins with C.
        at: its time, in the business time zone.
        written_at: the same as the source writes it.
        customer: empty where the source names none.
        country: of the customer.
        lines: in the file's order.
    """

    file: str
    row: int
    number: str
    at: datetime
    written_at: str
    customer: str
    country: str
    lines: list[Line] = field(default_factory=list)


def read_invoices(path: Path, zone: ZoneInfo, notes: RowNotes, watch: Watch) -> list[Invoice]:
    """Every invoice in the file, by time. A row that cannot be read is refused, and the others are taken.

    Args:
        path: the CSV file, plain or gzipped.
        zone: in which its times are meant.
        notes: told of every row that is mended or refused.
        watch: told how far the reading is.

    Raises:
        ErpError: ``import_source_invalid``.
    """
    invoices: dict[str, Invoice] = {}
    for row in read_csv(path.parent, path.name, COLUMNS, watch):
        try:
            line = _line(row, notes)
            invoice = _invoice(row, invoices, zone)
        except ValueError as problem:
            notes.refuse(row.file, row.number, "cannot be read", str(problem))
            continue
        invoice.lines.append(line)
        if row["InvoiceDate"] != invoice.written_at:
            what = f"{row['InvoiceDate']} is not {invoice.written_at}, which invoice {invoice.number} begins with"
            notes.mend(row.file, row.number, "another time than the invoice's first line: the first one holds", what)
    return sorted(invoices.values(), key=lambda invoice: (invoice.at, invoice.row))


def _line(row: SourceRow, notes: RowNotes) -> Line:
    sku, (pence, is_exact) = row["StockCode"].strip(), _pence(row["UnitPrice"])
    if not sku:
        raise ValueError("StockCode is empty")
    quantity = _quantity(row["Quantity"])
    if not is_exact:
        what = f"UnitPrice {row['UnitPrice']} was rounded to whole pence"
        notes.mend(row.file, row.number, "a price with fractions of a penny: rounded half up", what)
    return Line(row.number, intern(sku), intern(row["Description"].strip()), quantity, pence)


def _invoice(row: SourceRow, invoices: dict[str, Invoice], zone: ZoneInfo) -> Invoice:
    number, customer = row["InvoiceNo"].strip(), row["CustomerID"].strip().removesuffix(".0")
    found = invoices.get(number)
    if found is None:
        if not number:
            raise ValueError("InvoiceNo is empty")
        written = row["InvoiceDate"]
        found = Invoice(
            row.file, row.number, number, _time(written, zone), written, customer, intern(row["Country"].strip())
        )
        invoices[number] = found
    if customer != found.customer:
        raise ValueError(f"CustomerID {customer!r} is not {found.customer!r}, whom invoice {number} is for")
    return found


def _time(text: str, zone: ZoneInfo) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=zone)
    except ValueError:
        raise ValueError(f"InvoiceDate {text!r} is not a time") from None


@lru_cache(_CACHED)
def _quantity(text: str) -> int:
    try:
        quantity = int(text)
    except ValueError:
        raise ValueError(f"Quantity {text!r} is not a whole number") from None
    if abs(quantity) > MAX_MILLI // 1000:
        raise ValueError(f"Quantity {text} is too large")
    return quantity


@lru_cache(_CACHED)
def _pence(text: str) -> tuple[int, bool]:
    """A price in pence, and whether that is exactly what is written."""
    try:
        price = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"UnitPrice {text!r} is not a number") from None
    # The exponent is looked at before any arithmetic: 1e999999999 must not be written out.
    if price == 0:
        return 0, True
    if not price.is_finite() or abs(price.adjusted()) > _MAX_DIGITS:
        raise ValueError(f"UnitPrice {text} is not a usable number")
    pence = half_up(int(price.scaleb(_MAX_DIGITS)), 10 ** (_MAX_DIGITS - 2))
    return pence, pence == price.scaleb(2)
