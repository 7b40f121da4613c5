"""Northwind, the default data set (DESIGN section 7): shipped with the package."""

from pathlib import Path
from typing import Final

from erp_mcp.importers.load import load_books
from erp_mcp.importers.northwind_source import read_northwind
from erp_mcp.importers.report import ImportReport, Progress, RowListener
from erp_mcp.store.engine import Store

DATASET: Final = "northwind"
SHIPPED: Final = Path(__file__).parents[1] / "data" / "northwind"
NOTES: Final = (
    "Every product has the volume tiers of the AdventureWorks sample: Northwind has no price tiers.",
    "Orders without a ShippedDate are confirmed, the others completed.",
    "UnitsInStock is read as available: on hand is UnitsInStock and what open orders reserve.",
    "Left out: employees, suppliers, freight, required dates, fax numbers, recipients' names, units on order.",
)


def load_northwind(
    store: Store, source: Path | None = None, progress: Progress | None = None, on_row: RowListener | None = None
) -> ImportReport:
    """Load Northwind. Whatever is in the database already stays as it is, so loading twice changes nothing.

    Args:
        store: an opened database, empty or with Northwind in it.
        source: a folder with the CSV files; the package's own if left out.
        progress: told how far the loading is.
        on_row: told of every row that is mended or refused.

    Raises:
        ErpError: ``dataset_mismatch`` where another data set is loaded; ``import_source_invalid`` where the source
            cannot be read. Nothing is written then.
    """
    folder = source or SHIPPED
    return load_books(
        store, DATASET, lambda reading: read_northwind(folder, reading), NOTES, progress=progress, on_row=on_row
    )
