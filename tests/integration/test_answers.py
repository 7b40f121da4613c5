"""Answers from every client: a bad one is refused with its reason and changes nothing; the good one then works."""

import uuid
from typing import Any, Final

import pytest
from langgraph.types import Command

from graph import approve, edit, reject
from graph.decisions import Answer
from graph.errors import CountersignError
from graph.run import Run
from graph.settings import Settings
from graph.threads import Agent
from tests.integration.agent_fixtures import (
    DONE,
    OPEN,
    Script,
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
)

__all__ = ["agent", "northwind_home", "script", "scripted", "settings"]

YES: Final = {"type": "approve"}
BAD: Final[dict[str, Any]] = {
    "no decision": {"decisions": []},
    "one decision for two": {"decisions": [YES]},
    "three decisions for two": {"decisions": [YES, YES, YES]},
    "an unknown type": {"decisions": [{"type": "accept"}, YES]},
    "no type": {"decisions": [{}, YES]},
    "a decision of text": {"decisions": ["approve", YES]},
    "decisions of text": {"decisions": "approve"},
    "more keys": {"decisions": [YES, YES], "force": True},
    "an edit without an action": {"decisions": [{"type": "edit"}, YES]},
    "an edit of another tool": {
        "decisions": [{"type": "edit", "edited_action": {"name": "cancel_order", "args": {"order_id": DONE}}}, YES]
    },
    "an approval with arguments": {"decisions": [YES | {"edited_action": {"name": "adjust_stock", "args": {}}}, YES]},
    "a message that is no text": {"decisions": [{"type": "reject", "message": 7}, YES]},
    "no digest": {"decisions": [YES, YES]},
    "a digest of another type": {"decisions": [YES | {"digest": 7}, YES]},
    "a list": [YES, YES],
    "an empty list": [],
    "a list of text": ["approve"],
    "an unknown inbox type": [{"type": "approve"}],
    "an inbox type of lists": [{"type": []}],
    "an inbox edit without args": [{"type": "edit", "args": None}],
    "text": "approve",
    "true": True,
    "a number": 1,
    "an unknown approval": {"apr_unknown": {"decision": "approve"}},
    "a decision per id of text": {"ID": "approve"},
    "a missing decision": {"ID": {"digest": "x"}},
    "an unknown key": {"ID": {"decision": "approve", "digest": "DIGEST", "by": "andrew"}},
    "an edit without args": {"ID": {"decision": "edit", "digest": "DIGEST"}},
    "an edit that names another tool": {
        "ID": {
            "decision": "edit",
            "digest": "DIGEST",
            "name": "cancel_order",
            "args": {"order_id": DONE, "reason": "x"},
        }
    },
    "another digest": {"ID": {"decision": "approve", "digest": "0" * 64}},
    "an edit that cannot be planned": {"ID": {"decision": "edit", "digest": "DIGEST", "args": {"sku": "NW-999"}}},
}


def filled(answer: Any, asked: Run) -> Any:
    """The answer with the first approval's real id and digest in it."""
    if isinstance(answer, dict):
        known = {"ID": asked.pending[0].approval_id}
        return {known.get(key, key): filled(value, asked) for key, value in answer.items()}
    return asked.pending[0].digest if answer == "DIGEST" else answer


async def ask(agent: Agent, script: Script) -> Run:
    """A thread that waits for two corrections."""
    script.replies.append(calls(adjust("NW-011", 1), adjust("NW-012", 2)))
    return await agent.start("correct both")


async def request_of(agent: Agent, thread_id: str) -> dict[str, Any]:
    """What plain LangGraph shows as waiting."""
    (interrupt,) = (await agent.graph.aget_state(config(thread_id))).interrupts
    value: dict[str, Any] = interrupt.value
    return value


@pytest.mark.guarantee("A3", "A8", "nothing-lost")
@pytest.mark.parametrize("bad", BAD)
async def test_a_bad_answer_through_langgraph_is_refused_and_the_good_one_works(
    scripted: Agent, script: Script, settings: Settings, bad: str
) -> None:
    """The reason is shown in the request, both writes still wait, and the good answer executes them once."""
    asked = await ask(scripted, script)
    answer = filled(BAD[bad], asked)
    for by_id in (False, True):
        (interrupt,) = (await scripted.graph.aget_state(config(asked.thread_id))).interrupts
        resume = {interrupt.id: answer} if by_id else answer
        await scripted.graph.ainvoke(Command(resume=resume), config(asked.thread_id))
        request = await request_of(scripted, asked.thread_id)
        assert request["note"], "it was refused without a reason"
        assert [one["approval_id"] for one in request["action_requests"]] == [one.approval_id for one in asked.pending]
        assert ([row.status for row in ledger_rows(settings)], effects(settings)) == (["pending", "pending"], [])
    good = {"decisions": [YES | {"digest": one["digest"]} for one in request["action_requests"]]}
    await scripted.graph.ainvoke(Command(resume=good), config(asked.thread_id))
    assert moves(settings) == [("NW-011", "adjustment", 1, 0), ("NW-012", "adjustment", 2, 0)]
    assert [row.approver for row in effects(settings)] == ["user", "user"]


@pytest.mark.guarantee("A3", "never-silent")
async def test_a_bad_answer_at_our_own_door_is_refused_before_it_is_sent(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """One line with what to do; both still wait, and the good answers work."""
    asked = await ask(scripted, script)
    good = [approve(one, by="andrew") for one in asked.pending]
    made_up: list[Any] = [Answer("x", kind, "andrew") for kind in ("maybe", None)]  # type: ignore[arg-type]
    for bad in (None, {}, [], "approve", True, {"decisions": [YES]}, Answer("x", "approve", " "), *made_up):
        for answers in ([bad], [good[0], bad]):
            with pytest.raises(CountersignError) as refused:
                await scripted.resume(asked.thread_id, *answers)
            assert refused.value.hint
    assert [row.status for row in ledger_rows(settings)] == ["pending", "pending"]
    assert (await scripted.resume(asked.thread_id, *good)).outcome == "executed"


@pytest.mark.guarantee("A7", "never-silent")
async def test_a_decision_says_where_it_went_wrong(scripted: Agent, script: Script, settings: Settings) -> None:
    """Another thread, an unknown thread, an unknown approval, a finished thread: each has its own outcome."""
    asked = await ask(scripted, script)
    script.replies.append(calls(cancel(OPEN)))
    other = await scripted.start("cancel it")
    one = asked.pending[0]
    wrong = await scripted.resume(other.thread_id, approve(one, by="andrew"))
    assert wrong.outcome == "wrong_thread"
    assert asked.thread_id in wrong.note
    nowhere = str(uuid.uuid4())
    assert (await scripted.resume(nowhere, approve(one, by="andrew"))).outcome == "unknown"
    assert (await scripted.resume(nowhere, Answer("apr_none", "approve", "andrew"))).outcome == "unknown"
    assert (await scripted.resume(asked.thread_id, Answer("apr_none", "approve", "andrew"))).outcome == "unknown"
    assert effects(settings) == []
    await scripted.resume(asked.thread_id, *(reject(one, by="andrew") for one in asked.pending))
    late = await scripted.resume(asked.thread_id, approve(one, by="laura"))
    assert late.outcome == "already_decided"
    assert "andrew" in late.note
    elsewhere = await scripted.resume(other.thread_id, approve(one, by="andrew"))
    assert elsewhere.outcome == "wrong_thread"
    assert (effects(settings), [approval.tool for approval in elsewhere.pending]) == ([], ["cancel_order"])


@pytest.mark.guarantee("A7")
async def test_an_answer_to_a_thread_that_there_is_not_makes_none(scripted: Agent) -> None:
    """LangGraph would run the graph from its start with nothing in it."""
    nowhere = str(uuid.uuid4())
    await scripted.resume(nowhere, Answer("apr_none", "approve", "andrew"))
    assert (await scripted.graph.aget_state(config(nowhere))).created_at is None


async def test_agent_inbox_answers_the_first_of_several(scripted: Agent, script: Script, settings: Settings) -> None:
    """Its list of one, with arguments as text, decides the first request; the second waits on in a fresh request."""
    asked = await ask(scripted, script)
    answer = [{"type": "response", "args": "no"}]
    await scripted.graph.ainvoke(Command(resume=answer), config(asked.thread_id) | run_now())
    request = await request_of(scripted, asked.thread_id)
    assert [one["approval_id"] for one in request["action_requests"]] == [asked.pending[1].approval_id]
    assert [row.status for row in ledger_rows(settings)] == ["rejected", "pending"]


@pytest.mark.guarantee("A10")
async def test_ours_may_decide_one_of_several_through_langgraph(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """Keyed by approval id, one at a time; both run once the last is decided."""
    asked = await ask(scripted, script)
    for one in asked.pending:
        assert effects(settings) == []
        yes = {one.approval_id: {"decision": "approve", "digest": one.digest}}
        await scripted.graph.ainvoke(Command(resume=yes), config(asked.thread_id))
    assert len(effects(settings)) == 2


@pytest.mark.guarantee("edit-asks-again")
async def test_an_edit_through_langgraph_asks_again(scripted: Agent, script: Script, settings: Settings) -> None:
    """LangChain's edit makes a fresh preview in the same thread; the model hears what was done instead."""
    script.replies.append(calls(adjust("NW-011", 1)))
    asked = await scripted.start("correct it")
    one = asked.pending[0]
    edited = {"name": one.tool, "args": one.args | {"delta": 3}}
    answer = {"decisions": [{"type": "edit", "edited_action": edited, "digest": one.digest}]}
    await scripted.graph.ainvoke(Command(resume=answer), config(asked.thread_id))
    (request,) = (await request_of(scripted, asked.thread_id))["action_requests"]
    assert (request["args"]["delta"], request["supersedes"], effects(settings)) == (3, one.approval_id, [])
    run = await scripted.resume(asked.thread_id, Answer(request["approval_id"], "approve", "andrew", request["digest"]))
    assert (run.outcome, moves(settings)) == ("executed", [("NW-011", "adjustment", 3, 0)])
    (told,) = heard(script.given[-1], "adjust_stock")
    assert told["arguments"]["delta"] == 3


@pytest.mark.guarantee("A8", "edit-asks-again")
async def test_an_edit_never_switches_tools(scripted: Agent, script: Script, settings: Settings) -> None:
    """Arguments of another tool do not fit the approval's own, and nothing is decided."""
    asked = await ask(scripted, script)
    _, other = cancel(OPEN)
    run = await scripted.resume(asked.thread_id, edit(asked.pending[0], other, by="andrew"))
    assert (run.outcome, run.pending, order(settings, OPEN).status) == ("invalid", asked.pending, "confirmed")


@pytest.mark.guarantee("never-silent")
async def test_of_several_answers_at_once_each_has_its_own_outcome(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """What cannot count does not keep the others from counting."""
    asked = await ask(scripted, script)
    first, second = asked.pending
    void = Answer(second.approval_id, "approve", "andrew", "0" * 64)
    run = await scripted.resume(asked.thread_id, approve(first, by="andrew"), void)
    assert run.outcomes == {first.approval_id: "recorded", second.approval_id: "superseded"}
    assert [one.approval_id for one in run.pending] == [second.approval_id]
