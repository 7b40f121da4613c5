"""Quotes, comparisons, shipping and balances: what would be asked for, what is shown, and to whom."""

import json

import pytest
import sqlalchemy as sa

from erp_mcp.store.tables import customers, operations, orders, price_tiers, products
from tests.integration.northwind_client import Shop, shop
from tests.integration.small_erp import ask, everything, preview_of

__all__ = ["shop"]


@pytest.mark.guarantee("E7")
async def test_tiers_are_inclusive_and_the_deepest_wins(shop: Shop) -> None:
    """Tiers 1:10, 10:9, 50:8 at 9, 10, 49, 50 and 100 units: 10, 9, 9, 8, 8."""
    prices = [
        {"sku": "NW-001", "min_quantity_milli": m, "unit_price_minor": p} for m, p in ((10000, 900), (50000, 800))
    ]
    with shop.store.write() as tx:
        tx.connection.execute(sa.delete(price_tiers).where(price_tiers.c.sku == "NW-001"))
        tx.connection.execute(sa.insert(price_tiers), prices)
        tx.connection.execute(sa.update(products).where(products.c.sku == "NW-001").values(unit_price_minor=1000))
    for quantity, unit in ((9, "10.00"), (10, "9.00"), (49, "9.00"), (50, "8.00"), (100, "8.00")):
        quote = await shop.call("compute_quote", lines=[{"sku": "NW-001", "quantity": quantity}])
        (line,) = quote["lines"]
        assert (line["net_unit_price"], line["list_price"]) == (unit, "10.00")
        assert quote["totals"] == [{"currency": "USD", "amount": f"{int(unit[:-3]) * quantity}.00"}]


async def test_a_quote_is_what_the_order_then_costs(shop: Shop) -> None:
    """The same code prices both: lines of one SKU merged first, amounts and total equal to the cent."""
    lines = [{"sku": "NW-011", "quantity": 8}, {"sku": "nw-011", "quantity": "7.0"}, {"sku": "NW-022", "quantity": 3}]
    before = everything(shop.store)
    quote = await shop.call("compute_quote", lines=lines, customer="alfreds futterkiste")
    assert everything(shop.store) == before
    order = await preview_of(shop.client, "create_order", customer="ALFKI", lines=lines)
    shared = order.facts["lines"][0].keys()
    assert [{key: line[key] for key in shared} for line in quote["lines"]] == order.facts["lines"]
    assert quote["totals"][0]["amount"] == order.money[0].amount
    assert (quote["customer_id"], quote["problems"]) == ("ALFKI", [])
    assert quote["lines"][0]["available"] == "22"
    assert "neither locks the price nor reserves stock" in quote["note"]


async def test_a_quote_says_what_an_order_would_be_refused_for(shop: Shop) -> None:
    """Discontinued, too little, currencies: priced all the same, one total per currency, and named as problems."""
    with shop.store.write() as tx:
        tx.connection.execute(sa.update(products).where(products.c.sku == "NW-001").values(currency="JPY"))
    lines = [{"sku": sku, "quantity": n} for sku, n in (("NW-005", 1), ("NW-031", 21), ("NW-001", 1))]
    quote = await shop.call("compute_quote", lines=lines)
    assert [line.get("problem") for line in quote["lines"]] == [
        "discontinued: it cannot be ordered", "only 0 available", None,
    ]  # fmt: skip
    assert [total["currency"] for total in quote["totals"]] == ["JPY", "USD"]
    assert len(quote["problems"]) == 3
    yen = await shop.call("compute_quote", lines=lines[2:], customer="ALFKI")
    assert yen["problems"] == ["customer ALFKI is billed in USD, and these are priced in JPY"]
    assert yen["totals"] == [{"currency": "JPY", "amount": "1800"}]
    assert (await shop.refusal("compute_quote", lines=[{"sku": "no", "quantity": 1}]))["code"] == "product_not_found"
    error = await shop.refusal("compute_quote", lines=[{"sku": "NW-011", "quantity": 1.5}])
    assert (error["code"], error["field"]) == ("invalid_argument", "lines[0].quantity")


async def test_a_comparison_is_sorted_by_price_with_the_rest_apart(shop: Shop) -> None:
    """Cheapest first at each product's own tier; missing and discontinued SKUs listed, none dropped in silence."""
    skus = ["NW-012", "NW-011", "nw-011", "NW-005", "nothing", "NW-031", "nothing"]
    found = await shop.call("compare_quotes", skus=skus, quantity=15)
    assert [(i["sku"], i["amount"]) for i in found["items"]] == [
        ("NW-031", "178.20"), ("NW-011", "299.25"), ("NW-012", "541.50"),
    ]  # fmt: skip
    assert (found["returned"], found["total"], found["quantity"]) == (3, 3, "15")
    assert found["missing"] == ["nothing"]
    assert found["discontinued"] == [{"sku": "NW-005", "name": "Chef Anton's Gumbo Mix"}]
    assert found["items"][0]["problem"] == "only 0 available"
    for item in found["items"]:
        quote = await shop.call("compute_quote", lines=[{"sku": item["sku"], "quantity": 15}])
        assert quote["lines"] == [item]
    error = await shop.refusal("compare_quotes", skus=["NW-011"], quantity="1.5")
    assert error["message"].startswith("quantity of NW-011: 1.5 ")


async def test_a_comparison_of_nothing_that_is_sold_is_empty(shop: Shop) -> None:
    """Missing and discontinued alone are an answer, not a failure."""
    found = await shop.call("compare_quotes", skus=["NW-005", "nothing"], quantity=1)
    assert (found["items"], found["total"], found["missing"]) == ([], 0, ["nothing"])
    assert [named["sku"] for named in found["discontinued"]] == ["NW-005"]


async def test_a_comparison_over_currencies_says_so(shop: Shop) -> None:
    """1 yen is not dearer than 0.90 dollars: each currency is sorted by itself."""
    with shop.store.write() as tx:
        tx.connection.execute(sa.update(products).where(products.c.sku == "NW-001").values(currency="JPY"))
    found = await shop.call("compare_quotes", skus=["NW-002", "NW-001", "NW-003"], quantity=1)
    assert [(i["sku"], i["currency"]) for i in found["items"]] == [
        ("NW-001", "JPY"), ("NW-003", "USD"), ("NW-002", "USD"),
    ]  # fmt: skip
    assert "currencies are not compared" in found["note"]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("pending", "not_shipped"),
        ("confirmed", "not_shipped"),
        ("shipped", "in_transit"),
        ("completed", "delivered"),
        ("cancelled", "cancelled"),
    ],
)
async def test_shipping_shows_the_parcel_and_not_the_person(shop: Shop, status: str, state: str) -> None:
    """Carrier, number, state and dates; nothing of the customer, the address, the contents or the money."""
    with shop.store.write() as tx:
        mine = orders.c.source_id == "10248"
        tx.connection.execute(sa.update(orders).where(mine).values(status=status, tracking_number="1Z 999"))
    found = await shop.call("check_shipping", order_id="10248")
    assert (found["status"], found["state"], found["carrier"]) == (status, state, "Federal Shipping")
    assert (found["tracking_number"], found["shipped_at"]) == ("1Z 999", "1996-07-16T00:00:00+00:00")
    order = await shop.call("get_order", order_id="10248")
    for private in (order["customer_id"], order["customer_name"], order["ship_to"]["line1"], "Reims", "440.00"):
        assert private in json.dumps(order, ensure_ascii=False)
        assert private not in json.dumps(found, ensure_ascii=False)


async def test_an_unknown_tracking_number_is_said(shop: Shop) -> None:
    """Not on file is not the same as none."""
    found = await shop.call("check_shipping", order_id="SO19960704-10248")
    assert "tracking_number" not in found
    assert "No tracking number is on file" in found["note"]


async def test_a_balance_is_in_the_receipt_and_never_in_the_preview(shop: Shop) -> None:
    """A person is asked first; what waits for them holds no figure, and nothing is changed but the record of it."""
    with shop.store.write() as tx:
        tx.connection.execute(sa.update(customers).where(customers.c.id == "RATTC").values(credit_limit_minor=123456))
        tx.connection.execute(sa.update(orders).where(orders.c.source_id == "10262").values(status="shipped"))
    before = everything(shop.store)
    shown = await preview_of(shop.client, "check_balance", customer="rattlesnake canyon grocery")
    assert everything(shop.store) == before
    assert shown.facts["customer"] == {"id": "RATTC", "name": "Rattlesnake Canyon Grocery"}
    assert not any(figure in shown.model_dump_json() for figure in ("1255.72", "584.00", "1839.72", "1234.56"))
    token = shop.host.grant(shown)
    _, answer = await ask(shop.client, "check_balance", token, customer="rattlesnake canyon grocery")
    result = answer["receipt"]["result"]
    assert result["open_amounts"] == [{"currency": "USD", "orders": 2, "amount": "1839.72"}]
    assert (result["credit_limit"], result["currency"]) == ("1234.56", "USD")
    assert "pending, confirmed or shipped" in result["definition"]
    after = everything(shop.store)
    assert {table for table in after if after[table] != before[table]} == {operations.name}


async def test_a_balance_is_of_the_moment_and_its_receipt_stays(shop: Shop) -> None:
    """Figures that moved while it waited do not make it ask again; a repeat shows the figures of the first time."""
    shown = await preview_of(shop.client, "check_balance", customer="RATTC")
    cancel = {"order_id": "11077", "reason": "mistake"}
    await ask(
        shop.client, "cancel_order", shop.host.grant(await preview_of(shop.client, "cancel_order", **cancel)), **cancel
    )
    token = shop.host.grant(shown)
    _, answer = await ask(shop.client, "check_balance", token, customer="RATTC")
    assert answer["receipt"]["result"]["open_amounts"] == []
    assert answer["receipt"]["result"]["credit_limit"] == "none"
    with shop.store.write() as tx:
        tx.connection.execute(sa.update(orders).where(orders.c.source_id == "11077").values(status="confirmed"))
    _, again = await ask(shop.client, "check_balance", token, customer="RATTC")
    assert again["status"] == "already_executed"
    assert again["receipt"]["result"] == answer["receipt"]["result"]


async def test_another_customers_grant_shows_nothing(shop: Shop) -> None:
    """A grant for one balance does not open another."""
    token = shop.host.grant(await preview_of(shop.client, "check_balance", customer="RATTC"))
    refused, answer = await ask(shop.client, "check_balance", token, customer="ALFKI")
    assert refused
    assert answer["error"]["code"] == "stale_version"
    assert "open_amounts" not in json.dumps(answer)
