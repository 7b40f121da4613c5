"""DummyJSON's carts as orders: money against somebody else's figures, to the cent."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from erp_mcp.domain.money import money_string
from erp_mcp.importers.dummyjson import load_dummyjson
from erp_mcp.queries.orders import order_detail
from erp_mcp.queries.stock import product_stock
from erp_mcp.store.engine import Store
from erp_mcp.store.invariants import check_invariants
from erp_mcp.store.tables import order_lines, orders
from tests.integration.small_erp import everything
from tests.shared_data import data_folder


@pytest.fixture
def folder() -> Path:
    return data_folder("dummyjson")


@pytest.fixture
def loaded(store: Store, folder: Path) -> Store:
    report = load_dummyjson(store, folder)
    assert report.taken == {"customers": 208, "products": 194, "orders": 208, "order_lines": 800}
    assert report.refused == []
    return store


def carts(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "carts.json").read_text(), parse_float=Decimal)
    return found


def test_every_line_and_cart_has_the_source_s_discounted_total_to_the_cent(loaded: Store, folder: Path) -> None:
    """All 800 lines and 208 carts, the 74 lines with binary artefacts included."""
    with loaded.read() as tx:
        totals = {row.source_id: row for row in tx.connection.execute(sa.select(orders))}
        ids = {row.id: row.source_id for row in totals.values()}
        lines = {
            (ids[row.order_id], row.line_no): money_string(row.amount_minor, "USD")
            for row in tx.connection.execute(sa.select(order_lines))
        }
        assert check_invariants(tx) == []
    source = carts(folder)
    assert lines == {
        (str(cart["id"]), n): f"{line['discountedTotal']:.2f}"
        for cart in source
        for n, line in enumerate(cart["products"], start=1)
    }
    assert len(lines) == 800
    assert {number: money_string(row.total_minor, "USD") for number, row in totals.items()} == {
        str(cart["id"]): f"{cart['discountedTotal']:.2f}" for cart in source
    }


def test_carts_are_completed_orders_of_their_users(loaded: Store) -> None:
    """They keep the discount of each line, and do not touch what is in stock."""
    with loaded.read() as tx:
        order = order_detail(tx, "1")
        assert (order.status, order.customer_name, order.placed_at[:10]) == ("completed", "Emily Johnson", "2024-01-01")
        assert (order.lines[0]["quantity"], order.lines[0]["discount_percent"]) == ("4", "12.13")
        assert product_stock(tx, "BEA-ESS-ESS-001", None).available == "99"


def test_loading_twice_changes_nothing(loaded: Store, folder: Path) -> None:
    """Carts, users and products are found again."""
    before = everything(loaded)
    assert set(load_dummyjson(loaded, folder).taken.values()) == {0}
    assert everything(loaded) == before
