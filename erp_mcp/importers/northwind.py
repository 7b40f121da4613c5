"""Northwind, the default data set (DESIGN section 7): shipped with the package, loaded in one transaction."""

from pathlib import Path
from typing import Final

import sqlalchemy as sa

from erp_mcp.errors import ErpError
from erp_mcp.importers.northwind_source import TIERS, WAREHOUSE, Northwind, Values, read_northwind
from erp_mcp.importers.report import ImportReport
from erp_mcp.store.engine import Store
from erp_mcp.store.meta import read_meta, write_meta
from erp_mcp.store.tables import (
    customers,
    order_lines,
    orders,
    price_tiers,
    products,
    stock,
    stock_moves,
    warehouses,
)
from erp_mcp.store.transaction import Tx

DATASET: Final = "northwind"
SHIPPED: Final = Path(__file__).parents[1] / "data" / "northwind"
NOTES: Final = (
    "Every product has the volume tiers of the AdventureWorks sample: Northwind has no price tiers.",
    "Orders without a ShippedDate are confirmed, the others completed.",
    "UnitsInStock is read as available: on hand is UnitsInStock and what open orders reserve.",
    "Left out: employees, suppliers, freight, required dates, fax numbers, recipients' names, units on order.",
)


def load_northwind(store: Store, source: Path | None = None) -> ImportReport:
    """Load Northwind. Whatever is in the database already stays as it is, so loading twice changes nothing.

    Args:
        store: an opened database, empty or with Northwind in it.
        source: a folder with the CSV files; the package's own if left out.

    Raises:
        ErpError: ``dataset_mismatch`` where another data set is loaded; ``import_source_invalid`` where the source
            cannot be read. Nothing is written then.
    """
    with store.write() as tx:
        loaded = read_meta(tx).get("dataset", DATASET)
        if loaded != DATASET:
            message = f"The database holds the data set {loaded!r}, not {DATASET!r}."
            raise ErpError("dataset_mismatch", message, "Load Northwind into a new database.")
        load = read_northwind(source or SHIPPED, tx.zone)
        taken, unchanged = _insert(tx, load)
        write_meta(tx, "dataset", DATASET)
    return ImportReport(
        dataset=DATASET, taken=taken, unchanged=unchanged, mended=load.mended, refused=load.refused, notes=list(NOTES)
    )


def _insert(tx: Tx, load: Northwind) -> tuple[dict[str, int], dict[str, int]]:
    """Insert what is not there yet; what is there stays. Returns how many rows of each kind were taken and left."""
    if tx.connection.scalar(sa.select(warehouses.c.code).where(warehouses.c.code == WAREHOUSE)) is None:
        tx.connection.execute(sa.insert(warehouses).values(code=WAREHOUSE, name="Main warehouse"))
    new_customers = _new(tx, customers.c.id, load.customers)
    new_products = _new(tx, products.c.sku, load.products)
    new_orders = _new(tx, orders.c.id, {order["id"]: order | {"key": key} for key, order in load.orders.items()})
    lines = [line | {"order_id": order["id"]} for order in new_orders for line in load.lines[order.pop("key")]]
    skus = [product["sku"] for product in new_products]
    levels = [_stock_row(load.stock[sku]) for sku in skus]
    tiers = [{"sku": sku, **vars(tier)} for sku in skus for tier in TIERS]
    moves = [_opening(row, tx) for row in levels]
    reserving = {order["id"] for order in new_orders if order["status"] == "confirmed"}
    moves += [_reserve(line, tx) for line in lines if line["order_id"] in reserving]
    inserts: list[tuple[sa.Table, list[Values]]] = [
        (customers, new_customers), (products, new_products), (price_tiers, tiers), (stock, levels),
        (orders, new_orders), (order_lines, lines), (stock_moves, moves),
    ]  # fmt: skip
    for table, rows in inserts:
        if rows:
            tx.connection.execute(sa.insert(table), rows)
    taken = {"customers": len(new_customers), "products": len(new_products), "orders": len(new_orders)}
    read = {"customers": len(load.customers), "products": len(load.products), "orders": len(load.orders)}
    return taken | {"order_lines": len(lines)}, {kind: read[kind] - taken[kind] for kind in read}


def _new(tx: Tx, key: sa.Column[str], rows: dict[str, Values]) -> list[Values]:
    present = set(tx.connection.scalars(sa.select(key)))
    return [row for identity, row in rows.items() if identity not in present]


def _stock_row(level: Values) -> Values:
    available = level["available_milli"]
    kept = {name: value for name, value in level.items() if name != "available_milli"}
    return kept | {"on_hand_milli": available + level["reserved_milli"]}


def _opening(level: Values, tx: Tx) -> Values:
    return _move(level["sku"], tx) | {"kind": "opening", "on_hand_delta_milli": level["on_hand_milli"]}


def _reserve(line: Values, tx: Tx) -> Values:
    move = {"kind": "reserve", "reserved_delta_milli": line["quantity_milli"], "order_id": line["order_id"]}
    return _move(line["sku"], tx) | move


def _move(sku: str, tx: Tx) -> Values:
    # One shape for every kind of move, since they are inserted as one list.
    return {
        "sku": sku, "warehouse": WAREHOUSE, "reason": "imported from Northwind", "at": tx.now,
        "on_hand_delta_milli": 0, "reserved_delta_milli": 0, "order_id": None,
    }  # fmt: skip
