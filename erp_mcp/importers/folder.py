"""A person's own books as CSV files in one folder. The format is documented in CSV_FORMAT.md, beside this module."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from erp_mcp.errors import ErpError
from erp_mcp.importers.books import Books
from erp_mcp.importers.fields import RowError
from erp_mcp.importers.folder_books import ADDRESS, FolderBooks
from erp_mcp.importers.load import Reading, load_books
from erp_mcp.importers.report import ImportReport, Progress, RowListener
from erp_mcp.importers.source import columns_of, read_csv
from erp_mcp.store.engine import Store

DATASET: Final = "csv"
REQUIRED: Final[dict[str, tuple[str, ...]]] = {
    "products.csv": ("sku", "name", "unit_price"),
    "customers.csv": ("id", "name"),
    "stock.csv": ("sku", "on_hand"),
    "tiers.csv": ("sku", "min_quantity"),
    "orders.csv": ("id", "customer", "date", "status"),
    "order_lines.csv": ("order", "sku", "quantity", "unit_price"),
}
"""The files, with the columns that each must have."""
OPTIONAL: Final[dict[str, tuple[str, ...]]] = {
    "products.csv": ("category", "pack", "currency", "quantity_places", "discontinued"),
    "customers.csv": ("contact", "email", "phone", *ADDRESS, "currency", "credit_limit"),
    "stock.csv": ("warehouse", "reorder_level"),
    "tiers.csv": ("discount_percent", "unit_price"),
    "orders.csv": ("currency", "warehouse", "carrier", "tracking_number", "shipped", "note", *ADDRESS),
    "order_lines.csv": ("discount_percent",),
}
"""Columns that each may have."""
NEEDED: Final = ("products.csv", "customers.csv")
"""Files that must be there; the others may be left out."""
ORDERS: Final = frozenset({"orders.csv", "order_lines.csv"})
"""Files that may be left out only together."""


def load_folder(
    store: Store, source: Path | None = None, progress: Progress | None = None, on_row: RowListener | None = None
) -> ImportReport:
    """Load a person's own books. Whatever is in the database already stays as it is.

    A row that cannot be taken is refused with its reason, and the others are taken. An order is taken whole or not at
    all, so one refused line of it refuses it.

    Args:
        store: an opened database, empty or with such books in it.
        source: the folder with the CSV files.
        progress: told how far the loading is.
        on_row: told of every row that is mended or refused.

    Raises:
        ErpError: ``source_missing`` (folder or file), ``import_source_invalid`` (a file is not UTF-8, not CSV or lacks
            a column), ``dataset_mismatch``. Nothing is written then.
    """
    files = _files(source)
    notes = [*(f"There is no {file}." for file in REQUIRED if file not in files), *_unused(files)]
    return load_books(store, DATASET, lambda reading: _read(files, reading), notes, progress=progress, on_row=on_row)


def _files(folder: Path | None) -> dict[str, Path]:
    """Where each file is, plain or gzipped."""
    hint = "Give the folder that holds your CSV files: countersign init --data csv --from FOLDER"
    if folder is None or not folder.is_dir():
        said = "Your own data needs a folder." if folder is None else f"{folder} is not a folder."
        raise ErpError("source_missing", said, hint)
    found = {
        file: path for file in REQUIRED for path in (folder / f"{file}.gz", folder / file) if path.is_file()
    }  # fmt: skip
    lacking = [file for file in NEEDED if file not in found]
    if ORDERS & found.keys():
        lacking += sorted(ORDERS - found.keys())
    if lacking:
        raise ErpError("source_missing", f"There is no {' and no '.join(lacking)} in {folder}.", hint)
    return found


def _unused(files: dict[str, Path]) -> Iterator[str]:
    for file, path in files.items():
        for column in columns_of(path.parent, path.name):
            if column not in (*REQUIRED[file], *OPTIONAL[file]):
                yield f"{path.name}: the column {column!r} is not known and was left out."


def _read(files: dict[str, Path], reading: Reading) -> Books:
    books = FolderBooks(reading)
    adders = {
        "products.csv": books.add_product, "customers.csv": books.add_customer, "stock.csv": books.add_stock,
        "tiers.csv": books.add_tier, "orders.csv": books.add_order, "order_lines.csv": books.add_line,
    }  # fmt: skip
    for file, add in adders.items():  # in the order in which one needs another
        if file not in files:
            continue

        def watch(done: int, size: int, what: str = f"reading {file}") -> None:
            reading.progress(what, done, size)

        for row in read_csv(files[file].parent, files[file].name, REQUIRED[file], watch):
            try:
                add(row)
            except RowError as refused:
                reading.notes.refuse(row.file, row.number, refused.reason, str(refused))
    return books.finished()
