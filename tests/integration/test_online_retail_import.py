"""Online Retail: half a million dirty lines, taken by stated rules, equal to what pandas makes of the same rules."""

import gzip
from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Final

import pandas as pd
import pytest
import sqlalchemy as sa

from erp_mcp.errors import ErpError
from erp_mcp.importers.online_retail import load_online_retail
from erp_mcp.importers.report import ImportReport, RowNote
from erp_mcp.queries.lookup import find_customer, find_order, find_product
from erp_mcp.queries.orders import order_detail
from erp_mcp.queries.purchases import customer_purchases
from erp_mcp.queries.sales import sales
from erp_mcp.store.engine import Store, create_database, open_store
from erp_mcp.store.invariants import check_invariants
from erp_mcp.store.tables import order_lines, orders, products, returns
from tests.integration.small_erp import everything
from tests.shared_data import data_folder

HEADER: Final = "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country"
Loaded = tuple[Store, ImportReport, list[RowNote]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    """All of it, loaded once: with the report and every refused row."""
    folder = data_folder("online_retail")
    url = f"sqlite:///{tmp_path_factory.mktemp('online_retail') / 'erp.db'}"
    create_database(url)
    store = open_store(url)
    refused: list[RowNote] = []
    report = load_online_retail(
        store, folder, on_row=lambda action, note: refused.append(note) if action == "refused" else None
    )
    yield store, report, refused
    store.close()


@pytest.fixture(scope="module")
def source() -> pd.DataFrame:
    """The file as pandas reads it, with what the stated rules say of each line."""
    folder = data_folder("online_retail")
    frame = pd.read_csv(folder / "online_retail_all_days.csv.gz", dtype=str, keep_default_na=False)
    frame["quantity"] = frame["Quantity"].astype(int)
    price = (frame["UnitPrice"].map(Decimal) * 100).map(lambda pence: pence.to_integral_value("ROUND_HALF_UP"))
    frame["amount"] = price.astype(int) * frame["quantity"]
    frame["price"] = price.astype(int)
    frame["customer"] = frame["CustomerID"].str.removesuffix(".0").replace("", "GUEST")
    frame["month"] = frame["InvoiceDate"].str[:7]
    frame["credit"] = frame["InvoiceNo"].str.startswith("C")
    dearest = frame.groupby("InvoiceNo")["price"].transform("max")
    counted = (frame["customer"] == "GUEST") & (dearest <= 0)
    frame["sold"] = (
        frame["InvoiceNo"].str.isdecimal() & ~counted & (frame["quantity"] > 0) & (frame["price"] >= 0)
    )  # fmt: skip
    return frame


def test_totals_per_customer_and_per_month_are_those_of_pandas(whole: Loaded, source: pd.DataFrame) -> None:
    """Every customer and every month of the year, in pence; and the sales summary says the same."""
    store, _, _ = whole
    sold = source[source["sold"]]
    with store.read() as tx:
        for column, name in (
            (orders.c.customer_id, "customer"),
            (sa.func.substr(orders.c.business_date, 1, 7), "month"),
        ):
            found = {
                row[0]: row[1]
                for row in tx.connection.execute(sa.select(column, sa.func.sum(orders.c.total_minor)).group_by(column))
            }
            assert found == sold.groupby(name)["amount"].sum().to_dict()
        summary = sales(tx, "month", None, None, 100)
        assert check_invariants(tx) == []
    assert {group.key: Decimal(group.amount) * 100 for group in summary.items} == (
        sold.groupby("month")["amount"].sum().to_dict()
    )


def test_every_row_is_taken_or_refused_with_its_reason(whole: Loaded, source: pd.DataFrame) -> None:
    """Nothing is dropped: sales lines are order lines, credit lines are returns or refused, and the rest is refused."""
    _, report, refused = whole
    sold = source["sold"].sum()
    assert (report.taken["order_lines"], report.taken["orders"]) == (
        sold, source[source["sold"]]["InvoiceNo"].nunique(),
    )  # fmt: skip
    refused_rows = [note.row for note in refused]
    assert len(set(refused_rows)) == len(refused_rows)
    by_row = source.set_axis(range(2, len(source) + 2))
    assert set(by_row[~by_row["sold"] & ~by_row["credit"]].index) == set(refused_rows) - set(
        by_row[by_row["credit"]].index
    )
    assert Counter(note.reason for note in refused) == report.refused_rows
    assert all(note.what and note.file for note in refused)


def test_credit_notes_take_back_what_they_credit(whole: Loaded, source: pd.DataFrame) -> None:
    """What came back and what was refused add up to all credit notes; nothing comes back that was not sold."""
    store, report, refused = whole
    credited = source.set_axis(range(2, len(source) + 2))[source["credit"].to_numpy()]
    rows = {note.row: note for note in refused if note.row in credited.index}
    left = {
        row: int(note.what.split(": ", 1)[1].split(" of ")[0]) for row, note in rows.items()
    }  # how many of the row's units were refused
    with store.read() as tx:
        returned = int(tx.connection.scalar(sa.select(sa.func.sum(order_lines.c.returned_milli))) or 0)
        refunded = int(tx.connection.scalar(sa.select(sa.func.sum(returns.c.refund_minor))) or 0)
        order = order_detail(tx, "536365")
    assert returned // 1000 == -credited["quantity"].sum() - sum(left.values())
    assert refunded == -credited["amount"].sum() - sum(n * credited.at[row, "price"] for row, n in left.items())
    assert report.taken["returns"] > 3000
    assert order.status == "completed"


def test_codes_that_differ_only_by_case_are_all_there(whole: Loaded, source: pd.DataFrame) -> None:
    """E14: 112 of them; each of the 4,070 codes finds its own product."""
    store, _, _ = whole
    codes = sorted(source["StockCode"].unique())
    folded: dict[str, list[str]] = defaultdict(list)
    for code in codes:
        folded[code.lower()].append(code)
    assert (len(codes), sum(len(same) - 1 for same in folded.values())) == (4070, 112)
    with store.read() as tx:
        assert sorted(tx.connection.scalars(sa.select(products.c.sku))) == codes
        for same in folded.values():
            if len(same) > 1:
                assert [find_product(tx, code).sku for code in same] == same


def test_guests_have_one_customer_and_fees_are_lines(whole: Loaded) -> None:
    """No customer is GUEST; the report says how many; postage and fees are sold like products."""
    store, report, _ = whole
    assert report.mended_rows["no customer: booked on GUEST"] == 1427
    with store.read() as tx:
        assert find_customer(tx, "Customer 17850").country == "United Kingdom"
        assert find_order(tx, "536544").customer_id == "GUEST"
        assert customer_purchases(tx, "17850", None, None).customer_id == "17850"
        assert find_product(tx, "POST").name == "POSTAGE"


def excerpt(folder: Path, *lines: str) -> Path:
    path = folder / "online_retail_all_days.csv.gz"
    path.write_bytes(gzip.compress("\n".join([HEADER, *lines, ""]).encode(), mtime=0))
    return path


def test_a_beginning_of_the_file_loads_on_both_databases_and_twice_changes_nothing(
    store: Store, tmp_path: Path
) -> None:
    """20,000 rows, plain instead of gzipped."""
    with gzip.open(data_folder("online_retail") / "online_retail_all_days.csv.gz", "rt", newline="") as text:
        lines = [line for line, _ in zip(text, range(20_000), strict=False)]
    (tmp_path / "begin.csv").write_text("".join(lines), newline="")
    report = load_online_retail(store, tmp_path / "begin.csv")
    assert report.taken["order_lines"] > 19_000
    before = everything(store)
    again = load_online_retail(store, tmp_path / "begin.csv")
    assert set(again.taken.values()) == {0}
    assert everything(store) == before
    with store.read() as tx:
        assert check_invariants(tx) == []


def test_a_credit_note_takes_back_the_latest_earlier_lines_of_its_customer(store: Store, tmp_path: Path) -> None:
    """Of the same code and price; over several orders where one is not enough; the rest is refused."""
    excerpt(
        tmp_path,
        "1,A,apple,5,2011-01-01 10:00:00,2.00,11.0,France",
        "2,A,apple,3,2011-01-02 10:00:00,2.00,11.0,France",
        "3,A,apple,9,2011-01-03 10:00:00,2.10,11.0,France",
        "4,A,apple,9,2011-01-04 10:00:00,2.00,12.0,France",
        "C5,A,apple,-10,2011-01-05 10:00:00,2.00,11.0,France",
        "6,A,apple,9,2011-01-06 10:00:00,2.00,11.0,France",
    )
    report = load_online_retail(store, tmp_path)
    with store.read() as tx:
        lines = sa.select(orders.c.source_id, order_lines.c.returned_milli).join(orders)
        found = {row.source_id: row.returned_milli for row in tx.connection.execute(lines)}
        refunds = sa.select(returns.c.refund_minor).order_by(returns.c.id)
        assert tx.connection.scalars(refunds).all() == [600, 1000]
    assert found == {"1": 5000, "2": 3000, "3": 0, "4": 0, "6": 0}
    assert [note.what for note in report.refused] == ["C5: 2 of 10 of A at 2.00 to 11"]


def test_rows_that_cannot_be_read_are_refused_one_by_one(store: Store, tmp_path: Path) -> None:
    """Each with what is wrong in it; the good line of the same invoice is taken."""
    excerpt(
        tmp_path,
        "1,A,apple,5,2011-01-01 10:00:00,2.00,11.0,France",
        "1,A,apple,five,2011-01-01 10:00:00,2.00,11.0,France",
        "1,A,apple,5,2011-01-01 10:00:00,1e400,11.0,France",
        "1,A,apple,5,2011-01-01 10:00:00,NaN,11.0,France",
        "1,,apple,5,2011-01-01 10:00:00,2.00,11.0,France",
        "1,A,apple,5,2011-01-01 10:00:00,2.00,12.0,France",
        "2,A,apple,5,yesterday,2.00,11.0,France",
        ",A,apple,5,2011-01-01 10:00:00,2.00,11.0,France",
        "3,A,apple,99999999999999,2011-01-01 10:00:00,2.00,11.0,France",
        "4,A,apple,900000000,2011-01-01 10:00:00,9000000000.00,11.0,France",
    )
    report = load_online_retail(store, tmp_path)
    assert [note.row for note in report.refused] == [3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert report.taken["order_lines"] == 1
    for note, said in zip(
        report.refused,
        ("five", "1e400", "NaN", "StockCode", "12", "yesterday", "InvoiceNo", "large", "more"),
        strict=True,
    ):
        assert said in note.what


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"InvoiceNo,StockCode\n1,A\n", "no column Description"),
        ((HEADER + "\n1,A,caf\xe9,1,2011-01-01,1,1,UK\n").encode("latin-1"), "0xe9 is not UTF-8"),
        ((HEADER + "\n1,A\n").encode(), "row 2"),
        ((HEADER + "\n1,A,a\0b,1,2011-01-01,1,1,UK\n").encode(), "NUL"),
        (gzip.compress((HEADER + "\n" + "1,A,b,1,2011-01-01,1,1,UK\n" * 9).encode(), mtime=0)[:-20], "cannot be read"),
        (b"", "no column"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_clear_line(store: Store, tmp_path: Path, content: bytes, said: str) -> None:
    """Wrong columns, another encoding, a cut row, a cut archive: nothing is loaded."""
    (tmp_path / "lines.csv").write_bytes(content)
    before = everything(store)
    with pytest.raises(ErpError) as refused:
        load_online_retail(store, tmp_path / "lines.csv")
    assert refused.value.code == "import_source_invalid"
    assert "lines.csv" in refused.value.message
    assert said in refused.value.message
    assert everything(store) == before


def test_progress_ends_where_the_work_ends(store: Store, tmp_path: Path) -> None:
    """Reading and loading each tell that they are through; how far they are never exceeds how much there is."""
    excerpt(tmp_path, "1,A,apple,5,2011-01-01 10:00:00,2.00,11.0,France")
    told: dict[str, tuple[int, int]] = {}

    def tell(what: str, done: int, of: int) -> None:
        assert 0 <= done <= of
        told[what] = (done, of)

    load_online_retail(store, tmp_path, tell)
    assert len(told) == 2
    assert all(done == of for done, of in told.values())


def test_more_returns_for_an_order_that_is_there_are_refused(store: Store, tmp_path: Path) -> None:
    """What is loaded stays as it is; the credit note that came later is named."""
    sale = "1,A,apple,5,2011-01-01 10:00:00,2.00,11.0,France"
    excerpt(tmp_path, sale)
    load_online_retail(store, tmp_path)
    before = everything(store)
    excerpt(tmp_path, sale, "C2,A,apple,-5,2011-01-02 10:00:00,2.00,11.0,France")
    report = load_online_retail(store, tmp_path)
    assert [note.row for note in report.refused] == [3]
    assert everything(store) == before
