"""A new message while an approval waits: refused with what waits, or taken in its place on request; never lost."""

from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from graph import approve
from graph.app import open_agent
from graph.desk import decide
from graph.errors import PendingError
from graph.run import Run
from graph.settings import Settings
from graph.state import Input
from graph.threads import Agent
from tests.integration.agent_fixtures import (
    OPEN,
    Script,
    adjust,
    calls,
    cancel,
    config,
    effects,
    heard,
    ledger_rows,
    moves,
    northwind_home,
    script,
    scripted,
    settings,
)

__all__ = ["northwind_home", "script", "scripted", "settings"]


async def ask(agent: Agent, script: Script) -> Run:
    """A thread that waits for a cancellation."""
    script.replies[:] = [calls(cancel(OPEN))]
    return await agent.start("cancel it", requested_by="nancy")


@pytest.mark.guarantee("A6", "nothing-lost", "never-silent")
async def test_it_is_refused_with_what_waits(scripted: Agent, script: Script, settings: Settings) -> None:
    """The message is not taken, the approval stays, and approving it works as if nothing had been said."""
    asked = await ask(scripted, script)
    for attempt in (scripted.start("and what else?", thread_id=asked.thread_id),
                    scripted.call("get_order", {"order_id": OPEN}, thread_id=asked.thread_id)):  # fmt: skip
        with pytest.raises(PendingError) as refused:
            await attempt
        assert refused.value.pending == asked.pending
        assert asked.pending[0].approval_id in refused.value.message
        assert "supersede" in refused.value.hint
    run = await scripted.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert (run.outcome, run.answer, len(effects(settings))) == ("executed", "done", 1)
    assert [str(m.text) for m in run.messages if isinstance(m, HumanMessage)] == ["cancel it"]


@pytest.mark.guarantee("A6", "never-silent")
async def test_on_request_it_takes_the_place_of_what_waits(scripted: Agent, script: Script, settings: Settings) -> None:
    """The approval is withdrawn and says so to the model and to a late approver; the new message is answered."""
    asked = await ask(scripted, script)
    script.replies[:] = [AIMessage("as you wish"), AIMessage("the new answer")]
    run = await scripted.start("forget it", thread_id=asked.thread_id, supersede=True)
    assert (run.status, run.answer) == ("done", "the new answer")
    (told,) = heard(script.given[-1], "cancel_order")
    assert told["outcome"] == "superseded"
    late = await scripted.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert (late.outcome, effects(settings)) == ("superseded", [])
    assert [(row.status, row.decided_by) for row in ledger_rows(settings)] == [("superseded", None)]


@pytest.mark.guarantee("A6", "nothing-lost")
async def test_what_is_approved_already_is_carried_out_first(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """Of two calls one was approved: it runs, the other is withdrawn, then the new message is taken."""
    script.replies[:] = [calls(adjust("NW-011", 1), cancel(OPEN))]
    asked = await scripted.start("do both")
    await scripted.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert effects(settings) == []
    run = await scripted.start("never mind the rest", thread_id=asked.thread_id, supersede=True)
    assert run.status == "done"
    assert moves(settings) == [("NW-011", "adjustment", 1, 0)]
    assert sorted(row.status for row in ledger_rows(settings)) == ["executed", "superseded"]


@pytest.mark.guarantee("A6", "nothing-lost")
async def test_a_decision_that_has_not_reached_the_thread_is_settled_first(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """The approver's process died after the ledger knew: the next message finds it approved, and it runs first."""
    asked = await ask(scripted, script)
    await decide(scripted.services, [approve(asked.pending[0], by="andrew")], by="andrew")
    run = await scripted.start("and now?", thread_id=asked.thread_id)
    assert (run.status, len(effects(settings)), ledger_rows(settings)[0].status) == ("done", 1, "executed")
    (told,) = heard(script.given[-1], "cancel_order")
    assert told["outcome"] == "executed"


@pytest.mark.guarantee("A6")
async def test_an_expired_approval_keeps_nobody_from_speaking(settings: Settings) -> None:
    """It is closed as expired, the model hears that, and the message is taken."""
    now, script = datetime(2026, 12, 1, tzinfo=UTC), Script()
    async with open_agent(settings, chat=script, clock=lambda: now) as agent:
        asked = await ask(agent, script)
        now += timedelta(days=31)
        run = await agent.start("still there?", thread_id=asked.thread_id)
    assert (run.status, run.answer, effects(settings)) == ("done", "done", [])
    (told,) = heard(script.given[-1], "cancel_order")
    assert told["outcome"] == "expired"


@pytest.mark.guarantee("A6", "nothing-lost")
async def test_a_chat_uis_message_does_not_discard_the_approval(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """Plain LangGraph starts a new run without asking: it is answered with what waits, and the approval stays."""
    asked = await ask(scripted, script)
    for _ in range(2):
        said: Input = {"messages": [HumanMessage("what is in order 10248?")]}
        after = await scripted.graph.ainvoke(said, config(asked.thread_id))
        assert asked.pending[0].approval_id in str(after["messages"][-1].text)
        assert len(script.given) == 1
    assert [row.id for row in ledger_rows(settings)] == [asked.pending[0].approval_id]
    run = await scripted.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert (run.outcome, len(effects(settings))) == ("executed", 1)
    assert not any("10248" in str(m.text) for m in run.messages if isinstance(m, HumanMessage))


@pytest.mark.guarantee("A6")
async def test_a_chat_uis_message_after_a_decision_carries_it_out_first(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """Decided in the ledger, and then a plain new run: the write is settled before the model speaks again."""
    asked = await ask(scripted, script)
    await decide(scripted.services, [approve(asked.pending[0], by="andrew")], by="andrew")
    await scripted.graph.ainvoke({"messages": [HumanMessage("and now?")]}, config(asked.thread_id))
    assert len(effects(settings)) == 1
    (told,) = heard(script.given[-1], "cancel_order")
    assert told["outcome"] == "executed"


@pytest.mark.guarantee("A6", "never-silent")
async def test_a_message_that_meets_a_decision_on_a_called_tool_is_answered(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """The result comes in behind the user's words, and these are answered all the same."""
    asked = await scripted.call(*cancel(OPEN), requested_by="nancy")
    await decide(scripted.services, [approve(asked.pending[0], by="andrew")], by="andrew")
    script.replies[:] = [AIMessage("cancelled, as you see")]
    said: Input = {"messages": [HumanMessage("and now?")]}
    after = await scripted.graph.ainvoke(said, config(asked.thread_id))
    assert (str(after["messages"][-1].text), len(effects(settings))) == ("cancelled, as you see", 1)
