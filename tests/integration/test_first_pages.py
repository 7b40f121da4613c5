"""First pages and keyed look-ups read their rows through an index, and totals count nothing that they need not."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa

from erp_mcp.importers.northwind import load_northwind
from erp_mcp.queries.customers import customer_detail
from erp_mcp.queries.low_stock import low_stock_page
from erp_mcp.queries.orders import OrderFilter, order_detail, order_page
from erp_mcp.queries.products import product_detail
from erp_mcp.queries.purchases import customer_purchases
from erp_mcp.queries.shipping import shipping
from erp_mcp.queries.stock import product_stock
from erp_mcp.queries.stock_history import stock_history_page
from erp_mcp.store.engine import Store, create_database, open_store
from erp_mcp.store.invariants import check_invariants
from erp_mcp.store.tables import orders
from erp_mcp.store.transaction import Tx
from tests.statements import sent_statements

SMALL: Final = frozenset({"warehouses", "order_counts"})
"""Tables that do not grow with the business: one row per warehouse, and per day and status."""


def first(wanted: OrderFilter) -> Callable[[Tx], object]:
    return lambda tx: order_page(tx, wanted, detail=False, limit=20, cursor=None)


READS: Final[dict[str, Callable[[Tx], object]]] = {
    "an order by number": lambda tx: order_detail(tx, "SO19980506-11074"),
    "an order by its imported number": lambda tx: order_detail(tx, "11074"),
    "shipping": lambda tx: shipping(tx, "11074"),
    "a product": lambda tx: product_detail(tx, "nw-011"),
    "stock": lambda tx: product_stock(tx, "NW-011", None),
    "a customer by id": lambda tx: customer_detail(tx, "ALFKI"),
    "a customer by name": lambda tx: customer_detail(tx, "alfreds futterkiste"),
    "purchases": lambda tx: customer_purchases(tx, "ALFKI", None, None),
    "orders": first(OrderFilter()),
    "orders of a status": first(OrderFilter(status="confirmed")),
    "orders of a customer": first(OrderFilter(customer="ALFKI")),
    "low stock": lambda tx: low_stock_page(tx, None, limit=20, cursor=None),
    "low stock of a warehouse": lambda tx: low_stock_page(tx, "MAIN", limit=20, cursor=None),
    "a stock history": lambda tx: stock_history_page(tx, "NW-011", None, None, limit=20, cursor=None),
    "a warehouse's stock history": lambda tx: stock_history_page(tx, "NW-011", "MAIN", None, limit=20, cursor=None),
}


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Store]:
    """Northwind on SQLite, whose planner chooses by rules and not by how few rows a test has."""
    url = f"sqlite:///{tmp_path / 'erp.db'}"
    create_database(url)
    store = open_store(url)
    load_northwind(store)
    yield store
    store.close()


@pytest.mark.parametrize("name", READS)
def test_no_growing_table_is_read_from_end_to_end(filled: Store, name: str) -> None:
    """EXPLAIN of the very statements that a read sends: each step searches, or walks an index up to the limit."""
    with filled.read() as tx:
        with sent_statements() as sent:
            READS[name](tx)
        for statement, parameters in list(sent):
            plan = tx.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
            for step in (row.detail for row in plan):
                scanned = step.removeprefix("SCAN ").split()[0] if step.startswith("SCAN ") else ""
                stops = "USING INDEX" in step and "LIMIT" in statement
                own = (
                    scanned.startswith("(") or "ix_stock_low" in step
                )  # rows that were found already, or low ones only
                assert not scanned or scanned in SMALL or stops or own, (step, statement)


def test_a_total_is_exact_after_every_change(store: Store) -> None:
    """Orders are counted by triggers: inserted, moved on or to another day, deleted, many at once, rolled back."""
    load_northwind(store)
    assert totals(store) == (830, 21)
    with store.write() as tx:
        tx.connection.execute(sa.update(orders).where(orders.c.status == "confirmed").values(status="cancelled"))
        tx.connection.execute(sa.update(orders).values(business_date="1999-01-01", note="moved"))
        assert not any("counted" in problem for problem in check_invariants(tx))
    assert totals(store) == (830, 0)
    with store.dry_run() as tx:
        tx.connection.execute(sa.update(orders).values(status="confirmed"))
        assert order_page(tx, OrderFilter(status="confirmed"), detail=False, limit=1, cursor=None).total == 830
    assert totals(store) == (830, 0)
    with store.write() as tx:
        row = tx.connection.execute(sa.select(orders).limit(1)).mappings().one()
        copies = [dict(row) | {"id": f"copy-{n}", "source_key": None} for n in range(500)]
        tx.connection.execute(sa.insert(orders), copies)
        tx.connection.execute(sa.delete(orders).where(orders.c.id.in_([f"copy-{n}" for n in range(100)])))
        assert not any("counted" in problem for problem in check_invariants(tx))
    assert totals(store)[0] == 830 + 400


def totals(store: Store) -> tuple[int, int]:
    """The totals of all orders and of the confirmed ones, as the list says them; both are also really counted."""
    with store.read() as tx:
        everything, confirmed = [
            order_page(tx, wanted, detail=False, limit=1, cursor=None).total
            for wanted in (OrderFilter(), OrderFilter(status="confirmed"))
        ]
        counted = tx.connection.scalar(sa.select(sa.func.count()).select_from(orders))
        assert everything == counted
    return everything, confirmed
