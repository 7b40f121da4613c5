"""Sales summaries against sums made from the CSV files with pandas, to the cent."""

from decimal import Decimal

import pandas as pd
import pytest
import sqlalchemy as sa

from erp_mcp.store.tables import customers, orders, products
from tests.integration.northwind_client import Shop, northwind_lines, shop

__all__ = ["shop"]

COLUMNS = {"product": "sku", "category": "CategoryName", "customer": "CustomerID", "country": "Country"}


def summed(lines: pd.DataFrame, group_by: str) -> dict[str, Decimal]:
    """Amount per group, as pandas adds it up."""
    keys = lines["day"].str[:7] if group_by == "month" else lines[COLUMNS[group_by]]
    return {str(key): amount for key, amount in lines.groupby(keys)["amount"].sum().items()}


@pytest.mark.parametrize("period", [(None, None), ("1997-01-20", "1997-12-31"), ("1998-05-06", None)])
async def test_every_grouping_equals_the_source(shop: Shop, period: tuple[str | None, str | None]) -> None:
    """Product, category, customer, country, month: each group's amount, and one total that they add up to."""
    lines = northwind_lines()
    days = {name: day for name, day in zip(("date_from", "date_to"), period, strict=True) if day}
    lines = lines[(lines["day"] >= days.get("date_from", "")) & (lines["day"] <= days.get("date_to", "9999"))]
    total = {"currency": "USD", "orders": lines["OrderID"].nunique(), "amount": str(lines["amount"].sum())}
    for group_by in (*COLUMNS, "month"):
        found = await shop.call("sales_summary", group_by=group_by, limit=100, **days)
        wanted = summed(lines, group_by)
        assert {item["key"]: Decimal(item["amount"]) for item in found["items"]} == wanted
        assert found["returned"] == found["total"] == len(wanted)
        assert found["totals"] == [total]
        assert "cancelled ones do not count" in found["valid_orders"]
        assert {name: found.get(name) for name in ("date_from", "date_to")} == {
            name: days.get(name) for name in ("date_from", "date_to")
        }


async def test_the_largest_come_first_and_months_latest_first(shop: Shop) -> None:
    """What is cut off is the least, is counted, and is in the total all the same."""
    lines = northwind_lines()
    wanted = sorted(summed(lines, "product").items(), key=lambda item: (-item[1], item[0]))
    found = await shop.call("sales_summary", group_by="product", limit=5)
    assert [(i["key"], Decimal(i["amount"])) for i in found["items"]] == wanted[:5]
    assert (found["returned"], found["total"]) == (5, 77)
    assert "5 of 77 groups are shown" in found["note"]
    assert found["totals"][0]["amount"] == str(lines["amount"].sum())
    assert found["items"][0]["name"] == "Côte de Blaye"
    assert int(found["items"][0]["quantity"]) == lines[lines["sku"] == "NW-038"]["units"].sum()
    months = await shop.call("sales_summary", group_by="month", limit=2)
    assert [item["key"] for item in months["items"]] == ["1998-05", "1998-04"]
    assert months["items"][0]["orders"] == lines[lines["day"].str[:7] == "1998-05"]["OrderID"].nunique()


async def test_each_currency_has_its_own_rows_and_total(shop: Shop) -> None:
    """A few orders in another currency are neither added to the others nor cut off by them."""
    with shop.store.write() as tx:
        tx.connection.execute(sa.update(orders).where(orders.c.customer_id == "ALFKI").values(currency="EUR"))
    for group_by in ("product", "category", "customer", "country", "month"):
        found = await shop.call("sales_summary", group_by=group_by, limit=1)
        assert [item["currency"] for item in found["items"]] == ["EUR", "USD"]
        assert [(t["currency"], t["orders"]) for t in found["totals"]] == [("EUR", 6), ("USD", 824)]


async def test_what_has_no_country_or_category_is_a_group_and_not_lost(shop: Shop) -> None:
    """Its key is empty, the note says what that means, and the groups still add up to the total."""
    with shop.store.write() as tx:
        tx.connection.execute(sa.update(customers).where(customers.c.id == "QUICK").values(country=""))
        tx.connection.execute(sa.update(products).where(products.c.sku == "NW-038").values(category=""))
    for group_by in ("country", "category"):
        found = await shop.call("sales_summary", group_by=group_by, limit=100)
        assert "" in {item["key"] for item in found["items"]}
        assert f"An empty key stands for what has no {group_by}." in found["note"]
        amount = sum(Decimal(item["amount"]) for item in found["items"])
        assert str(amount) == found["totals"][0]["amount"]


async def test_nothing_sold_is_an_empty_answer_and_not_an_error(shop: Shop) -> None:
    """No group, no total, and a note; a grouping that does not exist is refused with those that do."""
    found = await shop.call("sales_summary", group_by="month", date_from="2020-01-01")
    assert (found["items"], found["total"], found["totals"]) == ([], 0, [])
    assert found["note"] == "No valid order lies in this period."
    error = await shop.refusal("sales_summary", group_by="week")
    assert error["code"] == "invalid_argument"
    assert "'product', 'category', 'customer', 'country' or 'month'" in error["message"]
