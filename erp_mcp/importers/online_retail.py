"""UCI's Online Retail: a year of a British shop's invoice lines, as dirty as such a file is."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

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
from erp_mcp.importers.online_retail_rules import CURRENCY, GUEST, Sales, sort_out
from erp_mcp.importers.online_retail_source import Invoice, read_invoices
from erp_mcp.importers.report import ImportReport, Progress, RowListener
from erp_mcp.importers.source import source_path
from erp_mcp.store.engine import Store

Named = TypeVar("Named", str, int)

DATASET: Final = "online-retail"
FILE: Final = "online_retail_all_days.csv.gz"
ON_HAND: Final = 1000
REORDER_LEVEL: Final = 100
NOTES: Final = (
    "Invoices are completed orders. Their lines are taken where the quantity is above 0 and the price 0 or more.",
    "Repeated lines, postage, fees and manual entries are taken too; a line at 0.00 was given away.",
    f"Invoices without a customer are booked on one customer, {GUEST}.",
    "Credit notes (C…) are returns from the same customer's latest earlier lines of the same code and price.",
    "What a credit note takes back without such a sale in the file is refused.",
    "Invoices without customer and price are stock corrections, other numbers are bookkeeping: both are refused.",
    "An order's total is what was invoiced, before returns.",
    "Codes are taken as they are written: those that differ only by case are different products.",
    "A product's name and list price are those that its sales have most often.",
    "A code that was never sold at a price is a discontinued product at 0.00.",
    f"Stock is not in the source: {ON_HAND} of every product on hand, with a reorder level of {REORDER_LEVEL}.",
    f"Amounts are in {CURRENCY}; times are read in the business time zone.",
    "Customers have no names in the source: 'Customer' and their number, with the country of their latest invoice.",
)


def load_online_retail(
    store: Store, source: Path | None = None, progress: Progress | None = None, on_row: RowListener | None = None
) -> ImportReport:
    """Load Online Retail. Whatever is in the database already stays as it is.

    Args:
        store: an opened database, empty or with this data set in it.
        source: its CSV file, plain or gzipped, or the folder that holds it under its own name.
        progress: told how far the loading is.
        on_row: told of every row that is mended or refused.

    Raises:
        ErpError: ``source_missing``, ``import_source_invalid``, ``dataset_mismatch``. Nothing is written then.
    """
    path = source_path(DATASET, source, FILE)

    def read(reading: Reading) -> Books:
        def watch(done: int, size: int) -> None:
            reading.progress(f"reading {path.name}", done, size)

        invoices = read_invoices(path, reading.zone, reading.notes, watch)
        books = Books(customers=_customers(invoices))
        codes = {line.sku: line.description for invoice in invoices for line in invoice.lines}
        sales = sort_out(invoices, reading.notes)
        books.products = _products(codes, sales)
        books.stock = {(sku, MAIN): stock_row(ON_HAND * 1000, REORDER_LEVEL * 1000) for sku in books.products}
        books.orders, books.order_count = _orders(sales, books.products), len(sales.invoices)
        books.returns = sales.returns
        return books

    return load_books(store, DATASET, read, NOTES, progress=progress, on_row=on_row)


def _customers(invoices: Sequence[Invoice]) -> dict[str, Values]:
    countries = {invoice.customer: invoice.country for invoice in invoices if invoice.customer}
    rows = {
        number: customer_row(
            number, f"Customer {number}", CURRENCY, address=filled(country=country), country=country
        )
        for number, country in sorted(countries.items())
    }  # fmt: skip
    return rows | {GUEST: customer_row(GUEST, "Guest (the source names no customer)", CURRENCY)}


def _products(codes: dict[str, str], sales: Sales) -> dict[str, Values]:
    names: dict[str, Counter[str]] = defaultdict(Counter)
    prices: dict[str, Counter[int]] = defaultdict(Counter)
    for invoice in sales.invoices:
        for line in invoice.lines:
            if line.price_minor > 0:
                prices[line.sku][line.price_minor] += 1
                if line.description:
                    names[line.sku][line.description] += 1
    return {
        sku: product_row(
            sku,
            _most_often(names[sku], last or sku),
            _most_often(prices[sku], 0),
            CURRENCY,
            discontinued=not prices[sku],
        )
        for sku, last in codes.items()
    }


def _most_often(counter: Counter[Named], otherwise: Named) -> Named:
    return counter.most_common(1)[0][0] if counter else otherwise


def _orders(sales: Sales, products: dict[str, Values]) -> Iterator[SourceOrder]:
    for invoice in sales.invoices:
        lines = [
            line_row(
                place + 1,
                line.sku,
                line.description or products[line.sku]["name"],
                line.quantity * 1000,
                line.price_minor,
                returned=sales.returned.get((invoice.number, place), 0) * 1000,
            )
            for place, line in enumerate(invoice.lines)
        ]
        yield source_order(
            (invoice.file, invoice.row),
            invoice.number,
            int(invoice.number),
            lines,
            customer_id=invoice.customer or GUEST,
            status="completed",
            currency=CURRENCY,
            placed=invoice.at,
            ship_to=filled(country=invoice.country),
        )
