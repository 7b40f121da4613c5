"""Finding customers, reading one, and what they bought, against sums made from the CSV files with pandas."""

from decimal import Decimal

import pandas as pd
import pytest
import sqlalchemy as sa

from erp_mcp.domain.lookup import match_key
from erp_mcp.queries.purchases import MAX_PRODUCTS
from erp_mcp.store.tables import customers, order_lines, orders, returns
from tests.integration.northwind_client import Shop, northwind_lines, shop
from tests.integration.small_erp import ask, preview_of

__all__ = ["shop"]


def add_customer(shop: Shop, customer_id: str, name: str, **values: str) -> None:
    """A further customer."""
    keys = {"id_key": match_key(customer_id), "name_key": match_key(name)}
    row = {"id": customer_id, "name": name, "address": {"city": "Town"}, "currency": "USD"} | keys | values
    with shop.store.write() as tx:
        tx.connection.execute(sa.insert(customers).values(row))


def copy_order(shop: Shop, source: str, new: str, **values: object) -> None:
    """The same order again under another number, with something else in it."""
    with shop.store.write() as tx:
        row = tx.connection.execute(sa.select(orders).where(orders.c.id == source)).mappings().one()
        tx.connection.execute(sa.insert(orders).values(dict(row) | {"id": new, "source_key": None} | values))
        for line in tx.connection.execute(sa.select(order_lines).where(order_lines.c.order_id == source)).mappings():
            tx.connection.execute(sa.insert(order_lines).values(dict(line) | {"order_id": new}))


async def test_every_word_of_id_name_contact_or_email_must_fit(shop: Shop) -> None:
    """In any order, width and case, accents included; nobody fits by one word of two."""
    add_customer(shop, "C-1", "Élan Vital", contact="José ÁNGEL", email="Jose@Example.com")
    for query in ("élan", "ÉLAN vital", "ángel josé", "jose@example.COM", "c-1", "ＥＬＡＮ".replace("Ｅ", "É")):
        assert [i["customer_id"] for i in (await shop.call("find_customers", query=query))["items"]] == ["C-1"], query
    found = await shop.call("find_customers", query="maria anders")
    assert [(i["customer_id"], i["contact"], i["city"]) for i in found["items"]] == [
        ("ALFKI", "Maria Anders", "Berlin")
    ]
    nobody = await shop.call("find_customers", query="maria nobody")
    assert (nobody["items"], nobody["total"]) == ([], 0)
    assert (await shop.call("find_customers", query="%"))["total"] == 0


async def test_the_exact_one_comes_first_and_the_rest_is_counted(shop: Shop) -> None:
    """A limit bounds what is shown, never the total; the note says what to do about the rest."""
    add_customer(shop, "AAA", "Aaa likes ALFKI")
    found = await shop.call("find_customers", query="alfki")
    assert [item["customer_id"] for item in found["items"]] == ["ALFKI", "AAA"]
    few = await shop.call("find_customers", query="a", limit=3)
    assert few["returned"] == len(few["items"]) == 3 < few["total"]
    assert "next_cursor" not in few
    assert "add words" in few["note"]


@pytest.mark.guarantee("E12")
async def test_two_of_one_name_are_listed_and_never_chosen_between(shop: Shop) -> None:
    """find_customers shows both and says so; a tool that takes a customer answers ambiguous with the candidates."""
    add_customer(shop, "TWIN1", "The Twins")
    add_customer(shop, "TWIN2", "the twins")
    found = await shop.call("find_customers", query="THE TWINS")
    assert [item["customer_id"] for item in found["items"]] == ["TWIN1", "TWIN2"]
    assert "2 customers have exactly this name" in found["note"]
    for tool in ("get_customer", "get_customer_purchases", "check_balance"):
        error = await shop.refusal(tool, customer="THE TWINS")
        assert (error["code"], error["count"]) == ("ambiguous", 2)
        assert [candidate["customer_id"] for candidate in error["candidates"]] == ["TWIN1", "TWIN2"]
        assert "TWIN" not in str(await shop.call(tool, customer="TWIN1")).replace("TWIN1", "")


async def test_a_customer_as_filed(shop: Shop) -> None:
    """Contact and address, how many orders are open, when the last one was placed; what they owe is not there."""
    found = await shop.call("get_customer", customer="rattlesnake canyon grocery")
    assert (found["customer_id"], found["contact"], found["currency"]) == ("RATTC", "Paula Wilson", "USD")
    assert found["address"]["city"] == "Albuquerque"
    assert (found["open_orders"], found["last_order_at"]) == (1, "1998-05-06T00:00:00+00:00")
    assert "credit_limit" not in found
    add_customer(shop, "NEW", "No Orders Yet")
    new = await shop.call("get_customer", customer="NEW")
    assert new["open_orders"] == 0
    assert not {"last_order_at", "email", "phone", "contact"} & new.keys()


async def test_purchases_are_those_of_the_source(shop: Shop) -> None:
    """For every customer: orders, total, and each product's quantity and amount, as pandas adds them up."""
    lines = northwind_lines()
    for customer, theirs in lines.groupby("CustomerID"):
        found = await shop.call("get_customer_purchases", customer=customer)
        assert found["totals"] == [
            {"currency": "USD", "orders": theirs["OrderID"].nunique(), "amount": str(theirs["amount"].sum())}
        ]
        assert sum_by_product(found["products"]["items"]) == products_of(theirs)
        assert found["products"]["returned"] == found["products"]["total"] == len(found["products"]["items"])
        assert (found["cancelled"], found["refunded"]) == ([], [])
        assert Decimal(found["totals"][0]["amount"]) == sum(Decimal(s["amount"]) for s in found["by_status"])


async def test_purchases_follow_the_days(shop: Shop) -> None:
    """Both days count; the period stands in the answer; a period without orders has no totals."""
    lines = northwind_lines()
    theirs = lines[(lines["CustomerID"] == "SAVEA") & (lines["day"] >= "1997-01-20") & (lines["day"] <= "1997-10-22")]
    found = await shop.call("get_customer_purchases", customer="SAVEA", date_from="1997-01-20", date_to="1997-10-22")
    assert found["totals"][0]["amount"] == str(theirs["amount"].sum())
    assert (found["date_from"], found["date_to"]) == ("1997-01-20", "1997-10-22")
    none = await shop.call("get_customer_purchases", customer="SAVEA", date_to="1990-01-01")
    assert (none["totals"], none["products"]["items"]) == ([], [])
    error = await shop.refusal("get_customer_purchases", customer="SAVEA", date_from="1998-01-02", date_to="1998-01-01")
    assert error["code"] == "invalid_filter"


@pytest.mark.guarantee("E9")
async def test_a_cancelled_order_is_not_spent_and_stands_apart(shop: Shop) -> None:
    """RATTC's open order is cancelled through its approval: the total loses it, and it is shown as cancelled."""
    before = await shop.call("get_customer_purchases", customer="RATTC")
    arguments = {"order_id": "11077", "reason": "mistake"}
    token = shop.host.grant(await preview_of(shop.client, "cancel_order", **arguments))
    await ask(shop.client, "cancel_order", token, **arguments)
    after = await shop.call("get_customer_purchases", customer="RATTC")
    cancelled = Decimal("1255.72")
    assert Decimal(before["totals"][0]["amount"]) - Decimal(after["totals"][0]["amount"]) == cancelled
    assert after["cancelled"] == [{"currency": "USD", "orders": 1, "amount": str(cancelled)}]
    assert "cancelled ones do not count" in after["valid_orders"]
    statuses = [item["status"] for item in after["products"]["items"]]
    assert statuses == sorted(statuses, key=lambda status: status == "cancelled")
    assert statuses.count("cancelled") == 25
    summary = await shop.call("sales_summary", group_by="customer", limit=100)
    assert [g["amount"] for g in summary["items"] if g["key"] == "RATTC"] == [after["totals"][0]["amount"]]


async def test_currencies_are_never_added_up_and_refunds_stand_apart(shop: Shop) -> None:
    """One total per currency; what was paid back is beside it, in its own currency."""
    copy_order(shop, "SO19980506-11077", "SO20260101-0001", currency="JPY", status="completed")
    with shop.store.write() as tx:
        refund = {"id": "R-1", "order_id": "SO20260101-0001", "reason": "x", "refund_minor": 250, "currency": "JPY"}
        tx.connection.execute(sa.insert(returns).values(created_at=tx.now, **refund))
    found = await shop.call("get_customer_purchases", customer="RATTC")
    assert [(t["currency"], t["amount"]) for t in found["totals"]] == [("JPY", "125572"), ("USD", "51097.80")]
    assert found["refunded"] == [{"currency": "JPY", "amount": "250"}]
    sums = {c: Decimal(0) for c in ("JPY", "USD")}
    for item in found["products"]["items"]:
        sums[item["currency"]] += Decimal(item["amount"])
    assert {code: str(amount) for code, amount in sums.items()} == {t["currency"]: t["amount"] for t in found["totals"]}


async def test_a_list_of_products_that_is_cut_short_says_so(shop: Shop) -> None:
    """150 products: 100 are shown, the note and the count say so, and the total covers all of them."""
    add_customer(shop, "MANY", "Buys Everything")
    copy_order(shop, "SO19980506-11077", "SO20260101-0002", customer_id="MANY", total_minor=15000, line_count=150)
    with shop.store.write() as tx:
        line = {"name": "x", "quantity_milli": 1000, "unit_price_minor": 100, "net_unit_price_minor": 100}
        rows = [line | {"order_id": "SO20260101-0002", "line_no": n, "sku": f"S{n:03}"} for n in range(150)]
        tx.connection.execute(sa.delete(order_lines).where(order_lines.c.order_id == "SO20260101-0002"))
        tx.connection.execute(sa.insert(order_lines), [row | {"amount_minor": 100} for row in rows])
    found = await shop.call("get_customer_purchases", customer="MANY")
    products = found["products"]
    assert (products["returned"], len(products["items"]), products["total"]) == (MAX_PRODUCTS, MAX_PRODUCTS, 150)
    assert products["note"].startswith("Only the first 100 of 150 rows")
    assert found["totals"] == [{"currency": "USD", "orders": 1, "amount": "150.00"}]


def products_of(lines: pd.DataFrame) -> dict[str, tuple[int, Decimal, int]]:
    """Units, amount and number of orders per SKU."""
    grouped = lines.groupby("sku").agg(
        units=("units", "sum"), amount=("amount", "sum"), orders=("OrderID", pd.Series.nunique)
    )
    return {str(row.Index): (int(row.units), row.amount, int(row.orders)) for row in grouped.itertuples()}


def sum_by_product(items: list[dict[str, str]]) -> dict[str, tuple[int, Decimal, int]]:
    """The same from an answer's rows, statuses added up."""
    sums: dict[str, tuple[int, Decimal, int]] = {}
    for item in items:
        units, amount, count = sums.get(item["sku"], (0, Decimal(0), 0))
        sums[item["sku"]] = units + int(item["quantity"]), amount + Decimal(item["amount"]), count + int(item["orders"])
    return sums
