"""``recover``: each row of DESIGN section 3's table, on a thread that was left just there."""

import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from checkpoints.database import database_url
from checkpoints.saver import open_saver
from erp_mcp.contract import Receipt
from graph import approve, reject
from graph.app import open_agent, open_services
from graph.bridge import Bridge
from graph.build import assemble
from graph.decisions import Answer
from graph.desk import decide
from graph.errors import LostAnswerError, NoAnswerError
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
    ledger_rows,
    moves,
    northwind_home,
    script,
    scripted,
    settings,
)

__all__ = ["northwind_home", "script", "scripted", "settings"]

pytestmark = pytest.mark.guarantee("nothing-lost")


async def ask(agent: Agent, script: Script) -> Run:
    """A thread that waits for a cancellation."""
    script.replies[:] = [calls(cancel(OPEN))]
    return await agent.start("cancel it", requested_by="nancy")


async def stop_before(agent: Agent, script: Script, node: str) -> str:
    """A thread whose run was cut off before a node, and whose holder is dead."""
    script.replies[:] = [calls(cancel(OPEN))]
    said: Input = {"messages": [HumanMessage("cancel it")], "requested_by": "nancy"}
    await agent.graph.ainvoke(said, config("cut-off"), interrupt_before=[node], durability="sync")
    assert (await agent.graph.aget_state(config("cut-off"))).next == (node,)
    leave_a_lease(agent, "cut-off")
    return "cut-off"


def leave_a_lease(agent: Agent, thread_id: str) -> None:
    """As a process leaves it that was killed."""
    assert agent.services.leases.take(thread_id, f"{socket.gethostname()}/4194304/1/x")


async def decide_only(agent: Agent, *answers: Answer) -> None:
    """The ledger knows, and the process dies before LangGraph does."""
    decided = await decide(agent.services, answers, by="andrew")
    assert all(one.recorded for one in decided)


@pytest.mark.parametrize("node", ["model", "propose"])
async def test_a_run_that_was_cut_off_before_it_asked_goes_on(
    scripted: Agent, script: Script, settings: Settings, node: str
) -> None:
    """It comes to the approval, and waits there for a person."""
    thread = await stop_before(scripted, script, node)
    (run,) = await scripted.recover()
    assert (run.thread_id, run.status, effects(settings)) == (thread, "pending", [])
    assert await scripted.recover() == []
    assert (await scripted.resume(thread, approve(run.pending[0], by="andrew"))).outcome == "executed"


async def test_an_approval_that_was_opened_but_not_shown_is_shown(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """Next is the approve node, without an interrupt: it is continued, and the same row waits."""
    thread = await stop_before(scripted, script, "approve")
    (row,) = ledger_rows(settings)
    (run,) = await scripted.recover()
    assert [one.approval_id for one in run.pending] == [row.id]
    assert (await scripted.graph.aget_state(config(thread))).interrupts


@pytest.mark.guarantee("once")
async def test_an_approval_that_was_approved_but_not_shown_executes(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """From the inbox, which lists the ledger: nobody needs the interrupt."""
    thread = await stop_before(scripted, script, "approve")
    (row,) = ledger_rows(settings)
    await decide_only(scripted, Answer(row.id, "approve", "andrew", row.digest))
    (run,) = await scripted.recover()
    assert (run.thread_id, run.status, [receipt.approval_id for receipt in run.receipts]) == (thread, "done", [row.id])
    assert len(effects(settings)) == 1


async def test_a_run_that_was_cut_off_at_propose_finds_its_row_again(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """The row was opened, the checkpoint was not written: the same approval, not a second one."""
    asked = await ask(scripted, script)
    history = [snapshot async for snapshot in scripted.graph.aget_state_history(config(asked.thread_id))]
    before = next(snapshot for snapshot in history if snapshot.next == ("propose",))
    await scripted.graph.ainvoke(None, before.config)
    assert [row.id for row in ledger_rows(settings)] == [asked.pending[0].approval_id]
    assert (await scripted.resume_as_decided(asked.thread_id)).pending == asked.pending


async def test_what_waits_for_a_person_is_left_waiting(scripted: Agent, script: Script, settings: Settings) -> None:
    """Even where a dead holder's lease says that it was cut off."""
    asked = await ask(scripted, script)
    leave_a_lease(scripted, asked.thread_id)
    (run,) = await scripted.recover()
    assert (run.pending, effects(settings), await scripted.recover()) == (asked.pending, [], [])


@pytest.mark.guarantee("once")
@pytest.mark.parametrize(("answer", "ends"), [(approve, "executed"), (reject, "rejected")])
async def test_what_was_decided_while_the_thread_slept_is_resumed(
    scripted: Agent, script: Script, settings: Settings, answer: Any, ends: str
) -> None:
    """The ledger's decision reaches the graph, and the model is told."""
    asked = await ask(scripted, script)
    await decide_only(scripted, answer(asked.pending[0], by="andrew"))
    (run,) = await scripted.recover()
    assert (run.status, run.answer, ledger_rows(settings)[0].status) == ("done", "done", ends)
    assert len(effects(settings)) == (1 if ends == "executed" else 0)
    assert await scripted.recover() == []


async def test_one_of_two_decided_waits_for_the_other(scripted: Agent, script: Script, settings: Settings) -> None:
    """While one call of the message is open, recovery runs nothing of it."""
    script.replies[:] = [calls(adjust("NW-011", 1), adjust("NW-012", 1))]
    asked = await scripted.start("both")
    await decide_only(scripted, approve(asked.pending[0], by="andrew"))
    (run,) = await scripted.recover()
    assert (run.pending, effects(settings)) == (asked.pending[1:], [])
    await scripted.resume(asked.thread_id, reject(asked.pending[1], by="andrew"))
    assert moves(settings) == [("NW-011", "adjustment", 1, 0)]


@pytest.mark.guarantee("once")
async def test_approved_but_the_graph_has_nothing_left_to_do(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """Its interrupt was lost (a renamed node, a forged state): the ERP is asked with the same grant."""
    asked = await ask(scripted, script)
    lost = {"messages": [ToolMessage("lost", tool_call_id="call_0"), AIMessage("bye")], "step": "done"}
    await scripted.graph.aupdate_state(config(asked.thread_id), lost, as_node="model")
    assert (await scripted.graph.aget_state(config(asked.thread_id))).next == ()
    await decide_only(scripted, approve(asked.pending[0], by="andrew"))
    (run,) = await scripted.recover()
    assert ([receipt.status for receipt in run.receipts], len(effects(settings))) == (["executed"], 1)
    assert await scripted.recover() == []


async def test_what_expired_is_told_to_the_model(settings: Settings) -> None:
    """Recovery closes what nobody answered in time, and the thread comes to its end."""
    now, script = datetime(2026, 12, 1, tzinfo=UTC), Script()
    async with open_agent(settings, chat=script, clock=lambda: now) as agent:
        await ask(agent, script)
        assert await agent.recover() == []
        now += timedelta(days=30)
        (run,) = await agent.recover()
    assert (run.status, run.answer, effects(settings)) == ("done", "done", [])
    assert [(row.status, row.decided_by) for row in ledger_rows(settings)] == [("expired", None)]


class LossyBridge(Bridge):
    """A line that loses the next answers of the ERP, or the requests themselves.

    Args:
        server: the ERP.
        arrives: whether the request gets there before the answer is lost.
    """

    def __init__(self, server: Any, *, arrives: bool) -> None:
        super().__init__(server)
        self.arrives = arrives
        self.to_lose = 0

    async def execute(self, tool: str, arguments: dict[str, Any], grant: str) -> Receipt:
        if self.to_lose == 0:
            return await super().execute(tool, arguments, grant)
        self.to_lose -= 1
        if self.arrives:
            await super().execute(tool, arguments, grant)
        raise LostAnswerError(tool)


@asynccontextmanager
async def open_lossy(settings: Settings, script: Script, *, arrives: bool) -> AsyncIterator[tuple[Agent, LossyBridge]]:
    """An agent on such a line."""
    async with (
        open_services(settings, chat=script, own_loop=True) as services,
        LossyBridge(services.bridge._server, arrives=arrives) as bridge,
        open_saver(database_url(settings.checkpoint_database)) as saver,
    ):
        used = replace(services, bridge=bridge)
        yield Agent(assemble(used, saver), used), bridge


@pytest.mark.guarantee("once", "never-silent")
@pytest.mark.parametrize("arrives", [True, False])
async def test_one_lost_answer_is_asked_for_again(settings: Settings, script: Script, *, arrives: bool) -> None:
    """The same grant is sent once more at once; whether the first got there or not, there is one effect."""
    async with open_lossy(settings, script, arrives=arrives) as (agent, line):
        asked = await ask(agent, script)
        line.to_lose = 1
        run = await agent.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert (run.outcome, len(effects(settings))) == ("executed", 1)


@pytest.mark.guarantee("once", "never-silent")
@pytest.mark.parametrize("then", ["recover", "approve again", "a new message"])
@pytest.mark.parametrize("arrives", [True, False])
async def test_where_no_answer_comes_the_outcome_is_said_to_be_unknown(
    settings: Settings, script: Script, then: str, *, arrives: bool
) -> None:
    """The approval stays approved and the thread can go on; whoever asks next gets the one receipt."""
    async with open_lossy(settings, script, arrives=arrives) as (agent, line):
        asked = await ask(agent, script)
        answer = approve(asked.pending[0], by="andrew")
        line.to_lose = 2
        with pytest.raises(NoAnswerError) as unknown:
            await agent.resume(asked.thread_id, answer)
        assert (unknown.value.code, "recover" in unknown.value.hint) == ("outcome_unknown", True)
        assert ledger_rows(settings)[0].status == "approved"
        if then == "recover":
            runs: Sequence[Run] = await agent.recover()
        elif then == "approve again":
            runs = [await agent.resume(asked.thread_id, answer)]
        else:
            await agent.start("and now?", thread_id=asked.thread_id)
            runs = [await agent.resume(asked.thread_id, answer)]
    assert [receipt.approval_id for run in runs for receipt in run.receipts] == [asked.pending[0].approval_id]
    assert (len(effects(settings)), ledger_rows(settings)[0].status) == (1, "executed")


@pytest.mark.guarantee("nothing-lost")
async def test_one_thread_that_cannot_go_on_does_not_keep_the_others_from_it(
    settings: Settings, script: Script
) -> None:
    """Recovery goes through all threads and then says what it could not do."""
    async with open_lossy(settings, script, arrives=False) as (agent, line):
        script.replies[:] = [calls(adjust("NW-011", 1)), calls(adjust("NW-012", 1))]
        for _ in range(2):
            asked = await agent.start("correct it")
            await decide_only(agent, approve(asked.pending[0], by="andrew"))
        line.to_lose = 2
        with pytest.raises(NoAnswerError):
            await agent.recover()
        assert len(effects(settings)) == 1
        (run,) = await agent.recover()
    assert (run.status, len(effects(settings))) == ("done", 2)
