"""Goods that come back: how many, for how much, into which stock, and what is sent out for them."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.store.tables import order_lines, orders, stock, stock_moves
from tests.integration.small_erp import OPEN, SHIPPED, Host, balanced_host, everything, stock_of
from tests.integration.writing import at_desk, changes_of, lines, money_of, set_price, ship

BROKEN = "arrived broken"


@pytest.fixture
def host(erp_url: str, tmp_path: Path) -> Iterator[Host]:
    """The small ERP and a host that may sign for it; whatever a test did, the books must balance afterwards."""
    with balanced_host(erp_url, tmp_path) as opened:
        yield opened


async def test_goods_come_back_into_stock_and_are_refunded_at_the_price_as_placed(host: Host) -> None:
    """Three of ten apples at 9.00, though they cost more by now; order, stock and history tell the same."""
    async with at_desk(host) as desk:
        number = await desk.delivered(("A-1", 10), ("B-2", 2))
        set_price(host.erp.store, "A-1", 2000)
        before = stock_of(host.erp.store, "A-1")
        shown = await desk.preview("request_return", order_id=number, lines=lines(("a-1", 3)), reason=BROKEN)
        assert money_of(shown) == {"refund": Decimal("27.00")}
        assert changes_of(shown) == {(f"{number} line 1, A-1", "returned"): ("0", "3")}
        assert shown.facts["stock_back"] == {"warehouse": "MAIN", "quantities": {"A-1": "3"}}
        assert shown.reversibility.kind == "compensable"
        assert shown.warnings == []
        result = (await desk.sign(shown))[1]["receipt"]["result"]
        order = await desk.read("get_order", order_id=number)
        history = await desk.read("stock_history", sku="A-1", limit=1)
    assert result["return_id"].startswith("RT")
    assert (result["refund"], result["returned"]) == ("27.00", [{"sku": "A-1", "quantity": "3"}])
    assert [line["returned"] for line in order["lines"]] == ["3", "0"]
    assert (order["total"], order["version"], order["status"]) == ("96.66", 3, "completed")
    (kept,) = order["returns"]
    assert (kept["return_id"], kept["refund"], kept["reason"]) == (result["return_id"], "27.00", BROKEN)
    assert "exchange_order_id" not in kept
    assert stock_of(host.erp.store, "A-1") == (before[0] + 3_000, before[1])
    (move,) = history["items"]
    assert (move["kind"], move["on_hand_change"], move["order_id"], move["reason"]) == ("return", "3", number, BROKEN)


async def test_refunds_of_a_line_add_up_to_what_it_cost_however_it_comes_back(host: Host) -> None:
    """An imported line whose amount is no multiple of its unit price: 3 × 3.33 cost 10.00."""
    async with at_desk(host) as desk:
        number = await desk.delivered(("B-2", 3))
        with host.erp.store.write() as tx:
            its = order_lines.c.order_id == number
            tx.connection.execute(sa.update(order_lines).where(its).values(amount_minor=1000))
            tx.connection.execute(sa.update(orders).where(orders.c.id == number).values(total_minor=1000))
        refunds = []
        for quantity in ("0.5", "1.25", "1.25"):
            result = await desk.write("request_return", order_id=number, lines=lines(("B-2", quantity)), reason=BROKEN)
            refunds.append(Decimal(result["refund"]))
    assert refunds == [Decimal("1.67"), Decimal("4.16"), Decimal("4.17")]
    assert sum(refunds) == Decimal("10.00")


async def test_no_more_comes_back_than_was_bought_and_not_returned_before(host: Host) -> None:
    """Every SKU that is too many is named, also one that the order does not have; split lines are added up."""
    async with at_desk(host) as desk:
        number = await desk.delivered(("A-1", 5), ("B-2", 2))
        await desk.write("request_return", order_id=number, lines=lines(("A-1", 2)), reason=BROKEN)
        before = everything(host.erp.store)
        too_many = lines(("A-1", 2), ("A-1", 2), ("B-2", 2), ("LAST", 1))
        error = await desk.refusal("request_return", order_id=number, lines=too_many, reason=BROKEN)
        assert everything(host.erp.store) == before
        assert error["code"] == "return_exceeds_order"
        assert error["lines"] == [
            {"sku": "A-1", "name": "Apples", "requested": "4", "bought": "5", "returned_before": "2"},
            {"sku": "LAST", "name": "The last one", "requested": "1", "bought": "0", "returned_before": "0"},
        ]
        await desk.write("request_return", order_id=number, lines=lines(("A-1", 3), ("B-2", 2)), reason=BROKEN)
        order = await desk.read("get_order", order_id=number)
    assert [line["returned"] for line in order["lines"]] == ["5", "2"]
    assert sum(Decimal(one["refund"]) for one in order["returns"]) == Decimal(order["total"])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"order_id": OPEN}, "not_returnable"),
        ({"order_id": "no such"}, "order_not_found"),
        ({"lines": []}, "invalid_argument"),
        ({"lines": lines(("A-1", -1))}, "invalid_argument"),
        ({"lines": lines(("A-1", "0.5"))}, "invalid_argument"),
        ({"lines": lines(("no such", 1))}, "product_not_found"),
        ({"reason": " "}, "invalid_argument"),
        ({"exchange_for": []}, "invalid_argument"),
        ({"exchange_for": lines(("DEAD", 1))}, "product_discontinued"),
        ({"exchange_for": lines(("EURO", 1))}, "mixed_currencies"),
        ({"exchange_for": lines(("LAST", 2), ("NONE", 1))}, "insufficient_stock"),
    ],
)
async def test_a_return_that_cannot_be_is_refused_before_anybody_is_asked(
    host: Host, arguments: JsonObject, code: str
) -> None:
    """Each rule has its code and a hint; a return whose exchange cannot be sent is no return either."""
    before = everything(host.erp.store)
    wanted: JsonObject = {"order_id": SHIPPED, "lines": lines(("A-1", 1)), "reason": BROKEN}
    async with at_desk(host) as desk:
        error = await desk.refusal("request_return", **(wanted | arguments))
    assert (error["code"], bool(error["hint"])) == (code, True)
    assert everything(host.erp.store) == before


async def test_a_shipped_order_may_come_back_with_a_warning(host: Host) -> None:
    """Its goods have left, and may still be on their way."""
    async with at_desk(host) as desk:
        wanted = {"lines": lines(("A-1", 1)), "reason": BROKEN}
        shown = await desk.preview("request_return", order_id=SHIPPED, **wanted)
        assert len(shown.warnings) == 1
        assert "on their way" in shown.warnings[0]
        with host.erp.store.write() as tx:
            tx.connection.execute(sa.update(orders).where(orders.c.id == SHIPPED).values(status="cancelled"))
        error = await desk.refusal("request_return", order_id=SHIPPED, **wanted)
    assert (error["code"], error["status"]) == ("not_returnable", "cancelled")


async def test_an_exchange_is_a_new_order_at_todays_prices_set_against_the_refund(host: Host) -> None:
    """Two apples at 10.00 come back, ten at 18.00 go out: 160.00 to pay; the new order is linked and reserved."""
    async with at_desk(host) as desk:
        number = await desk.delivered(("A-1", 2))
        set_price(host.erp.store, "A-1", 2000)
        shown = await desk.preview(
            "request_return", order_id=number, lines=lines(("A-1", 2)), reason=BROKEN, exchange_for=lines(("A-1", 10))
        )
        assert money_of(shown) == {
            "refund": Decimal("20.00"),
            "exchange total": Decimal("180.00"),
            "to pay": Decimal("160.00"),
        }
        assert shown.facts["exchange"]["lines"][0]["net_unit_price"] == "18.00"
        assert "cancel_order" in shown.reversibility.how
        result = (await desk.sign(shown))[1]["receipt"]["result"]
        assert (result["order_id"], result["to_pay"]) == (number, "160.00")
        new = await desk.read("get_order", order_id=result["exchange_order_id"])
        old = await desk.read("get_order", order_id=number)
        assert old["returns"][0]["exchange_order_id"] == new["order_id"]
        assert (new["status"], new["total"], new["customer_id"], new["note"]) == (
            "confirmed", "180.00", "ACME", f"Exchange for goods of order {number}",
        )  # fmt: skip
        assert new["ship_to"] == old["ship_to"]
        await desk.write("cancel_order", order_id=new["order_id"], reason="changed their mind")


async def test_an_exchange_for_less_is_paid_back(host: Host) -> None:
    """And one of the same worth is 0.00 to pay back."""
    async with at_desk(host) as desk:
        number = await desk.delivered(("A-1", 2))
        wanted = {"order_id": number, "lines": lines(("A-1", 2)), "reason": BROKEN}
        cheaper = await desk.preview("request_return", **wanted, exchange_for=lines(("LAST", 1)))
        same = await desk.preview("request_return", **wanted, exchange_for=lines(("A-1", 2)))
    assert money_of(cheaper)["to pay back"] == Decimal("15.00")
    assert money_of(same)["to pay back"] == Decimal("0.00")


async def test_what_comes_back_is_not_sent_out_for_itself(host: Host) -> None:
    """The last one was sold and is broken: until another is in stock there is none to send."""
    async with at_desk(host) as desk:
        number = await desk.delivered(("LAST", 1))
        swap = {"lines": lines(("LAST", 1)), "exchange_for": lines(("LAST", 1)), "reason": BROKEN}
        error = await desk.refusal("request_return", order_id=number, **swap)
        assert error["code"] == "insufficient_stock"
        await desk.write("adjust_stock", sku="LAST", delta=1, reason="delivery")
        shown = await desk.preview("request_return", order_id=number, **swap)
        await desk.write("adjust_stock", sku="LAST", delta=-1, reason="count")
        refused, answer = await desk.sign(shown)
        assert (refused, answer["error"]["code"]) == (True, "insufficient_stock")
        await desk.write("adjust_stock", sku="LAST", delta=1, reason="count")
        assert (await desk.sign(shown))[1]["status"] == "executed"
    assert stock_of(host.erp.store, "LAST") == (2_000, 1_000)


@pytest.mark.guarantee("stale-asks-again")
async def test_two_approved_returns_of_the_same_goods_give_one(host: Host) -> None:
    """The second was seen before the first: it asks again, or finds nothing left to return."""
    async with at_desk(host) as desk:
        number = await desk.delivered(("A-1", 2))
        wanted = {"order_id": number, "lines": lines(("A-1", 1)), "reason": BROKEN}
        first, second = [await desk.preview("request_return", **wanted) for _ in range(2)]
        await desk.sign(first)
        before = everything(host.erp.store)
        refused, answer = await desk.sign(second)
        assert (refused, answer["error"]["code"]) == (True, "stale_version")
        assert everything(host.erp.store) == before
        third, fourth = [await desk.preview("request_return", **wanted) for _ in range(2)]
        await desk.sign(third)
        refused, answer = await desk.sign(fourth)
    assert (refused, answer["error"]["code"]) == (True, "return_exceeds_order")


@pytest.mark.guarantee("what-you-saw")
async def test_an_exchange_whose_price_moved_is_asked_again(host: Host) -> None:
    """The refund is as placed and cannot move; the price of what is sent out can."""
    async with at_desk(host) as desk:
        number = await desk.delivered(("A-1", 2))
        wanted = {"order_id": number, "lines": lines(("A-1", 1)), "reason": BROKEN}
        plain = await desk.preview("request_return", **wanted)
        swap = await desk.preview("request_return", **wanted, exchange_for=lines(("B-2", 1)))
        set_price(host.erp.store, "A-1", 5000)
        set_price(host.erp.store, "B-2", 5000)
        refused, answer = await desk.sign(swap)
        assert (refused, answer["error"]["code"]) == (True, "stale_version")
        assert (await desk.sign(plain))[1]["receipt"]["result"]["refund"] == "10.00"


async def test_the_first_of_several_lines_of_one_sku_comes_back_first(host: Host) -> None:
    """Each at its own price; one return can span them."""
    async with at_desk(host) as desk:
        number = await desk.order(("A-1", 2), ("B-2", 1))
        with host.erp.store.write() as tx:
            its = sa.and_(order_lines.c.order_id == number, order_lines.c.line_no == 2)
            dear = {"sku": "A-1", "quantity_milli": 3_000, "net_unit_price_minor": 1500, "amount_minor": 4500}
            tx.connection.execute(sa.update(order_lines).where(its).values(dear))
            tx.connection.execute(sa.update(orders).where(orders.c.id == number).values(total_minor=6500))
            for sku, milli in (("A-1", 3_000), ("B-2", -1_000)):
                more = {"reserved_milli": stock.c.reserved_milli + milli}
                tx.connection.execute(sa.update(stock).where(stock.c.sku == sku).values(more))
                move = {"sku": sku, "warehouse": "MAIN", "kind": "reserve", "reserved_delta_milli": milli, "at": tx.now}
                tx.connection.execute(sa.insert(stock_moves).values(move))
        ship(host.erp.store, number)
        shown = await desk.preview("request_return", order_id=number, lines=lines(("A-1", 3)), reason=BROKEN)
        assert [(line["line_no"], line["quantity"], line["refund"]) for line in shown.facts["lines"]] == [
            (1, "2", "20.00"),
            (2, "1", "15.00"),
        ]
        await desk.sign(shown)
        order = await desk.read("get_order", order_id=number)
    assert [line["returned"] for line in order["lines"]] == ["2", "1"]


async def test_goods_come_back_to_a_warehouse_that_keeps_them_no_more(host: Host) -> None:
    """Its stock row is made anew: what came back is on hand there."""
    with host.erp.store.write() as tx:
        tx.connection.execute(
            sa.update(order_lines).where(order_lines.c.order_id == SHIPPED).values(sku="NONE", name="Kept nowhere")
        )
    async with at_desk(host) as desk:
        await desk.write("request_return", order_id=SHIPPED, lines=lines(("NONE", 1)), reason=BROKEN)
    assert stock_of(host.erp.store, "NONE") == (1_000, 0)
