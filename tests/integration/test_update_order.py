"""Changing an open order: which price holds for which line, what is reserved, and the way back."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.store.tables import order_lines, orders, products, stock_moves
from tests.integration.small_erp import OPEN, SHIPPED, Host, balanced_host, everything, stock_of
from tests.integration.writing import at_desk, changes_of, lines, money_of, set_price

ADDRESS = {"line1": "2 Side Street", "city": "Town", "country": "UK"}


@pytest.fixture
def host(erp_url: str, tmp_path: Path) -> Iterator[Host]:
    """The small ERP and a host that may sign for it; whatever a test did, the books must balance afterwards."""
    with balanced_host(erp_url, tmp_path) as opened:
        yield opened


async def test_a_line_that_stays_keeps_its_price_and_any_other_is_priced_today(host: Host) -> None:
    """Apples were 9.00 at their tier and cost 20.00 now: ten of them stay at 90.00, and the flour beside them moves."""
    async with at_desk(host) as desk:
        number = await desk.order(("A-1", 10), ("B-2", 2))
        set_price(host.erp.store, "A-1", 2000)
        set_price(host.erp.store, "B-2", 400)
        shown = await desk.preview("update_order", order_id=number, lines=lines(("A-1", 10), ("B-2", 3), ("LAST", 1)))
        assert money_of(shown) == {
            "order total before": Decimal("96.66"),
            "order total after": Decimal("107.00"),
            "difference": Decimal("10.34"),
        }
        assert [(line["sku"], line["amount"], line["priced"]) for line in shown.facts["lines_after"]] == [
            ("A-1", "90.00", "as placed"),
            ("B-2", "12.00", "today"),
            ("LAST", "5.00", "today"),
        ]
        assert [(line["sku"], line["amount"]) for line in shown.facts["lines_before"]] == [
            ("A-1", "90.00"),
            ("B-2", "6.66"),
        ]
        assert shown.facts["reserved"] == {"B-2": "+1", "LAST": "+1"}
        assert shown.warnings == ["B-2: 3.33 each as placed, 4.00 each today."]
        assert (await desk.sign(shown))[1]["receipt"]["result"] == {
            "order_id": number, "changed": ["lines"], "total": "107.00", "currency": "USD", "version": 2,
        }  # fmt: skip
        order = await desk.read("get_order", order_id=number)
    assert [(line["sku"], line["quantity"], line["amount"]) for line in order["lines"]] == [
        ("A-1", "10", "90.00"),
        ("B-2", "3", "12.00"),
        ("LAST", "1", "5.00"),
    ]
    assert (order["total"], order["line_count"], order["version"]) == ("107.00", 3, 2)
    assert stock_of(host.erp.store, "LAST") == (1_000, 1_000)


async def test_a_changed_quantity_is_priced_by_its_whole_new_tier(host: Host) -> None:
    """Nine and one more are ten, which is 10 % off all ten; two lines of one SKU are one quantity."""
    async with at_desk(host) as desk:
        number = await desk.order(("A-1", 9))
        shown = await desk.preview("update_order", order_id=number, lines=lines(("A-1", 9), ("a-1", 1)))
    assert money_of(shown)["order total after"] == Decimal("90.00")
    assert changes_of(shown) == {("A-1", "ordered and reserved"): ("9", "10")}


async def test_what_is_left_out_is_dropped_and_its_stock_released(host: Host) -> None:
    """The open order had 20 apples and 2.5 of flour; the moves name the approval."""
    async with at_desk(host) as desk:
        shown = await desk.preview("update_order", order_id=OPEN, lines=lines(("B-2", "2.5")))
        assert changes_of(shown) == {("A-1", "ordered and reserved"): ("20", "0")}
        await desk.sign(shown)
    assert stock_of(host.erp.store, "A-1") == (100_000, 0)
    assert stock_of(host.erp.store, "B-2") == (50_000, 2_500)
    with host.erp.store.read() as tx:
        released = sa.select(stock_moves).where(stock_moves.c.kind == "release")
        (move,) = tx.connection.execute(released).all()
    assert (move.reserved_delta_milli, move.order_id, move.approval_id) == (-20_000, OPEN, "approval-1")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"lines": []}, "invalid_argument"),
        ({"lines": lines(("A-1", 0))}, "invalid_argument"),
        ({"lines": lines(("A-1", "1.5"))}, "invalid_argument"),
        ({"lines": lines(("A-1", 20), ("DEAD", 1))}, "product_discontinued"),
        ({"lines": lines(("A-1", 20), ("EURO", 1))}, "mixed_currencies"),
        ({"lines": lines(("A-1", 20), ("no such", 1))}, "product_not_found"),
        ({"order_id": SHIPPED, "note": "x"}, "not_updatable"),
        ({"order_id": "no such", "note": "x"}, "order_not_found"),
        ({}, "nothing_to_change"),
        ({"note": ""}, "nothing_to_change"),
        ({"lines": lines(("B-2", "2.5"), ("A-1", 20))}, "nothing_to_change"),
        ({"lines": lines(("a-1", 15), ("B-2", 2.5), ("A-1", 5))}, "nothing_to_change"),
    ],
)
async def test_a_change_that_cannot_be_made_is_refused_before_anybody_is_asked(
    host: Host, arguments: JsonObject, code: str
) -> None:
    """Each rule has its code, a hint, and changes nothing; lines in another order are the same lines."""
    before = everything(host.erp.store)
    async with at_desk(host) as desk:
        error = await desk.refusal("update_order", **({"order_id": OPEN} | arguments))
    assert (error["code"], bool(error["hint"])) == (code, True)
    assert everything(host.erp.store) == before


@pytest.mark.parametrize("status", ["shipped", "completed", "cancelled"])
async def test_only_an_open_order_is_changed(host: Host, status: str) -> None:
    """The refusal names the state, and the tool for what is left to do."""
    with host.erp.store.write() as tx:
        tx.connection.execute(sa.update(orders).where(orders.c.id == SHIPPED).values(status=status))
    async with at_desk(host) as desk:
        error = await desk.refusal("update_order", order_id=SHIPPED, lines=lines(("A-1", 2)))
    assert (error["code"], error["status"]) == ("not_updatable", status)
    assert ("create_order" if status == "cancelled" else "request_return") in error["hint"]


async def test_all_shortages_come_together_and_count_only_what_is_wanted_in_addition(host: Host) -> None:
    """100 apples, 20 of them this order's own: 100 fit, 101 are one too many; no line of it is touched."""
    async with at_desk(host) as desk:
        fits = await desk.preview("update_order", order_id=OPEN, lines=lines(("A-1", 100)))
        assert fits.facts["reserved"] == {"A-1": "+80", "B-2": "-2.5"}
        before = everything(host.erp.store)
        error = await desk.refusal("update_order", order_id=OPEN, lines=lines(("A-1", 101), ("LAST", 2), ("B-2", 3)))
    assert error["code"] == "insufficient_stock"
    assert [(s["sku"], s["requested"], s["available"]) for s in error["shortages"]] == [
        ("A-1", "81", "80"),
        ("LAST", "2", "1"),
    ]
    assert everything(host.erp.store) == before


async def test_a_discontinued_product_can_be_kept_or_reduced_but_not_raised(host: Host) -> None:
    """What was sold stays sold."""
    async with at_desk(host) as desk:
        number = await desk.order(("A-1", 5), ("B-2", 1))
        with host.erp.store.write() as tx:
            tx.connection.execute(sa.update(products).where(products.c.sku == "A-1").values(discontinued=True))
        await desk.write("update_order", order_id=number, lines=lines(("A-1", 5), ("B-2", 2)))
        await desk.write("update_order", order_id=number, lines=lines(("A-1", 4), ("B-2", 2)))
        error = await desk.refusal("update_order", order_id=number, lines=lines(("A-1", 5), ("B-2", 2)))
    assert error["code"] == "product_discontinued"


@pytest.mark.guarantee("what-you-saw", "stale-asks-again")
async def test_a_price_that_moves_matters_only_for_lines_that_are_priced_today(host: Host) -> None:
    """The kept line's product may change its price; the changed line's may not, and nothing is then done."""
    async with at_desk(host) as desk:
        number = await desk.order(("A-1", 10), ("B-2", 2))
        changed = lines(("A-1", 10), ("B-2", 3))
        shown = await desk.preview("update_order", order_id=number, lines=changed)
        set_price(host.erp.store, "B-2", 999)
        before = everything(host.erp.store)
        refused, answer = await desk.sign(shown)
        assert (refused, answer["error"]["code"]) == (True, "stale_version")
        assert everything(host.erp.store) == before
        fresh = await desk.preview("update_order", order_id=number, lines=changed)
        set_price(host.erp.store, "A-1", 999)
        assert (await desk.sign(fresh))[1]["status"] == "executed"


async def test_two_approved_changes_of_one_order_do_not_overwrite_each_other(host: Host) -> None:
    """The second was seen on the version before: it is stale, and its fresh preview starts from the first."""
    async with at_desk(host) as desk:
        first = await desk.preview("update_order", order_id=OPEN, lines=lines(("A-1", 20)))
        second = await desk.preview("update_order", order_id=OPEN, note="ring the bell")
        await desk.sign(first)
        refused, answer = await desk.sign(second)
    assert (refused, answer["error"]["code"]) == (True, "stale_version")
    assert answer["error"]["preview"]["targets"][0]["version"] == 2


async def test_address_and_note_change_alone_and_leave_lines_and_stock(host: Host) -> None:
    """Only what is given changes; an empty note removes the note; the total is shown as unchanged."""
    async with at_desk(host) as desk:
        shown = await desk.preview("update_order", order_id="1001", ship_to=ADDRESS, note="ring the bell")
        assert changes_of(shown) == {
            (OPEN, "ship to, line1"): ("x", "2 Side Street"),
            (OPEN, "ship to, city"): ("", "Town"),
            (OPEN, "ship to, country"): ("", "UK"),
            (OPEN, "note"): ("", "ring the bell"),
        }
        assert list(money_of(shown)) == ["order total, unchanged"]
        stock_before = everything(host.erp.store)["stock_moves"]
        await desk.sign(shown)
        order = await desk.read("get_order", order_id=OPEN)
        assert (order["ship_to"]["line1"], order["note"], len(order["lines"])) == ("2 Side Street", "ring the bell", 2)
        await desk.write("update_order", order_id=OPEN, note="")
        assert "note" not in await desk.read("get_order", order_id=OPEN)
        error = await desk.refusal("update_order", order_id=OPEN, ship_to=ADDRESS | {"region": ""})
        assert error["code"] == "nothing_to_change"
    assert everything(host.erp.store)["stock_moves"] == stock_before


async def test_the_values_before_take_a_change_back(host: Host) -> None:
    """Where the preview calls it reversible, the call that it names restores lines, money, address and reservation."""
    async with at_desk(host) as desk:
        number = await desk.order(("A-1", 10), ("B-2", 2))
        await desk.write("update_order", order_id=number, ship_to=ADDRESS, note="before")
        was = _state(host, number)
        shown = await desk.preview(
            "update_order", order_id=number, lines=lines(("LAST", 1), ("A-1", 50)), note="after",
            ship_to=ADDRESS | {"line1": "3 Side Street"},
        )  # fmt: skip
        assert shown.reversibility.kind == "reversible"
        assert "update_order" in shown.reversibility.how
        await desk.sign(shown)
        assert _state(host, number) != was
        old = lines(*((line["sku"], line["quantity"]) for line in shown.facts["lines_before"]))
        await desk.write("update_order", order_id=number, lines=old, ship_to=ADDRESS, note="before")
        assert _state(host, number) == was


async def test_a_change_that_prices_would_not_let_go_back_says_so(host: Host) -> None:
    """The lines as placed cannot be had again at their price: compensable, not reversible."""
    async with at_desk(host) as desk:
        number = await desk.order(("A-1", 10))
        set_price(host.erp.store, "A-1", 2000)
        shown = await desk.preview("update_order", order_id=number, lines=lines(("A-1", 11)))
        assert shown.reversibility.kind == "compensable"
        assert "priced anew" in shown.reversibility.how


async def test_several_lines_of_one_sku_stay_as_they_are_while_their_sum_does(host: Host) -> None:
    """Imported orders have such lines: their prices may differ, and none is touched because of another SKU."""
    with host.erp.store.write() as tx:
        twice = {"line_no": 3, "sku": "B-2", "name": "Flour, dear", "quantity_milli": 1_000, "amount_minor": 900}
        values: dict[str, Any] = {"order_id": OPEN, "unit_price_minor": 900, "net_unit_price_minor": 900} | twice
        tx.connection.execute(sa.insert(order_lines).values(values))
        tx.connection.execute(sa.update(orders).where(orders.c.id == OPEN).values(total_minor=2900, line_count=3))
    async with at_desk(host) as desk:
        await desk.write("adjust_stock", sku="B-2", delta=1, reason="so that the books balance")
        with host.erp.store.write() as tx:
            tx.connection.execute(sa.text("UPDATE stock SET reserved_milli = 3500 WHERE sku = 'B-2'"))
            move = {"sku": "B-2", "warehouse": "MAIN", "kind": "reserve", "reserved_delta_milli": 1_000, "at": tx.now}
            tx.connection.execute(sa.insert(stock_moves).values(move))
        await desk.write("update_order", order_id=OPEN, lines=lines(("B-2", 3.5), ("A-1", 1)))
        order = await desk.read("get_order", order_id=OPEN)
        assert [(line["sku"], line["name"], line["amount"]) for line in order["lines"]] == [
            ("B-2", "Flour by the kilo", "10.00"),
            ("B-2", "Flour, dear", "9.00"),
            ("A-1", "Apples", "10.00"),
        ]
        error = await desk.refusal("update_order", order_id=OPEN, lines=lines(("A-1", 1), ("B-2", "3.5")))
        assert error["code"] == "nothing_to_change"


@pytest.mark.guarantee("B7")
async def test_a_changed_order_is_the_twin_of_an_identical_new_one(host: Host) -> None:
    """Twins are told by what an order is, not by what it was when it was placed."""
    async with at_desk(host) as desk:
        number = await desk.order(("A-1", 3))
        await desk.write("update_order", order_id=number, lines=lines(("A-1", 4)))
        same = await desk.preview("create_order", customer="ACME", lines=lines(("A-1", 4)))
        old = await desk.preview("create_order", customer="ACME", lines=lines(("A-1", 3)))
    assert (same.facts["twins"], old.facts["twins"]) == ([number], [])


def _state(host: Host, number: str) -> object:
    """An order without its version, and all stock without versions."""
    with host.erp.store.read() as tx:
        kept = [column for column in orders.c if column.name != "version"]
        order = tx.connection.execute(sa.select(*kept).where(orders.c.id == number)).one()
        its = sa.select(order_lines).where(order_lines.c.order_id == number).order_by(order_lines.c.line_no)
        return tuple(order), [tuple(row) for row in tx.connection.execute(its)], stock_of(host.erp.store, "A-1")
