"""The default data set: complete, to the cent, and loaded whole or not at all."""

import csv
import shutil
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from erp_mcp.domain.money import money_string
from erp_mcp.errors import ErpError
from erp_mcp.importers.northwind import SHIPPED, load_northwind
from erp_mcp.queries.lookup import find_order
from erp_mcp.store.engine import Store, create_database, open_store
from erp_mcp.store.invariants import check_invariants
from erp_mcp.store.meta import read_meta, write_meta
from erp_mcp.store.tables import customers, metadata, order_lines, orders, price_tiers, products, stock, stock_moves

CENT = Decimal("0.01")


def rows(file: str) -> list[dict[str, str]]:
    with (SHIPPED / file).open(encoding="utf-8-sig", newline="") as text:
        return list(csv.DictReader(text))


def everything(store: Store) -> dict[str, list[Any]]:
    with store.read() as tx:
        return {
            table.name: sorted(map(repr, tx.connection.execute(sa.select(table)))) for table in metadata.sorted_tables
        }


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The shipped files, to be spoilt."""
    return Path(shutil.copytree(SHIPPED, tmp_path / "northwind"))


def test_every_order_total_is_that_of_its_source_to_the_cent(northwind: Store) -> None:
    """All 830 orders: unit × quantity × (1 − discount), rounded half up per line, computed here with decimals."""
    wanted: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows("OrderDetails.csv"):
        amount = Decimal(row["UnitPrice"]) * Decimal(row["Quantity"]) * (1 - Decimal(row["Discount"]))
        wanted[row["OrderID"]] += amount.quantize(CENT, ROUND_HALF_UP)
    with northwind.read() as tx:
        found = {row.source_id: row for row in tx.connection.execute(sa.select(orders))}
    assert len(found) == 830
    assert {key: money_string(row.total_minor, row.currency) for key, row in found.items()} == {
        key: str(total) for key, total in wanted.items()
    }


def test_orders_without_a_shipped_date_are_confirmed(northwind: Store) -> None:
    """21 of them are open; the others are completed, with their day and their carrier."""
    with northwind.read() as tx:
        grouped = sa.select(orders.c.status, sa.func.count().label("n")).group_by(orders.c.status)
        by_status = {row.status: row.n for row in tx.connection.execute(grouped)}
        undated = tx.connection.scalar(
            sa.select(sa.func.count()).where(orders.c.status == "completed", orders.c.shipped_at.is_(None))
        )
        first = find_order(tx, "10248")
    assert by_status == {"confirmed": 21, "completed": 809}
    assert undated == 0
    assert (first.id, first.carrier, first.ship_to["city"]) == ("SO19960704-10248", "Federal Shipping", "Reims")


def test_on_hand_is_what_is_in_stock_and_what_open_orders_reserve(northwind: Store) -> None:
    """UnitsInStock is what is available, so cancelling an open order returns real stock."""
    open_orders = {row["OrderID"] for row in rows("Orders.csv") if not row["ShippedDate"]}
    reserved: dict[str, int] = defaultdict(int)
    for row in rows("OrderDetails.csv"):
        if row["OrderID"] in open_orders:
            reserved[row["ProductID"]] += int(row["Quantity"]) * 1000
    wanted = {
        f"NW-{int(row['ProductID']):03}": (
            int(row["UnitsInStock"]) * 1000 + reserved[row["ProductID"]],
            reserved[row["ProductID"]],
            int(row["ReorderLevel"]) * 1000,
        )
        for row in rows("Products.csv")
    }
    with northwind.read() as tx:
        found = {
            row.sku: (row.on_hand_milli, row.reserved_milli, row.reorder_level_milli)
            for row in tx.connection.execute(sa.select(stock))
        }
        assert check_invariants(tx) == []
    assert found == wanted


def test_products_and_customers_keep_what_the_source_says(northwind: Store) -> None:
    """Accents, categories, discontinued ones, the volume tiers of every product, and trimmed ids."""
    with northwind.read() as tx:
        count = sa.select(sa.func.count())
        assert tx.connection.scalar(count.select_from(customers)) == 93
        assert tx.connection.scalar(count.where(products.c.discontinued)) == 8
        assert tx.connection.scalar(count.select_from(price_tiers)) == 77 * 5
        assert tx.connection.scalar(count.select_from(order_lines)) == 2155
        product = tx.connection.execute(sa.select(products).where(products.c.sku == "NW-024")).one()
        assert (product.name, product.category, product.unit_price_minor) == ("Guaraná Fantástica", "Beverages", 450)
        assert "Val2" in set(tx.connection.scalars(sa.select(customers.c.id)))
        assert read_meta(tx)["dataset"] == "northwind"


def test_loading_twice_changes_nothing(northwind: Store) -> None:
    """Not even what was changed in between: what is there stays as it is."""
    with northwind.write() as tx:
        tx.connection.execute(sa.update(customers).where(customers.c.id == "ALFKI").values(phone="1", version=2))
    before = everything(northwind)
    report = load_northwind(northwind)
    assert everything(northwind) == before
    assert report.unchanged == {"customers": 93, "products": 77, "orders": 830}
    assert set(report.taken.values()) == {0}


def test_the_report_says_what_was_taken_and_mended(store: Store) -> None:
    """Counts by kind, and each mended row with its place in the file."""
    report = load_northwind(store)
    assert report.taken == {"customers": 93, "products": 77, "orders": 830, "order_lines": 2155}
    assert [(note.file, note.row) for note in report.mended] == [("Customers.csv", 85)]
    assert report.refused == []


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("OrderDetails.csv", "11077,77,13,2,0.0", "11077,77,13,two,0.0"),
        ("OrderDetails.csv", "11077,77,13,2,0.0", "11077,78,13,2,0.0"),
        ("OrderDetails.csv", "11077,77,13,2,0.0", "11077,77,13.001,2,0.0"),
        ("OrderDetails.csv", "11077,77,13,2,0.0", "11077,77,13,2,1.5"),
        ("OrderDetails.csv", "11077,77,13,2,0.0", "11077,77,13"),
        ("Orders.csv", "1996-07-04 00:00:00.000", "the fourth of July"),
        ("Orders.csv", "CustomerID", "Buyer"),
    ],
)
def test_a_failed_import_leaves_the_database_as_it_was(
    store: Store, copied: Path, file: str, old: str, new: str
) -> None:
    """Whatever is wrong, and however late it is found; the error names the file."""
    text = (copied / file).read_text("utf-8-sig")
    assert old in text
    (copied / file).write_text(text.replace(old, new, 1))
    before = everything(store)
    with pytest.raises(ErpError) as refused:
        load_northwind(store, copied)
    assert refused.value.code == "import_source_invalid"
    assert file in refused.value.message
    assert everything(store) == before


def test_a_source_that_is_not_there_is_named(store: Store, tmp_path: Path) -> None:
    """One clear line, nothing written."""
    with pytest.raises(ErpError) as refused:
        load_northwind(store, tmp_path / "nowhere")
    assert refused.value.code == "import_source_invalid"


def test_an_order_of_nobody_is_refused_by_row(store: Store, copied: Path) -> None:
    """The others are taken, and the books still add up."""
    path = copied / "Orders.csv"
    path.write_text(path.read_text("utf-8-sig").replace("11077,RATTC", "11077,NOONE"))
    report = load_northwind(store, copied)
    assert [(note.file, note.row) for note in report.refused] == [("Orders.csv", 831)]
    assert report.taken["orders"] == 829
    with store.read() as tx:
        assert check_invariants(tx) == []


def test_another_data_set_is_not_mixed_with_it(store: Store) -> None:
    """Two companies' books do not go into one database."""
    with store.write() as tx:
        write_meta(tx, "dataset", "tau2")
    with pytest.raises(ErpError) as refused:
        load_northwind(store)
    assert refused.value.code == "dataset_mismatch"


def test_days_are_those_of_the_business(erp_url: str) -> None:
    """An order of 4 July is of 4 July where the business is, whatever day that is in UTC."""
    create_database(erp_url)
    store = open_store(erp_url, zone=ZoneInfo("Asia/Shanghai"))
    load_northwind(store)
    with store.read() as tx:
        order = find_order(tx, "10248")
    assert (order.business_date, order.placed_at.isoformat()) == ("1996-07-04", "1996-07-03T16:00:00+00:00")
    store.close()


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (sa.update(stock).where(stock.c.sku == "NW-001").values(on_hand_milli=stock.c.on_hand_milli + 1), "NW-001"),
        (sa.update(stock).where(stock.c.sku == "NW-016").values(reserved_milli=0), "NW-016"),
        (sa.delete(stock_moves).where(stock_moves.c.sku == "NW-011", stock_moves.c.kind == "opening"), "NW-011"),
        (sa.update(orders).where(orders.c.source_id == "11074").values(status="cancelled"), "NW-016"),
        (sa.update(orders).where(orders.c.source_id == "10248").values(total_minor=1), "SO19960704-10248"),
        (sa.update(orders).where(orders.c.source_id == "10248").values(approval_id="forged"), "forged"),
    ],
)
def test_the_invariant_checker_sees_what_was_spoilt(northwind: Store, spoil: sa.Update, named: str) -> None:
    """Each rule is really checked: one changed row, and it is named."""
    with northwind.write() as tx:
        tx.connection.execute(spoil)
    with northwind.read() as tx:
        found = check_invariants(tx)
    assert found
    assert any(named in sentence for sentence in found)
