"""The target moved between preview and approval: nothing executes, and a fresh preview with the difference waits."""

from contextlib import closing
from typing import Any

import pytest
import sqlalchemy as sa
from langgraph.types import Command

from erp_mcp.store.engine import open_store
from erp_mcp.store.tables import orders, products
from graph import approve, edit, reject
from graph.settings import Settings
from graph.threads import Agent
from tests.integration.agent_fixtures import (
    OPEN,
    Script,
    act_otherwise,
    adjust,
    agent,
    calls,
    cancel,
    config,
    effects,
    heard,
    ledger_rows,
    moves,
    northwind_home,
    order,
    run_now,
    script,
    scripted,
    settings,
    stock_of,
)

__all__ = ["agent", "northwind_home", "script", "scripted", "settings"]


def change(settings: Settings, statement: sa.Update) -> None:
    """Somebody else's change in the ERP, by another program."""
    with closing(open_store(settings.erp_database)) as store, store.write() as tx:
        assert tx.connection.execute(statement).rowcount == 1


def touch_order(settings: Settings, **values: Any) -> None:
    """Changes the order and raises its version, as every writer of the ERP does."""
    change(settings, sa.update(orders).where(orders.c.id == OPEN).values(version=orders.c.version + 1, **values))


async def shown(agent: Agent, thread_id: str) -> dict[str, Any]:
    """The one request that a chat UI shows."""
    (interrupt,) = (await agent.graph.aget_state(config(thread_id))).interrupts
    (action,) = interrupt.value["action_requests"]
    request: dict[str, Any] = action
    return request


@pytest.mark.guarantee("stale-asks-again", "what-you-saw", "A15")
async def test_an_order_that_was_changed_meanwhile_asks_again(agent: Agent, settings: Settings) -> None:
    """Nothing executes; the fresh preview says what moved and supersedes the old one; approving it executes."""
    asked = await agent.call(*cancel(OPEN), requested_by="nancy")
    touch_order(settings, note="deliver before noon")
    stale = await agent.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    (fresh,) = stale.pending
    assert (stale.outcome, stale.status, effects(settings)) == ("stale", "pending", [])
    assert fresh.approval_id in stale.note
    assert (fresh.supersedes, fresh.requested_by) == (asked.pending[0].approval_id, "nancy")
    action = await shown(agent, asked.thread_id)
    moved = f"order {OPEN} version: 1 → 2"
    assert moved in action["difference"]
    assert moved in fresh.difference
    assert [one.difference for one in await agent.pending()] == [fresh.difference]
    assert moved in fresh._repr_mimebundle_()["text/html"]
    assert "Changed since you looked" in action["description"]
    done = await agent.resume(asked.thread_id, approve(fresh, by="laura"))
    assert (done.outcome, order(settings, OPEN).status) == ("executed", "cancelled")
    assert [(row.status, row.decided_by) for row in ledger_rows(settings)] == [
        ("stale", "andrew"),
        ("executed", "laura"),
    ]
    assert [row.approver for row in effects(settings)] == ["laura"]


@pytest.mark.guarantee("stale-asks-again", "once")
async def test_it_asks_again_as_often_as_it_moves(agent: Agent, settings: Settings) -> None:
    """Three times stale, and only the last, true preview has an effect."""
    asked = await agent.call(*adjust("NW-011", -1))
    start = stock_of(settings, "NW-011")[0]
    run = asked
    for number in range(1, 4):
        await act_otherwise(agent, "NW-011", 1)
        before = run.pending[0]
        run = await agent.resume(asked.thread_id, approve(before, by="andrew"))
        assert (run.outcome, run.pending[0].supersedes) == ("stale", before.approval_id)
        assert run.pending[0].preview.changes[0].before == str(start + number)
    assert (await agent.resume(asked.thread_id, approve(run.pending[0], by="andrew"))).outcome == "executed"
    assert moves(settings, "NW-011") == [("NW-011", "adjustment", 1, 0)] * 3 + [("NW-011", "adjustment", -1, 0)]


@pytest.mark.guarantee("stale-asks-again", "never-silent")
async def test_the_old_approval_does_not_count_for_the_fresh_preview(agent: Agent, settings: Settings) -> None:
    """A second click on the stale one, or a rejection of it, changes nothing; the fresh one waits."""
    asked = await agent.call(*adjust("NW-011", -1))
    await act_otherwise(agent, "NW-011", 1)
    old = asked.pending[0]
    stale = await agent.resume(asked.thread_id, approve(old, by="andrew"))
    for answer in (approve(old, by="andrew"), approve(old, by="laura"), reject(old, by="andrew")):
        late = await agent.resume(asked.thread_id, answer)
        assert (late.outcome, late.pending) == ("stale", stale.pending)
        assert "decided by andrew" in late.note
        assert stale.pending[0].approval_id in late.note
    assert moves(settings, "NW-011") == [("NW-011", "adjustment", 1, 0)]


@pytest.mark.guarantee("stale-asks-again")
async def test_what_can_no_longer_be_done_is_not_asked_again(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """The order was shipped meanwhile: nothing executes, nothing waits, and the model hears why."""
    script.replies.append(calls(cancel(OPEN)))
    asked = await scripted.start("cancel it")
    touch_order(settings, status="shipped")
    run = await scripted.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert (run.outcome, run.status, run.pending, effects(settings)) == ("stale", "done", [], [])
    assert "shipped" in run.note
    (told,) = heard(script.given[-1], "cancel_order")
    assert told["error"]["code"] == "not_cancellable"
    touch_order(settings, status="confirmed")  # so that the books balance again


@pytest.mark.guarantee("A15")
async def test_a_new_price_asks_again(agent: Agent, settings: Settings) -> None:
    """The total that was approved is the total that is ordered, or nobody has approved it."""
    asked = await agent.call("create_order", {"customer": "ALFKI", "lines": [{"sku": "NW-011", "quantity": 2}]})
    assert asked.pending[0].preview.money[0].amount == "42.00"
    change(settings, sa.update(products).where(products.c.sku == "NW-011").values(unit_price_minor=2200))
    stale = await agent.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert (stale.outcome, effects(settings)) == ("stale", [])
    assert "order total: 42.00 USD → 44.00 USD" in (await shown(agent, asked.thread_id))["difference"]
    done = await agent.resume(asked.thread_id, approve(stale.pending[0], by="andrew"))
    assert (done.outcome, done.receipts[0].result["total"]) == ("executed", "44.00")


async def test_what_is_only_context_does_not_make_it_stale(agent: Agent, settings: Settings) -> None:
    """How much stock is left is shown with an order, but not bound: enough is all that counts."""
    asked = await agent.call("create_order", {"customer": "ALFKI", "lines": [{"sku": "NW-011", "quantity": 2}]})
    await act_otherwise(agent, "NW-011", -1)
    run = await agent.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert run.outcome == "executed"
    assert len(effects(settings)) == 2


@pytest.mark.guarantee("stale-asks-again")
async def test_an_edited_call_that_is_stale_asks_again_as_edited(agent: Agent, settings: Settings) -> None:
    """The approver's change is not lost when the target moves."""
    asked = await agent.call(*adjust("NW-011", -1))
    edited = await agent.resume(asked.thread_id, edit(asked.pending[0], adjust("NW-011", -3)[1], by="andrew"))
    await act_otherwise(agent, "NW-011", 1)
    stale = await agent.resume(asked.thread_id, approve(edited.pending[0], by="andrew"))
    assert (stale.outcome, stale.pending[0].args["delta"]) == ("stale", -3)
    await agent.resume(asked.thread_id, approve(stale.pending[0], by="andrew"))
    assert moves(settings, "NW-011")[-1] == ("NW-011", "adjustment", -3, 0)


@pytest.mark.guarantee("stale-asks-again")
async def test_through_langgraph_it_is_stale_too(scripted: Agent, script: Script, settings: Settings) -> None:
    """A chat UI's approval of a preview that is no longer true shows the fresh one in the same thread."""
    script.replies.append(calls(adjust("NW-011", -1)))
    asked = await scripted.start("correct it")
    await act_otherwise(scripted, "NW-011", 1)
    old = await shown(scripted, asked.thread_id)
    for _ in range(2):
        yes = {old["approval_id"]: {"decision": "approve", "digest": old["digest"]}}
        await scripted.graph.ainvoke(Command(resume=yes), config(asked.thread_id))
        fresh = await shown(scripted, asked.thread_id)
        assert fresh["supersedes"] == old["approval_id"]
    assert moves(settings, "NW-011") == [("NW-011", "adjustment", 1, 0)]


@pytest.mark.guarantee("stale-asks-again")
async def test_a_double_click_does_not_approve_what_its_first_click_brought_up(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """Clients that send no digest can mean only a preview that was there when they clicked."""
    script.replies.append(calls(adjust("NW-011", -1)))
    asked = await scripted.start("correct it")
    await act_otherwise(scripted, "NW-011", 1)
    clicked, yes = run_now(), {"decisions": [{"type": "approve"}]}
    await scripted.graph.ainvoke(Command(resume=yes), config(asked.thread_id) | clicked)
    await scripted.graph.ainvoke(Command(resume=yes), config(asked.thread_id) | clicked)
    assert moves(settings, "NW-011") == [("NW-011", "adjustment", 1, 0)]
    fresh = await shown(scripted, asked.thread_id)
    assert fresh["supersedes"] == asked.pending[0].approval_id
    await scripted.graph.ainvoke(Command(resume=yes), config(asked.thread_id) | run_now())
    assert moves(settings, "NW-011")[1:] == [("NW-011", "adjustment", -1, 0)]
