"""A person's own CSV files: the documented format is the one that is read, and a bad row never costs a good one."""

import gzip
import re
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa

from erp_mcp.errors import ErpError
from erp_mcp.importers import folder as format_module
from erp_mcp.importers.folder import OPTIONAL, REQUIRED, load_folder
from erp_mcp.queries.lookup import find_order
from erp_mcp.queries.orders import order_detail
from erp_mcp.store.engine import Store
from erp_mcp.store.invariants import check_invariants
from erp_mcp.store.tables import customers, price_tiers, products, stock, warehouses
from tests.integration.small_erp import everything

GOOD: Final = {
    "products.csv": (
        "sku,name,unit_price,category,quantity_places,discontinued\n"
        "01234,Apples,2.50,fruit,0,no\n1234,Flour,1.20,,3,\nOLD,Old thing,9,,,yes\n"
    ),
    "customers.csv": "id,name,line1,city,country,credit_limit\nK1,Käse GmbH,Hauptstr. 1,Köln,DE,1000.00\nK2,Zwei,,,,\n",
    "stock.csv": "sku,on_hand,warehouse,reorder_level\n01234,100,,10\n1234,50.250,EAST,\n",
    "tiers.csv": "sku,min_quantity,discount_percent,unit_price\n01234,10,5,\n01234,50,,2.00\n",
    "orders.csv": (
        "id,customer,date,status,warehouse,note\n"
        "1042,K1,2026-11-30,confirmed,,by phone\n"
        "A-7,K2,2026-11-30T14:05,completed,EAST,\n"
        "A-8,K2,2026-11-30,cancelled,,\n"
    ),
    "order_lines.csv": (
        "order,sku,quantity,unit_price,discount_percent\n"
        "1042,01234,30,2.40,12.5\n1042,01234,10,2.40,\nA-7,1234,2.250,64.22,\nA-8,OLD,1,9.00,\n"
    ),
}


SHORT: Final = dict(zip("pcstol", GOOD, strict=True))
"""The files by one letter; order_lines.csv is l."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder in which everything is right."""
    folder = tmp_path / "source"
    folder.mkdir()
    for file, text in GOOD.items():
        (folder / file).write_text(text, encoding="utf-8")
    return folder


def spoil(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text("utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")


def test_everything_that_is_right_is_taken(store: Store, source: Path) -> None:
    """All six files, both warehouses, and the books add up."""
    report = load_folder(store, source)
    assert report.taken == {"customers": 2, "products": 3, "orders": 3, "order_lines": 4}
    assert (report.refused, report.mended, report.notes) == ([], [], [])
    with store.read() as tx:
        assert check_invariants(tx) == []
        assert tx.connection.scalars(sa.select(warehouses.c.code).order_by("code")).all() == ["EAST", "MAIN"]
        apples = tx.connection.execute(sa.select(stock).where(stock.c.sku == "01234")).one()
        assert (apples.on_hand_milli, apples.reserved_milli, apples.reorder_level_milli) == (100_000, 40_000, 10_000)
        assert tx.connection.scalar(sa.select(sa.func.count()).select_from(price_tiers)) == 2
        kaese = tx.connection.execute(sa.select(customers).where(customers.c.id == "K1")).one()
        assert (kaese.name, kaese.credit_limit_minor, kaese.currency) == ("Käse GmbH", 100_000, "USD")
        assert tx.connection.scalar(sa.select(products.c.discontinued).where(products.c.sku == "OLD")) is True


def test_orders_keep_their_number_money_and_address(store: Store, source: Path) -> None:
    """A number is kept in ours; another id gets the day's next one and finds its order; rounding is half up."""
    load_folder(store, source)
    with store.read() as tx:
        order = order_detail(tx, "1042")
        assert (order.order_id, order.total, order.note) == ("SO20261130-1042", "87.00", "by phone")
        assert [line["amount"] for line in order.lines] == ["63.00", "24.00"]
        assert order.ship_to is not None
        assert order.ship_to.city == "Köln"
        assert order_detail(tx, "a-7").total == "144.50"
        assert find_order(tx, "A-7").placed_at.hour == 14
        assert (find_order(tx, "A-7").id, find_order(tx, "A-8").id) == ("SO20261130-0001", "SO20261130-0002")


def test_loading_twice_changes_nothing_and_new_rows_are_added(store: Store, source: Path) -> None:
    """What is there stays as it is, whatever the file says by now; a new open order reserves what is left."""
    load_folder(store, source)
    before = everything(store)
    spoil(source, "products.csv", "Apples,2.50", "Pears,9.99")
    assert set(load_folder(store, source).taken.values()) == {0}
    assert everything(store) == before
    spoil(source, "orders.csv", "1042,K1", "7,K1,2026-12-01,pending,,\n8,K1,2026-12-01,pending,,\n1042,K1")
    spoil(source, "order_lines.csv", "1042,01234", "7,01234,50,2.40,\n8,01234,11,2.40,\n1042,01234")
    report = load_folder(store, source)
    assert report.taken == {"customers": 0, "products": 0, "orders": 1, "order_lines": 1}
    assert [note.what for note in report.refused] == [
        "order 8 is open and needs 11 of 01234 in MAIN, where 10 are available"
    ]
    with store.read() as tx:
        assert check_invariants(tx) == []
        level = tx.connection.execute(sa.select(stock).where(stock.c.sku == "01234")).one()
        assert (level.reserved_milli, level.version) == (90_000, 2)


def place_and_words(entry: str) -> tuple[str, str]:
    """``"o4 no lines"``: row 4 of ``orders.csv`` is refused in such words."""
    place, _, said = entry.partition(" ")
    return f"{SHORT[place[0]]} {place[1:]}", said


@pytest.mark.parametrize(
    ("file", "old", "new", "refused"),
    [
        ("products.csv", "OLD,Old thing,9,", "OLD,Old thing,-9,", "p4 -9 | l5 OLD | o4 row 5"),
        ("products.csv", "OLD,Old thing,9,", "OLD,Old thing,9.999,", "p4 9.999 | l5 | o4"),
        ("products.csv", "OLD,Old thing,9,,,yes", "OLD,Old thing,9,,,maybe", "p4 maybe | l5 | o4"),
        ("products.csv", "OLD,Old thing,9,,,yes", "OLD,,9,,,yes", "p4 name | l5 | o4"),
        ("products.csv", "1234,Flour", "01234,Flour", "p3 there already | s3 1234 | l4 | o3"),
        ("customers.csv", "K2,Zwei,,,,\n", "K2,Zwei,,,,1e400\n", "c3 1E+400 | o3 K2 | o4 K2 | l4 | l5"),
        ("stock.csv", "01234,100", "01234,100.5", "s2 whole numbers | o2 0 are available"),
        ("stock.csv", "01234,100", "01234,39", "o2 needs 40 of 01234 in MAIN, where 39 are available"),
        ("tiers.csv", "01234,50,,2.00", "01234,50,,2.45", "t3 dearer"),
        ("tiers.csv", "01234,50,,2.00", "01234,50,1,2.00", "t3 either"),
        ("tiers.csv", "01234,50,,2.00", "01234,10,,2.00", "t3 two price tiers"),
        ("orders.csv", "A-8,K2,2026-11-30,cancelled", "A-8,K2,30.11.2026,cancelled", "o4 30.11.2026 | l5 A-8"),
        ("orders.csv", "A-8,K2,2026-11-30,cancelled", "A-8,K2,2026-11-30,shippd", "o4 shippd | l5"),
        ("orders.csv", "A-8,K2,2026-11-30,cancelled", "A-7,K2,2026-11-30,cancelled", "o4 there already | l5"),
        ("order_lines.csv", "A-8,OLD,1,9.00,\n", "", "o4 no lines"),
        ("order_lines.csv", "A-8,OLD,1", "A-8,OLD,0", "l5 '0' | o4"),
        ("order_lines.csv", "A-8,OLD,1", "A-8,OLD,NaN", "l5 NaN | o4"),
        ("order_lines.csv", "A-8,OLD,1,9.00,", "A-8,OLD,1,9.00,100.01", "l5 100.01 | o4"),
        ("order_lines.csv", "A-8,OLD,1,9.00,", "A-9,OLD,1,9.00,", "l5 A-9 | o4 no lines"),
        ("order_lines.csv", "A-8,OLD,1,9.00,", "A-8,OLD,900000000,9000000000.00,", "o4 more than can be kept"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_taken_is_refused_and_the_others_are_taken(
    store: Store, source: Path, file: str, old: str, new: str, refused: str
) -> None:
    """By its place and with what is wrong; what depends on it is refused, too, and nothing else."""
    spoil(source, file, old, new)
    report = load_folder(store, source)
    found = {f"{note.file} {note.row}": note.what for note in report.refused}
    wanted = dict(place_and_words(entry) for entry in refused.split(" | "))
    assert found.keys() == wanted.keys()
    for place, said in wanted.items():
        assert said in found[place]
    with store.read() as tx:
        assert check_invariants(tx) == []


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("products.csv", b"sku,name\nA,B\n", "no column unit_price (its columns: sku, name)"),
        ("products.csv", b"sku;name;unit_price\nA;B;1\n", "its columns: sku;name;unit_price"),
        ("customers.csv", "id,name\n1,Käse\n".encode("latin-1"), "byte 0xe4 is not UTF-8"),
        ("customers.csv", "id,name\n1,Käse\n".encode("utf-16"), "is UTF-16"),
        ("orders.csv", b"id,customer,date,status\n1,K1\n", "row 2 has another number of fields"),
        ("orders.csv", b'id,customer,date,status\n"1,K1\n', "is not CSV"),
        ("stock.csv", b"sku,on_hand\n01234,1\0\n", "NUL"),
    ],
)
def test_a_file_that_cannot_be_read_stops_the_import(
    store: Store, source: Path, file: str, content: bytes, said: str
) -> None:
    """One line that names the file and what is wrong; nothing is loaded."""
    (source / file).write_bytes(content)
    before = everything(store)
    with pytest.raises(ErpError) as refused:
        load_folder(store, source)
    assert refused.value.code == "import_source_invalid"
    assert refused.value.message.startswith(file)
    assert said in refused.value.message
    assert everything(store) == before


def test_files_that_are_needed_are_named(store: Store, source: Path, tmp_path: Path) -> None:
    """Products and customers always, orders and their lines together; a folder that is not there."""
    (source / "order_lines.csv").unlink()
    (source / "customers.csv").unlink()
    with pytest.raises(ErpError, match=r"no customers\.csv and no order_lines\.csv") as refused:
        load_folder(store, source)
    assert refused.value.code == "source_missing"
    for place in (None, tmp_path / "nowhere"):
        with pytest.raises(ErpError) as refused:
            load_folder(store, place)
        assert "--data csv --from" in refused.value.hint


def test_products_and_customers_alone_are_enough(store: Store, source: Path) -> None:
    """The report says which files are not there, and which columns are not known; gzipped files are read."""
    for file in ("stock.csv", "tiers.csv", "orders.csv", "order_lines.csv"):
        (source / file).unlink()
    spoil(source, "customers.csv", "id,name", "id,name,colour")
    spoil(source, "customers.csv", "K1,Käse GmbH", "K1,Käse GmbH,red")
    spoil(source, "customers.csv", "K2,Zwei", "K2,Zwei,")
    (source / "products.csv.gz").write_bytes(gzip.compress((source / "products.csv").read_bytes()))
    (source / "products.csv").unlink()
    report = load_folder(store, source)
    assert (report.taken["products"], report.taken["customers"]) == (3, 2)
    assert [note for note in report.notes if "colour" in note]
    assert sum(note.startswith("There is no ") for note in report.notes) == 4


def test_odd_line_ends_and_spaces_do_not_matter(store: Store, source: Path) -> None:
    """A byte order mark, CRLF, spaces around names, a line separator inside a quoted name."""
    text = 'sku , name,unit_price\r\n A ,"Big\u2028one",1\r\nB,Two,2\r\n'
    (source / "products.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    for file in ("stock.csv", "tiers.csv", "orders.csv", "order_lines.csv"):
        (source / file).unlink()
    report = load_folder(store, source)
    assert [(note.file, note.row) for note in report.mended] == [("products.csv", 2)]
    with store.read() as tx:
        assert tx.connection.scalars(sa.select(products.c.sku).order_by("sku")).all() == ["A", "B"]


def test_the_documented_columns_are_those_that_are_read() -> None:
    """Each file's table in CSV_FORMAT.md names exactly the columns that the importer knows."""
    text = (Path(format_module.__file__).parent / "CSV_FORMAT.md").read_text("utf-8")
    sections = dict(re.findall(r"^## (\S+\.csv)\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE))
    assert sections.keys() == REQUIRED.keys()
    for file, section in sections.items():
        rows = re.findall(r"^\| ([a-z][a-z0-9_, ]*) \| (\S*)", section, re.MULTILINE)
        named = {name.strip(): kind for names, kind in rows if names != "column" for name in names.split(",")}
        assert set(named) == {*REQUIRED[file], *OPTIONAL[file]}
        assert {name for name, kind in named.items() if kind == "needed"} == set(REQUIRED[file])
