"""tau2's retail shop: what it says is kept, what it lacks is chosen and said, and nothing is loaded by halves."""

import json
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
import sqlalchemy as sa

from erp_mcp.domain.money import money_string
from erp_mcp.errors import ErpError
from erp_mcp.importers.tau2 import load_tau2
from erp_mcp.queries.lookup import find_customer, find_order, find_product
from erp_mcp.queries.orders import order_detail
from erp_mcp.queries.shipping import shipping
from erp_mcp.store.engine import Store
from erp_mcp.store.invariants import check_invariants
from erp_mcp.store.tables import orders, stock
from tests.integration.small_erp import everything
from tests.shared_data import data_folder

STATUS: Final = {"pending": "confirmed", "processed": "shipped", "delivered": "completed", "cancelled": "cancelled"}


@pytest.fixture
def folder() -> Path:
    return data_folder("tau2_retail")


@pytest.fixture
def shop(folder: Path) -> dict[str, Any]:
    """The source as it is, its prices as decimals."""
    content: dict[str, Any] = json.loads((folder / "db.json").read_text(), parse_float=Decimal)
    return content


@pytest.fixture
def loaded(store: Store, folder: Path) -> Store:
    report = load_tau2(store, folder)
    assert report.taken == {"customers": 500, "products": 591, "orders": 1000, "order_lines": 2971}
    assert (report.mended, report.refused) == ([], [])
    return store


def test_every_order_has_its_source_s_status_customer_and_total(loaded: Store, shop: dict[str, Any]) -> None:
    """All 1,000 orders; what was paid for them in the source is what they come to here."""
    with loaded.read() as tx:
        found = {row.source_id: row for row in tx.connection.execute(sa.select(orders))}
        assert check_invariants(tx) == []
    wanted = {
        number: (order["user_id"], STATUS[order["status"]], sum(item["price"] for item in order["items"]))
        for number, order in shop["orders"].items()
    }
    assert {
        number: (row.customer_id, row.status, Decimal(money_string(row.total_minor, row.currency)))
        for number, row in found.items()
    } == wanted
    assert {row.currency for row in found.values()} == {"USD"}


def test_orders_have_a_day_each_in_the_order_of_the_file(loaded: Store, shop: dict[str, Any]) -> None:
    """From 2024-01-01 on; the number keeps the source's digits, and its own spelling finds it."""
    with loaded.read() as tx:
        days = {row.source_id: row.business_date for row in tx.connection.execute(sa.select(orders))}
        first = date(2024, 1, 1)
        assert days == {number: str(first + timedelta(days=n)) for n, number in enumerate(shop["orders"])}
        order = find_order(tx, "#W2378156")
        assert order.id == f"SO{days['#W2378156'].replace('-', '')}-2378156"
        assert find_order(tx, "#w2378156").id == find_order(tx, order.id).id == order.id


def test_stock_is_a_hundred_where_available_and_none_where_not(loaded: Store, shop: dict[str, Any]) -> None:
    """What open orders reserve lies there on top of that, so cancelling one returns real stock."""
    reserved = Counter(
        item["item_id"] for order in shop["orders"].values() if order["status"] == "pending" for item in order["items"]
    )
    wanted = {
        sku: ((100 if variant["available"] else 0) * 1000, reserved[sku] * 1000)
        for product in shop["products"].values()
        for sku, variant in product["variants"].items()
    }
    with loaded.read() as tx:
        found = {
            row.sku: (row.on_hand_milli - row.reserved_milli, row.reserved_milli)
            for row in tx.connection.execute(sa.select(stock))
        }
    assert found == wanted


def test_names_carry_options_and_repeated_items_are_one_line(loaded: Store) -> None:
    """A SKU is the variant's item_id; the same item twice is one line of two."""
    with loaded.read() as tx:
        product = find_product(tx, "9612497925")
        assert product.name == "T-Shirt (color: blue, size: M, material: cotton, style: crew neck)"
        assert (product.category, product.unit_price_minor) == ("T-Shirt", 5088)
        lines = {line["sku"]: line["quantity"] for line in order_detail(tx, "#W1840144").lines}
        assert lines["8590708195"] == "2"


def test_customers_and_parcels_keep_their_addresses_and_numbers(loaded: Store) -> None:
    """Found by user_id; several people of one name are not mixed up."""
    with loaded.read() as tx:
        customer = find_customer(tx, "noah_brown_6181")
        assert (customer.name, customer.email) == ("Noah Brown", "noah.brown7922@example.com")
        assert customer.address == {
            "line1": "986 Sunset Drive", "line2": "Suite 259", "city": "Denver", "region": "CO",
            "postal_code": "80279", "country": "USA",
        }  # fmt: skip
        with pytest.raises(ErpError, match="Ava Nguyen") as refused:
            find_customer(tx, "Ava Nguyen")
        assert refused.value.code == "ambiguous"
        assert shipping(tx, "#W2611340").tracking_number == "357962501027"


def test_loading_twice_changes_nothing(loaded: Store, folder: Path) -> None:
    """From the file itself or from its folder."""
    before = everything(loaded)
    report = load_tau2(loaded, folder / "db.json")
    assert report.unchanged == {"customers": 500, "products": 591, "orders": 1000}
    assert everything(loaded) == before


def test_what_was_chosen_is_said(store: Store, folder: Path) -> None:
    """Quantities, stock, dates and states are not in the source: the report says what they are here."""
    said = " ".join(load_tau2(store, folder).notes)
    for word in ("Quantities", "Stock", "Dates", "Pending", "currency", "Left out"):
        assert word in said


def test_an_order_of_nobody_is_refused_and_the_others_keep_their_days(
    store: Store, shop: dict[str, Any], tmp_path: Path
) -> None:
    """By its place in the file; the others are taken as if it were not there."""
    second = list(shop["orders"].values())[1]
    second["user_id"] = "nobody"
    (tmp_path / "db.json").write_text(json.dumps(shop, default=float))
    report = load_tau2(store, tmp_path)
    assert [(note.row, "nobody" in note.what) for note in report.refused] == [(2, True)]
    with store.read() as tx:
        assert check_invariants(tx) == []
        third = list(shop["orders"])[2]
        assert find_order(tx, third).business_date == "2024-01-03"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "shape"),
        ('{"products": {}, "users": {}, "orders": {"#W1": {}}}', "orders.#W1"),
        ("{", "not JSON"),
        ("\0", "not JSON"),
        (b"\xff\xfe{\0}\0", "UTF-16"),
        (b'{"products": "\xe9"}', "not UTF-8"),
        (b"\x1f\x8bnot really gzip", "cannot be read"),
    ],
)
def test_a_source_that_cannot_be_read_is_one_clear_line(
    store: Store, tmp_path: Path, text: str | bytes, said: str
) -> None:
    """Nothing is loaded, and the line names the file and what is wrong."""
    (tmp_path / "db.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    before = everything(store)
    with pytest.raises(ErpError) as refused:
        load_tau2(store, tmp_path)
    assert refused.value.code == "import_source_invalid"
    assert "db.json" in refused.value.message
    assert said in refused.value.message
    assert everything(store) == before


def test_it_does_not_come_along(store: Store, tmp_path: Path) -> None:
    """Without a place to read from, or with one where nothing is, the command to give is said."""
    for source in (None, tmp_path, tmp_path / "nowhere.json"):
        with pytest.raises(ErpError) as refused:
            load_tau2(store, source)
        assert refused.value.code == "source_missing"
        assert "--data tau2 --from" in refused.value.hint
