"""Writes over MCP: previewed without a grant, executed once with one, in batches all or nothing."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa
import time_machine
from fastmcp import Client

from erp_mcp.contract import META_GRANTS, JsonObject, Preview
from erp_mcp.errors import ErpError
from erp_mcp.store.tables import operations, orders, products, stock_moves
from tests.integration.small_erp import (
    OPEN,
    Host,
    ask,
    balanced_host,
    everything,
    make_small_erp,
    open_host,
    preview_of,
    run,
    send,
    stock_of,
    verifier,
)

CANCEL: JsonObject = {"order_id": OPEN, "reason": "ordered by mistake"}
ADJUST: JsonObject = {"sku": "A-1", "delta": -5, "reason": "count"}
CREATE: JsonObject = {"customer": "ACME", "lines": [{"sku": "A-1", "quantity": 3}]}
WRITES = [("cancel_order", CANCEL), ("adjust_stock", ADJUST), ("create_order", CREATE)]


@pytest.fixture
def host(erp_url: str, tmp_path: Path) -> Iterator[Host]:
    """The small ERP and a host that may sign for it; whatever a test did, the books must balance afterwards."""
    with balanced_host(erp_url, tmp_path) as opened:
        yield opened


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


@pytest.mark.guarantee("once", "A14")
async def test_a_receipt_outlives_its_tool(host: Host, tmp_path: Path) -> None:
    """What a release did under a name or an argument that the next one lacks is told by its grant, and by no other."""
    async with Client(host.erp.server) as client:
        shown = await preview_of(client, "adjust_stock", **ADJUST)
        token = host.grant(shown, approval="a", call="c")
        _, first = await ask(client, "adjust_stock", token, **ADJUST)
        before = everything(host.erp.store)
        gone = {"sku": "A-1", "amount": -5, "reason": "count"}
        again = await ask(client, "adjust_stock", token, **gone)
        assert again == (False, first | {"status": "already_executed", "receipt": again[1]["receipt"]})
        assert again[1]["receipt"] == first["receipt"] | {"status": "already_executed"}
        for forged in (
            shown.model_copy(update={"digest": "0" * 64}), shown.model_copy(update={"tool": "cancel_order"}),
        ):  # fmt: skip
            refused, answer = await ask(client, "adjust_stock", host.grant(forged, approval="a", call="c"), **gone)
            assert (refused, answer["error"]["code"]) == (True, "invalid_argument")
        for other in ({"approval": "b", "call": "c"}, {"approval": "a", "call": "d"}):
            refused, answer = await ask(client, "adjust_stock", host.grant(shown, **other), **gone)
            assert (refused, answer["error"]["code"]) == (True, "invalid_argument")
        assert everything(host.erp.store) == before
    with pytest.raises(ErpError) as unknown:
        run(host, verifier(host, tmp_path), "correct_stock", gone, token)
    assert unknown.value.code == "unknown_tool"


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
