"""Searching products, what is low, and how stock came to be what it is."""

import csv
from decimal import Decimal

import pytest
import sqlalchemy as sa

from erp_mcp.domain.lookup import match_key
from erp_mcp.importers.northwind import SHIPPED
from erp_mcp.store.tables import products, stock, warehouses
from tests.integration.northwind_client import Shop, shop
from tests.integration.small_erp import ask, preview_of

__all__ = ["shop"]


async def adjust(shop: Shop, sku: str, delta: int, reason: str = "count") -> None:
    """One approved adjustment."""
    arguments = {"sku": sku, "delta": delta, "reason": reason}
    token = shop.host.grant(await preview_of(shop.client, "adjust_stock", **arguments))
    assert (await ask(shop.client, "adjust_stock", token, **arguments))[1]["status"] == "executed"


async def test_every_word_must_fit_and_each_place_counts(shop: Shop) -> None:
    """Words of SKU, name and category, in any order, width and case; parts of words count; nothing else fits."""
    found = await shop.call("search_products", query="queso")
    assert [item["sku"] for item in found["items"]] == ["NW-011", "NW-012"]
    assert found["total"] == 2
    for query in ("DAIRY cabrales", "cabrales nw-0 dairy", "ＱＵＥＳＯ cab", "nw-011"):
        assert [i["sku"] for i in (await shop.call("search_products", query=query))["items"]] == ["NW-011"], query
    none = await shop.call("search_products", query="queso seafood")
    assert (none["items"], none["total"]) == ([], 0)
    assert "words" in none["note"]
    assert (await shop.call("search_products", query="%"))["total"] == 0
    assert (await shop.call("search_products", query="_"))["total"] == 0


async def test_an_exact_sku_comes_first(shop: Shop) -> None:
    """Even where many other products have it in their names, which come before it in the alphabet."""
    with shop.store.write() as tx:
        for n in range(3):
            name = f"AAA {n} like chai"
            row = {"sku": f"X-{n}", "sku_key": f"x-{n}", "name": name, "name_key": match_key(name)}
            tx.connection.execute(sa.insert(products).values(unit_price_minor=1, currency="USD", **row))
        row = {"sku": "Chai", "sku_key": "chai", "name": "ZZZ", "name_key": "zzz"}
        tx.connection.execute(sa.insert(products).values(unit_price_minor=1, currency="USD", **row))
    skus = [item["sku"] for item in await shop.all_items("search_products", query="CHAI", limit=1)]
    assert skus == ["Chai", "X-0", "X-1", "X-2", "NW-001"]


@pytest.mark.guarantee("E10")
async def test_a_category_is_exact_or_refused_with_the_allowed_ones(shop: Shop) -> None:
    """Never "no filter": an unknown category lists those that there are."""
    seafood = await shop.all_items("search_products", query="a", category="ｓｅａｆｏｏｄ", limit=3)
    assert {item["category"] for item in seafood} == {"Seafood"}
    error = await shop.refusal("search_products", query="a", category="Sea")
    assert error["code"] == "invalid_filter"
    assert len(error["allowed"]) == error["count"] == 8
    assert "Seafood" in error["allowed"]


async def test_in_stock_only_leaves_out_what_cannot_be_promised(shop: Shop) -> None:
    """Available, not on hand: what orders have reserved does not count; all warehouses do."""
    everything = await shop.all_items("search_products", query="nw-", limit=100)
    in_stock = await shop.all_items("search_products", query="nw-", in_stock_only=True, limit=7)
    assert len(everything) == 77
    assert [i for i in everything if Decimal(i["available"]) > 0] == in_stock
    assert "NW-031" not in {item["sku"] for item in in_stock}  # 20 on hand, 20 reserved
    with shop.store.write() as tx:
        tx.connection.execute(sa.insert(warehouses).values(code="EAST", name="East"))
        tx.connection.execute(sa.insert(stock).values(sku="NW-031", warehouse="EAST", on_hand_milli=2500))
    (found,) = (await shop.call("search_products", query="NW-031", in_stock_only=True))["items"]
    assert found["available"] == "2.5"


async def test_pages_of_a_search_are_bound_to_it(shop: Shop) -> None:
    """Every product once, by name; a cursor of another search is refused."""
    items = await shop.all_items("search_products", query="nw-", limit=10)
    assert len({item["sku"] for item in items}) == 77
    cursor = (await shop.call("search_products", query="nw-", limit=10))["next_cursor"]
    for other in ({"query": "nw"}, {"query": "nw-", "in_stock_only": True}, {"query": "nw-", "category": "Seafood"}):
        assert (await shop.refusal("search_products", cursor=cursor, **other))["code"] == "invalid_cursor"


async def test_a_cursor_survives_odd_names(shop: Shop) -> None:
    """A name with a no-break space or a control character is a position like any other."""
    with shop.store.write() as tx:
        for n, name in enumerate(("odd\u00a0one", "odd\u0007two", "odd\u200bthree", "odd 半打")):
            row = {"sku": f"ODD\u00a0{n}", "sku_key": match_key(f"ODD\u00a0{n}"), "name": name, "name_key": name}
            tx.connection.execute(sa.insert(products).values(unit_price_minor=1, currency="USD", **row))
    assert len(await shop.all_items("search_products", query="odd", limit=1)) == 4


async def test_low_stock_is_what_the_source_says(shop: Shop) -> None:
    """UnitsInStock at or below ReorderLevel, levels of 0 and discontinued products aside; the shortest first."""
    with (SHIPPED / "Products.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    wanted = {
        f"NW-{row['ProductID'].zfill(3)}": int(row["ReorderLevel"]) - int(row["UnitsInStock"])
        for row in rows
        if row["Discontinued"] == "0" and 0 < int(row["ReorderLevel"]) >= int(row["UnitsInStock"])
    }
    items = await shop.all_items("list_low_stock", limit=4)
    assert [(i["sku"], int(i["short_by"])) for i in items] == sorted(wanted.items(), key=lambda w: (-w[1], w[0]))
    assert [i["sku"] for i in await shop.all_items("list_low_stock", warehouse="main")] == [i["sku"] for i in items]
    for item in items:
        level = (await shop.call("get_stock", sku=item["sku"]))["warehouses"][0]
        assert level["low"]
        assert {key: level[key] for key in ("on_hand", "reserved", "available", "reorder_level")} == {
            key: item[key] for key in ("on_hand", "reserved", "available", "reorder_level")
        }
    assert (await shop.refusal("list_low_stock", warehouse="WEST"))["code"] == "warehouse_not_found"
    with shop.store.write() as tx:
        gone = products.c.sku == items[0]["sku"]
        tx.connection.execute(sa.update(products).where(gone).values(discontinued=True))
    assert await shop.all_items("list_low_stock", limit=5) == items[1:]


async def test_the_history_explains_the_stock(shop: Shop) -> None:
    """Newest first, each move with what was left after it; the newest is what is there now, on every page size."""
    await adjust(shop, "NW-011", -5, "broken")
    await adjust(shop, "NW-011", 7, "recount")
    history = await shop.call("stock_history", sku="nw-011")
    now = await shop.call("get_stock", sku="NW-011")
    assert (history["sku"], history["name"], history["total"]) == ("NW-011", "Queso Cabrales", 4)
    moves = history["items"]
    assert [(m["kind"], m["on_hand_change"], m["on_hand_after"], m["reserved_after"]) for m in moves] == [
        ("adjustment", "7", "34", "10"),
        ("adjustment", "-5", "27", "10"),
        ("reserve", "0", "32", "10"),
        ("opening", "32", "32", "0"),
    ]
    assert (moves[0]["on_hand_after"], moves[0]["reserved_after"]) == (now["on_hand"], now["reserved"])
    assert (moves[1]["reason"], moves[1]["approval_id"]) == ("broken", "approval-1")
    assert moves[2]["order_id"] == "SO19980505-11073"
    assert await shop.all_items("stock_history", sku="NW-011", limit=1) == moves


async def test_each_warehouse_has_its_own_running_values(shop: Shop) -> None:
    """Moves of two warehouses interleave, and neither's values run into the other's."""
    with shop.store.write() as tx:
        tx.connection.execute(sa.insert(warehouses).values(code="EAST", name="East"))
        tx.connection.execute(sa.insert(stock).values(sku="NW-011", warehouse="EAST"))
    for n, place in enumerate(("EAST", "MAIN", "EAST")):
        arguments = {"sku": "NW-011", "delta": n + 1, "reason": "count", "warehouse": place}
        token = shop.host.grant(await preview_of(shop.client, "adjust_stock", **arguments))
        await ask(shop.client, "adjust_stock", token, **arguments)
    both = await shop.all_items("stock_history", sku="NW-011", limit=2)
    assert [(m["warehouse"], m["on_hand_after"]) for m in both][:3] == [("EAST", "4"), ("MAIN", "34"), ("EAST", "1")]
    east = await shop.all_items("stock_history", sku="NW-011", warehouse="east", limit=1)
    assert [m["on_hand_after"] for m in east] == ["4", "1"]
    assert (await shop.refusal("stock_history", sku="NW-001", warehouse="EAST"))["code"] == "stock_not_found"


async def test_a_history_starts_where_it_was_told_to(shop: Shop) -> None:
    """From a business day on; a day after the last move leaves nothing, and the total says so."""
    before = await shop.call("stock_history", sku="NW-011", date_from="1998-01-01")
    after = await shop.call("stock_history", sku="NW-011", date_from="9999-12-31")
    assert (before["total"], after["total"], after["items"]) == (2, 0, [])
    assert after["note"] == "No move fits."
