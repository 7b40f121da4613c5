"""Writes over MCP and under real races: previewed without a grant, executed once with one, never half."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
import time_machine
from fastmcp import Client

from erp_mcp.contract import META_GRANTS, BatchCall, JsonObject, Preview, WriteAnswer
from erp_mcp.errors import ErpError
from erp_mcp.grants import Verifier, load_or_create_key
from erp_mcp.operations.execute import batch
from erp_mcp.store.invariants import check_invariants
from erp_mcp.store.tables import operations, orders, products, stock_moves
from tests.integration.small_erp import (
    OPEN,
    SHIPPED,
    Host,
    ask,
    everything,
    make_small_erp,
    open_host,
    preview_of,
    send,
    stock_of,
)

CANCEL: JsonObject = {"order_id": OPEN, "reason": "ordered by mistake"}
ADJUST: JsonObject = {"sku": "A-1", "delta": -5, "reason": "count"}
CREATE: JsonObject = {"customer": "ACME", "lines": [{"sku": "A-1", "quantity": 3}]}
WRITES = [("cancel_order", CANCEL), ("adjust_stock", ADJUST), ("create_order", CREATE)]


@pytest.fixture
def host(erp_url: str, tmp_path: Path) -> Iterator[Host]:
    """The small ERP and a host that may sign for it; whatever a test did, the books must balance afterwards."""
    make_small_erp(erp_url)
    opened = open_host(erp_url, tmp_path)
    yield opened
    with opened.erp.store.read() as tx:
        assert check_invariants(tx) == []
    opened.erp.close()


def verifier(host: Host, home: Path) -> Verifier:
    """The ERP's own check, for calls that do not go over MCP."""
    return Verifier(load_or_create_key(home / "approval.key"), host.erp.instance_id)


def run(host: Host, check: Verifier, tool: str, arguments: JsonObject, token: str | None = None) -> WriteAnswer:
    """One call, in this thread and on its own connection."""
    calls = [BatchCall(tool=tool, arguments=arguments)]
    return batch(host.erp.store, check, host.erp.registry, calls, None if token is None else [token])[0]


def at_once(*jobs: Callable[[], WriteAnswer]) -> list[WriteAnswer | ErpError]:
    """Run jobs in threads that all stand at one barrier first."""
    barrier = threading.Barrier(len(jobs))

    def start(job: Callable[[], WriteAnswer]) -> WriteAnswer | ErpError:
        barrier.wait()
        try:
            return job()
        except ErpError as error:
            return error

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(start, jobs))


def preview(host: Host, check: Verifier, tool: str, arguments: JsonObject) -> Preview:
    """The preview of one call."""
    found = run(host, check, tool, arguments).preview
    assert found is not None
    return found


@pytest.mark.guarantee("signed-only")
@pytest.mark.parametrize(("tool", "arguments"), WRITES)
async def test_a_raw_client_changes_nothing_and_gets_a_preview(host: Host, tool: str, arguments: JsonObject) -> None:
    """Without a grant no table changes by a byte; the answer is approval_required with a whole preview."""
    before = everything(host.erp.store)
    async with Client(host.erp.server) as client:
        shown = await preview_of(client, tool, **arguments)
    assert everything(host.erp.store) == before
    assert shown.is_whole()
    assert shown.tool == tool
    assert shown.reversibility.how


@pytest.mark.guarantee("once")
@pytest.mark.parametrize(("tool", "arguments"), WRITES)
async def test_a_grant_executes_once_and_its_receipt_comes_back_ever_after(
    host: Host, tool: str, arguments: JsonObject
) -> None:
    """The first call executes, later ones return the same receipt, even when the grant has long expired."""
    async with Client(host.erp.server) as client:
        shown = await preview_of(client, tool, **arguments)
        with time_machine.travel(datetime.now(UTC), tick=True):
            token = host.grant(shown)
            refused, first = await ask(client, tool, token, **arguments)
        after = everything(host.erp.store)
        again = await ask(client, tool, token, **arguments)
        with time_machine.travel(datetime.now(UTC) + timedelta(hours=1), tick=True):
            late = await ask(client, tool, token, **arguments)
    assert not refused
    assert first["status"] == "executed"
    assert again == late == (False, {"status": "already_executed", "receipt": again[1]["receipt"]})
    assert again[1]["receipt"] == first["receipt"] | {"status": "already_executed"}
    assert everything(host.erp.store) == after


@pytest.mark.guarantee("accountable")
async def test_the_operations_row_says_who_asked_who_approved_and_what_they_saw(host: Host) -> None:
    """The row, the order, the moves and the receipt agree, and all carry the approval's id."""
    async with Client(host.erp.server) as client:
        shown = await preview_of(client, "cancel_order", **CANCEL)
        _, answer = await ask(client, "cancel_order", host.grant(shown), **CANCEL)
    with host.erp.store.read() as tx:
        row = tx.connection.execute(sa.select(operations)).one()
        order = tx.connection.execute(sa.select(orders).where(orders.c.id == OPEN)).one()
        moves = tx.connection.execute(sa.select(stock_moves).where(stock_moves.c.approval_id == row.approval_id)).all()
    assert (row.approver, row.requested_by, row.arguments) == ("andrew", "nancy", CANCEL)
    assert Preview.model_validate(row.preview) == shown
    assert row.receipt == answer["receipt"]
    assert (order.status, order.version, order.reason) == ("cancelled", 2, "ordered by mistake")
    assert sorted((m.kind, m.sku, m.reserved_delta_milli) for m in moves) == [
        ("release", "A-1", -20_000),
        ("release", "B-2", -2_500),
    ]
    assert stock_of(host.erp.store, "A-1") == (100_000, 0)


@pytest.mark.guarantee("stale-asks-again")
async def test_what_moved_since_the_preview_is_not_executed_and_is_shown_afresh(host: Host) -> None:
    """On hand 100 became 96 after the preview: nothing happens, and the error carries the new preview."""
    async with Client(host.erp.server) as client:
        shown = await preview_of(client, "adjust_stock", **ADJUST)
        other = {"sku": "A-1", "delta": -4, "reason": "broken"}
        await ask(client, "adjust_stock", host.grant(await preview_of(client, "adjust_stock", **other)), **other)
        before = everything(host.erp.store)
        refused, answer = await ask(client, "adjust_stock", host.grant(shown), **ADJUST)
        assert everything(host.erp.store) == before
        fresh = Preview.model_validate(answer["error"]["preview"])
        assert refused
        assert answer["error"]["code"] == "stale_version"
        assert answer["error"]["retryable"]
        assert (shown.changes[0].before, fresh.changes[0].before) == ("100", "96")
        assert fresh.is_whole()
        assert (await ask(client, "adjust_stock", host.grant(fresh), **ADJUST))[1]["status"] == "executed"
    assert stock_of(host.erp.store, "A-1")[0] == 91_000


@pytest.mark.guarantee("A15")
async def test_a_price_that_changed_since_the_preview_asks_again(host: Host) -> None:
    """Money is bound: an order is placed at the price that was approved, or not at all."""
    async with Client(host.erp.server) as client:
        shown = await preview_of(client, "create_order", **CREATE)
        with host.erp.store.write() as tx:
            tx.connection.execute(sa.update(products).where(products.c.sku == "A-1").values(unit_price_minor=1001))
        refused, answer = await ask(client, "create_order", host.grant(shown), **CREATE)
    assert refused
    assert answer["error"]["code"] == "stale_version"
    assert (shown.money[0].amount, answer["error"]["preview"]["money"][0]["amount"]) == ("30.00", "30.03")


async def test_stock_that_moved_does_not_make_an_order_ask_again(host: Host) -> None:
    """How much is left is context: enough is checked at execution, and a sale in between does no harm."""
    async with Client(host.erp.server) as client:
        shown = await preview_of(client, "create_order", **CREATE)
        await ask(client, "adjust_stock", host.grant(await preview_of(client, "adjust_stock", **ADJUST)), **ADJUST)
        refused, answer = await ask(client, "create_order", host.grant(shown), **CREATE)
    assert not refused
    assert answer["receipt"]["result"]["status"] == "confirmed"


@pytest.mark.guarantee("B7")
async def test_the_second_of_two_identical_orders_asks_again(erp_url: str, tmp_path: Path) -> None:
    """Both were approved before either was placed; the second is shown its twin, and is placed if approved again."""
    make_small_erp(erp_url)
    now = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    host = open_host(erp_url, tmp_path, clock=lambda: now, zone=ZoneInfo("Europe/Berlin"))
    async with Client(host.erp.server) as client:
        first, second = [await preview_of(client, "create_order", **CREATE) for _ in range(2)]
        _, placed = await ask(client, "create_order", host.grant(first), **CREATE)
        refused, answer = await ask(client, "create_order", host.grant(second), **CREATE)
        assert refused
        fresh = Preview.model_validate(answer["error"]["preview"])
        assert placed["receipt"]["result"]["order_id"] == "SO20260302-0001"
        assert fresh.facts["twins"] == ["SO20260302-0001"]
        assert fresh.warnings == ["Same customer and lines as SO20260302-0001, placed 00:30."]
        _, again = await ask(client, "create_order", host.grant(fresh), **CREATE)
        assert again["receipt"]["result"]["order_id"] == "SO20260302-0002"
        now += timedelta(hours=25)
        assert (await preview_of(client, "create_order", **CREATE)).facts["twins"] == []
    host.erp.close()


@pytest.mark.guarantee("once")
@pytest.mark.parametrize(("tool", "arguments"), WRITES)
def test_one_grant_raced_by_eight_threads_has_one_effect(
    host: Host, tmp_path: Path, tool: str, arguments: JsonObject
) -> None:
    """Real connections behind a barrier: one executes, the others get its receipt."""
    check = verifier(host, tmp_path)
    token = host.grant(preview(host, check, tool, arguments))
    answers = at_once(*[lambda: run(host, check, tool, arguments, token)] * 8)
    receipts = [answer.receipt for answer in answers if isinstance(answer, WriteAnswer) and answer.receipt]
    assert sorted(receipt.status for receipt in receipts) == ["already_executed"] * 7 + ["executed"]
    assert len({receipt.model_dump_json(exclude={"status"}) for receipt in receipts}) == 1
    with host.erp.store.read() as tx:
        assert tx.connection.scalar(sa.select(sa.func.count()).select_from(operations)) == 1


@pytest.mark.guarantee("once")
def test_two_approvals_of_one_tool_call_have_one_effect(host: Host, tmp_path: Path) -> None:
    """Whatever the rounds: the call is the same, so the second approval gets the first one's receipt."""
    check = verifier(host, tmp_path)
    shown = preview(host, check, "create_order", CREATE)
    tokens = [host.grant(shown, call="one-call") for _ in range(2)]
    answers = at_once(*[lambda t=t: run(host, check, "create_order", CREATE, t) for t in tokens])
    numbers = {a.receipt.result["order_id"] for a in answers if isinstance(a, WriteAnswer) and a.receipt}
    assert len(numbers) == 1
    with pytest.raises(ErpError) as refused:
        run(host, check, "create_order", CREATE | {"note": "other"}, host.grant(shown, call="one-call"))
    assert refused.value.code == "grant_mismatch"


@pytest.mark.guarantee("E3")
def test_the_last_one_is_sold_once(host: Host, tmp_path: Path) -> None:
    """Two customers, two approvals, one unit: one order, one insufficient_stock that names what is short."""
    check = verifier(host, tmp_path)
    wanted = [{"customer": c, "lines": [{"sku": "LAST", "quantity": 1}]} for c in ("ACME", "ZWEI")]
    tokens = [host.grant(preview(host, check, "create_order", arguments)) for arguments in wanted]
    answers = at_once(
        *[lambda a=a, t=t: run(host, check, "create_order", a, t) for a, t in zip(wanted, tokens, strict=True)]
    )
    (error,) = [answer for answer in answers if isinstance(answer, ErpError)]
    assert error.code == "insufficient_stock"
    assert error.details["shortages"] == [{"sku": "LAST", "name": "The last one", "requested": "1", "available": "0"}]
    assert stock_of(host.erp.store, "LAST") == (1_000, 1_000)


@pytest.mark.guarantee("E4")
def test_two_adjustments_at_once_both_count_or_one_asks_again(host: Host, tmp_path: Path) -> None:
    """−5 and −3 on 100: one of them is stale, asks again on what the other left, and 92 remain with two moves."""
    check = verifier(host, tmp_path)
    wanted: list[JsonObject] = [{"sku": "A-1", "delta": d, "reason": "count"} for d in (-5, -3)]
    tokens = [host.grant(preview(host, check, "adjust_stock", arguments)) for arguments in wanted]
    answers = at_once(
        *[lambda a=a, t=t: run(host, check, "adjust_stock", a, t) for a, t in zip(wanted, tokens, strict=True)]
    )
    (late,) = [i for i, answer in enumerate(answers) if isinstance(answer, ErpError)]
    error = answers[late]
    assert isinstance(error, ErpError)
    assert error.code == "stale_version"
    fresh = Preview.model_validate(error.details["preview"])
    run(host, check, "adjust_stock", wanted[late], host.grant(fresh))
    assert stock_of(host.erp.store, "A-1")[0] == 92_000
    with host.erp.store.read() as tx:
        adjusted = sa.select(sa.func.count()).where(stock_moves.c.kind == "adjustment")
        assert tx.connection.scalar(adjusted) == 2


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


@pytest.mark.guarantee("E5")
def test_a_line_that_ran_short_after_approval_leaves_the_others_untouched(host: Host, tmp_path: Path) -> None:
    """The shortage appears at execution: the whole order is refused, and nothing of it stays."""
    check = verifier(host, tmp_path)
    both: JsonObject = {"customer": "ACME", "lines": [{"sku": "A-1", "quantity": 1}, {"sku": "LAST", "quantity": 1}]}
    token = host.grant(preview(host, check, "create_order", both))
    last: JsonObject = {"customer": "ZWEI", "lines": [{"sku": "LAST", "quantity": 1}]}
    run(host, check, "create_order", last, host.grant(preview(host, check, "create_order", last)))
    before = everything(host.erp.store)
    with pytest.raises(ErpError) as refused:
        run(host, check, "create_order", both, token)
    assert refused.value.code == "insufficient_stock"
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


BATCH = [
    {"tool": "cancel_order", "arguments": CANCEL},
    {"tool": "adjust_stock", "arguments": ADJUST | {"delta": -95}},
]


async def test_a_batch_previews_each_call_on_top_of_the_ones_before_it(host: Host) -> None:
    """95 apples can only go once the order's 20 are released; the preview alone changes nothing."""
    before = everything(host.erp.store)
    async with Client(host.erp.server) as client:
        refused, answer = await send(client, "batch", {"calls": BATCH}, {})
        assert not refused
        previews = [Preview.model_validate(a["preview"]) for a in answer["answers"]]
        assert everything(host.erp.store) == before
        assert previews[1].context["reserved"] == "0"
        tokens = [host.grant(p) for p in previews]
        refused, answer = await send(client, "batch", {"calls": BATCH}, {META_GRANTS: tokens})
        assert [a["status"] for a in answer["answers"]] == ["executed", "executed"]
        refused, answer = await send(client, "batch", {"calls": BATCH}, {META_GRANTS: tokens})
        assert [a["status"] for a in answer["answers"]] == ["already_executed", "already_executed"]
    assert stock_of(host.erp.store, "A-1") == (5_000, 0)


async def test_a_batch_is_all_or_nothing_and_says_which_call_failed(host: Host) -> None:
    """The second call went stale: the first one, good in itself, is not executed either."""
    calls = [{"tool": "adjust_stock", "arguments": {"sku": "B-2", "delta": 1, "reason": "x"}}, *BATCH[:1]]
    async with Client(host.erp.server) as client:
        _, answer = await send(client, "batch", {"calls": calls}, {})
        tokens = [host.grant(Preview.model_validate(a["preview"])) for a in answer["answers"]]
        with host.erp.store.write() as tx:
            tx.connection.execute(sa.update(orders).where(orders.c.id == OPEN).values(version=7))
        before = everything(host.erp.store)
        refused, answer = await send(client, "batch", {"calls": calls}, {META_GRANTS: tokens})
    assert refused
    assert (answer["error"]["code"], answer["error"]["index"]) == ("stale_version", 1)
    assert everything(host.erp.store) == before


@pytest.mark.parametrize(
    ("calls", "code"),
    [
        ([], "invalid_argument"),
        ([{"tool": "get_order", "arguments": {"order_id": OPEN}}], "not_a_write"),
        ([{"tool": "batch", "arguments": {"calls": []}}], "unknown_tool"),
        ([{"tool": "no_such", "arguments": {}}], "unknown_tool"),
        ([BATCH[0], {"tool": "cancel_order", "arguments": {}}], "invalid_argument"),
        ([BATCH[0], BATCH[0]], "already_cancelled"),
    ],
)
async def test_a_batch_that_cannot_be_planned_is_refused(host: Host, calls: list[Any], code: str) -> None:
    """Only writes, each of them possible after those before it."""
    before = everything(host.erp.store)
    async with Client(host.erp.server) as client:
        refused, answer = await send(client, "batch", {"calls": calls}, {})
    assert (refused, answer["error"]["code"]) == (True, code)
    assert len(calls) < 2 or answer["error"]["index"] == 1
    assert everything(host.erp.store) == before
