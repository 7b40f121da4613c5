"""Keyed look-ups and first pages find their rows by an index, so that they do not slow down as tables grow."""

from typing import Any, Final

import pytest

from erp_mcp.registry import load_registry
from erp_mcp.store.engine import Store
from tests.bench.read_calls import READ_CALLS, ReadCall
from tests.bench.reads import statements

GROWING: Final = ("orders", "order_lines", "customers", "products", "stock", "stock_moves", "returns", "return_lines")
MAPPED: Final = {
    "85123A": "NW-011", "71053": "NW-016", "17850": "ALFKI", "536365": "10248",
}  # fmt: skip


def in_northwind(value: Any) -> Any:
    """A call's arguments with names that Northwind has."""
    if isinstance(value, dict):
        return {name: in_northwind(part) for name, part in value.items()}
    if isinstance(value, list):
        return [in_northwind(part) for part in value]
    return MAPPED.get(value, value) if isinstance(value, str) else value


def scanned(store: Store, statement: str, parameters: Any) -> list[str]:
    """The growing tables that a statement reads from end to end."""
    with store.read() as tx:
        if tx.connection.dialect.name == "sqlite":
            rows = tx.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
            steps = [str(row.detail) for row in rows]
            return [
                step for step in steps if step.startswith("SCAN") and step.split()[1] in GROWING and "INDEX" not in step
            ]
        # The tables are small here; so an end-to-end read that is left over is one for which there is no index.
        tx.connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        rows = tx.connection.exec_driver_sql(f"EXPLAIN {statement}", parameters).all()
        steps = [str(row[0]) for row in rows]
        return [step for step in steps for table in GROWING if f"Seq Scan on {table}" in step.split("  (cost")[0] + " "]


@pytest.mark.parametrize(
    "call",
    [pytest.param(call, id=call.name) for call in READ_CALLS if call.growth in ("keyed", "first page")],
)
def test_no_growing_table_is_read_from_end_to_end(northwind: Store, call: ReadCall) -> None:
    """Every statement that the call sends."""
    mapped = ReadCall(call.tool, in_northwind(call.arguments), call.growth)
    sent = statements(northwind, load_registry(), mapped)
    assert sent
    assert [step for statement, parameters in sent for step in scanned(northwind, statement, parameters)] == []


def test_a_table_that_is_read_from_end_to_end_is_seen(northwind: Store) -> None:
    """A search looks through all names: the check above would name it."""
    sent = statements(northwind, load_registry(), ReadCall("find_customers", {"query": "markt"}, "search"))
    assert any(scanned(northwind, statement, parameters) for statement, parameters in sent)


@pytest.mark.parametrize("group_by", ["product", "category"])
def test_sales_by_product_do_not_fetch_lines_product_by_product(northwind: Store, group_by: str) -> None:
    """Every line is needed, so they are read in the order in which they lie; in the index's order each is a jump."""
    with northwind.write() as tx:
        tx.connection.exec_driver_sql("ANALYZE")  # SQLite only takes that way where it has statistics
    sent = statements(northwind, load_registry(), ReadCall("sales_summary", {"group_by": group_by}, "aggregate"))
    with northwind.read() as tx:
        explain = "EXPLAIN QUERY PLAN" if tx.connection.dialect.name == "sqlite" else "EXPLAIN"
        steps = [
            str(row[-1]) for one, given in sent for row in tx.connection.exec_driver_sql(f"{explain} {one}", given)
        ]
    assert any("order_lines" in step for step in steps)
    assert [step for step in steps if "ix_order_lines_sku" in step] == []
