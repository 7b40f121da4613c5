"""The data sets that can be loaded, by the name that they have on the command line."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from erp_mcp.importers.dummyjson import DATASET as DUMMYJSON
from erp_mcp.importers.dummyjson import load_dummyjson
from erp_mcp.importers.folder import DATASET as CSV
from erp_mcp.importers.folder import load_folder
from erp_mcp.importers.northwind import DATASET as NORTHWIND
from erp_mcp.importers.northwind import load_northwind
from erp_mcp.importers.online_retail import DATASET as ONLINE_RETAIL
from erp_mcp.importers.online_retail import load_online_retail
from erp_mcp.importers.report import ImportReport, Progress, RowListener
from erp_mcp.importers.tau2 import DATASET as TAU2
from erp_mcp.importers.tau2 import load_tau2
from erp_mcp.store.engine import Store


class Importer(Protocol):
    """Loads one data set; see any of them."""

    def __call__(
        self, store: Store, source: Path | None, progress: Progress | None, on_row: RowListener | None
    ) -> ImportReport:
        """Whole or not at all."""


IMPORTERS: Final[Mapping[str, Importer]] = {
    NORTHWIND: load_northwind,
    TAU2: load_tau2,
    ONLINE_RETAIL: load_online_retail,
    CSV: load_folder,
    DUMMYJSON: load_dummyjson,
}
