"""``init`` with data that does not come along: what was taken, mended and refused is said, on the screen and by row."""

import csv
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli
from tests.shared_data import data_folder


@pytest.fixture
def own_files(tmp_path: Path) -> Path:
    """Somebody's own data: one product too many, one order too large."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "products.csv").write_text("sku,name,unit_price\nA, Apples,1.00\n B,Bread,2.00\nB,Bread again,2.00\n")
    (folder / "customers.csv").write_text("id,name\nK1,Kay\n")
    (folder / "stock.csv").write_text("sku,on_hand\nA,1\n")
    (folder / "orders.csv").write_text("id,customer,date,status\n1,K1,2026-11-30,confirmed\n")
    (folder / "order_lines.csv").write_text("order,sku,quantity,unit_price\n1,A,2,1.00\n")
    return folder


def test_ones_own_data_is_loaded_with_what_was_refused(empty_home: Path, own_files: Path, cli: Cli) -> None:
    """The screen names the rows; what is left out is said; the next command is one that works."""
    done = cli("init", "--data", "csv", "--from", str(own_files))
    assert done.code == 0
    assert "1 customers, 2 products" in done.out
    for said in ("products.csv row 4", "orders.csv row 2", "There is no tiers.csv", "products.csv row 3"):
        assert said in done.out
    assert cli("call", "get_order", "--args", '{"order_id": "1"}').code != 0
    assert cli("call", "get_stock", "--args", '{"sku": "A"}').code == 0


def test_the_row_report_holds_every_row(empty_home: Path, own_files: Path, tmp_path: Path, cli: Cli) -> None:
    """As CSV, with the same words as ``--json``."""
    report = tmp_path / "rows.csv"
    done = cli("init", "--data", "csv", "--from", str(own_files), "--report", str(report), "--json")
    with report.open(newline="") as text:
        rows = list(csv.DictReader(text))
    assert [(row["action"], row["file"], row["row"]) for row in rows] == [
        ("mended", "products.csv", "3"), ("refused", "products.csv", "4"), ("refused", "orders.csv", "2"),
    ]  # fmt: skip
    assert {row["what"] for row in rows} == {
        note["what"] for kind in ("mended", "refused") for note in done.json()[kind]
    }


def test_a_failed_import_leaves_no_database_and_no_report(
    empty_home: Path, own_files: Path, tmp_path: Path, cli: Cli
) -> None:
    """One line says what is wrong with which file; once it is right, the same command works."""
    lines = own_files / "order_lines.csv"
    good = lines.read_bytes()
    lines.write_bytes(good + b"1,A,\xff,1\n")
    report = tmp_path / "rows.csv"
    done = cli("init", "--data", "csv", "--from", str(own_files), "--report", str(report))
    assert (done.code, done.err.count("\n")) == (1, 2)
    assert "order_lines.csv" in done.err
    assert "UTF-8" in done.err
    assert not report.exists()
    assert not (empty_home / "erp.db").exists()
    lines.write_bytes(good)
    assert cli("init", "--data", "csv", "--from", str(own_files)).code == 0


@pytest.mark.parametrize("data", ["tau2", "online-retail", "dummyjson", "csv"])
def test_data_that_does_not_come_along_needs_a_place(empty_home: Path, tmp_path: Path, cli: Cli, data: str) -> None:
    """Without one, with one that is not there, with one in which nothing is: a usage error that says what to give."""
    for words in ((), ("--from", str(tmp_path / "nowhere")), ("--from", str(tmp_path))):
        done = cli("init", "--data", data, *words)
        assert done.code == 2
        assert done.err.startswith("error: ")
        assert not (empty_home / "erp.db").exists()


def test_a_report_that_cannot_be_written_stops_before_anything_is_made(
    empty_home: Path, own_files: Path, tmp_path: Path, cli: Cli
) -> None:
    """Its place is named."""
    done = cli("init", "--data", "csv", "--from", str(own_files), "--report", str(tmp_path / "none" / "rows.csv"))
    assert done.code == 1
    assert "rows.csv" in done.err
    assert not (empty_home / "erp.db").exists()


def test_tau2_is_loaded_and_its_next_command_works(empty_home: Path, cli: Cli) -> None:
    """The order that init suggests is open: asking to cancel it waits for approval."""
    done = cli("init", "--data", "tau2", "--from", str(data_folder("tau2_retail")))
    assert done.code == 0
    assert "1000 orders" in done.out
    assert "Chosen:" in done.out
    request = done.out.rsplit('ask "', 1)[1].split('"')[0]
    assert cli("ask", request).code == 3
