"""What the write tools refuse before anybody is asked, and what exactly an approver is shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastmcp import Client

from erp_mcp.contract import JsonObject
from tests.integration.small_erp import (
    OPEN,
    SHIPPED,
    Host,
    ask,
    balanced_host,
    everything,
    preview_of,
    stock_of,
)

CANCEL: JsonObject = {"order_id": OPEN, "reason": "ordered by mistake"}
ADJUST: JsonObject = {"sku": "A-1", "delta": -5, "reason": "count"}
CREATE: JsonObject = {"customer": "ACME", "lines": [{"sku": "A-1", "quantity": 3}]}


@pytest.fixture
def host(erp_url: str, tmp_path: Path) -> Iterator[Host]:
    """The small ERP and a host that may sign for it; whatever a test did, the books must balance afterwards."""
    with balanced_host(erp_url, tmp_path) as opened:
        yield opened


@pytest.mark.guarantee("E1")
async def test_a_shipped_order_cannot_be_cancelled(host: Host) -> None:
    """It is refused before anybody is asked, with the state it is in."""
    before = everything(host.erp.store)
    async with Client(host.erp.server) as client:
        refused, answer = await ask(client, "cancel_order", order_id=SHIPPED, reason="late")
    assert refused
    assert answer["error"]["code"] == "not_cancellable"
    assert answer["error"]["status"] == "shipped"
    assert everything(host.erp.store) == before


@pytest.mark.guarantee("E2")
async def test_two_cancellations_release_the_stock_once(host: Host) -> None:
    """Both were approved; the second is refused at execution, and the reservation is given back once."""
    async with Client(host.erp.server) as client:
        shown = await preview_of(client, "cancel_order", **CANCEL)
        assert (await ask(client, "cancel_order", host.grant(shown), **CANCEL))[1]["status"] == "executed"
        refused, answer = await ask(client, "cancel_order", host.grant(shown), **CANCEL)
    assert refused
    assert answer["error"]["code"] == "already_cancelled"
    assert stock_of(host.erp.store, "A-1") == (100_000, 0)


@pytest.mark.guarantee("E5")
async def test_all_shortages_come_together_and_leave_every_line_untouched(host: Host) -> None:
    """The good first line is not reserved because of two short ones, and both of these are named."""
    before = everything(host.erp.store)
    lines = [{"sku": sku, "quantity": quantity} for sku, quantity in (("A-1", 1), ("LAST", 2), ("NONE", 1))]
    async with Client(host.erp.server) as client:
        refused, answer = await ask(client, "create_order", customer="ACME", lines=lines)
    assert refused
    assert [short["sku"] for short in answer["error"]["shortages"]] == ["LAST", "NONE"]
    assert everything(host.erp.store) == before


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"lines": [{"sku": "DEAD", "quantity": 1}]}, "product_discontinued"),
        ({"lines": [{"sku": "EURO", "quantity": 1}]}, "mixed_currencies"),
        ({"lines": [{"sku": "A-1", "quantity": 1}, {"sku": "EURO", "quantity": 1}]}, "mixed_currencies"),
        ({"lines": [{"sku": "A-1", "quantity": "1.5"}]}, "invalid_argument"),
        ({"lines": [{"sku": "??", "quantity": 1}]}, "product_not_found"),
        ({"customer": "nobody"}, "customer_not_found"),
        ({"warehouse": "WEST"}, "warehouse_not_found"),
        ({"warehouse": "EAST"}, "insufficient_stock"),
    ],
)
async def test_an_order_that_cannot_be_placed_is_refused_before_anybody_is_asked(
    host: Host, arguments: JsonObject, code: str
) -> None:
    """Every rule of placing an order has its own code and a hint."""
    async with Client(host.erp.server) as client:
        refused, answer = await ask(client, "create_order", **(CREATE | arguments))
    assert refused
    assert answer["error"]["code"] == code
    assert answer["error"]["hint"]


async def test_lines_of_one_sku_are_merged_before_the_tier_is_chosen(host: Host) -> None:
    """8 + 2 apples are 10, which is 10 % off; the order keeps one line with the price that was signed."""
    arguments: JsonObject = {
        "customer": "acme ltd", "lines": [{"sku": "A-1", "quantity": 8}, {"sku": "a-1", "quantity": "2.0"}],
        "ship_to": {"line1": "2 Side Street", "city": "Town", "country": "UK"},
    }  # fmt: skip
    async with Client(host.erp.server) as client:
        shown = await preview_of(client, "create_order", **arguments)
        _, answer = await ask(client, "create_order", host.grant(shown), **arguments)
        _, order = await ask(client, "get_order", order_id=answer["receipt"]["result"]["order_id"])
    assert shown.facts["lines"] == [
        {
            "sku": "A-1", "name": "Apples", "quantity": "10", "list_price": "10.00", "discount_percent": "10",
            "net_unit_price": "9.00", "amount": "90.00",
        }
    ]  # fmt: skip
    assert shown.facts["ship_to"]["line1"] == order["ship_to"]["line1"] == "2 Side Street"
    assert (order["total"], order["status"], [line["quantity"] for line in order["lines"]]) == (
        "90.00",
        "confirmed",
        ["10"],
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"delta": -81}, "insufficient_stock"),
        ({"delta": 0}, "invalid_argument"),
        ({"delta": 0.5}, "invalid_argument"),
        ({"delta": 1_000_000_000}, "invalid_argument"),
        ({"sku": "NONE"}, "stock_not_found"),
    ],
)
async def test_stock_is_not_taken_below_what_orders_have_reserved(host: Host, arguments: JsonObject, code: str) -> None:
    """100 on hand, 20 reserved: 80 can go, and the refusal of 81 names them."""
    async with Client(host.erp.server) as client:
        refused, answer = await ask(client, "adjust_stock", **(ADJUST | arguments))
        assert (refused, answer["error"]["code"]) == (True, code)
        if code == "insufficient_stock":
            assert answer["error"]["available"] == "80"
        assert (await preview_of(client, "adjust_stock", **(ADJUST | {"delta": -80}))).changes[0].after == "20"
