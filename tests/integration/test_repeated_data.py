"""The larger database of the benchmark is the same business several times over, and still adds up."""

from pathlib import Path

import sqlalchemy as sa

from erp_mcp.importers.online_retail import load_online_retail
from erp_mcp.queries.lookup import find_customer, find_order, find_product
from erp_mcp.store.engine import Store
from erp_mcp.store.invariants import check_invariants
from erp_mcp.store.tables import metadata
from tests.bench.repeated import repeat

LINES = """InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country
536365,85123A,apple,5,2011-01-01 10:00:00,2.00,17850.0,France
536366,71053,pear,3,2011-01-02 10:00:00,2.10,,France
C536367,85123A,apple,-2,2011-01-03 10:00:00,2.00,17850.0,France
"""


def test_repeating_multiplies_every_row_and_keeps_the_invariants(store: Store, tmp_path: Path) -> None:
    """Three times everything, under new numbers; the first copy is found as before."""
    (tmp_path / "lines.csv").write_text(LINES)
    load_online_retail(store, tmp_path / "lines.csv")
    names = ("customers", "products", "stock", "orders", "order_lines", "stock_moves", "returns", "return_lines")

    def counts() -> list[int]:
        with store.read() as tx:
            found = [tx.connection.scalar(sa.select(sa.func.count()).select_from(metadata.tables[n])) for n in names]
        return [int(count or 0) for count in found]

    before = counts()
    repeat(store, 3)
    assert counts() == [count * 3 for count in before]
    with store.read() as tx:
        assert check_invariants(tx) == []
        assert find_order(tx, "536365").customer_id == "17850"
        assert find_order(tx, "2536365").customer_id == "17850~2"
        assert (find_product(tx, "85123A~1").name, find_customer(tx, "17850~2").name) == ("apple~1", "Customer 17850~2")
