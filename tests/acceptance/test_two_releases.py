"""Two releases on one database: what one left waiting, the next lists, and answers or calls an orphan; never silently
gone. The older release is the same code with a node, an argument or a tool that has another name."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph

from checkpoints.database import database_url
from checkpoints.ledger import Ledger
from checkpoints.saver import open_saver
from erp_mcp.contract import Preview, Receipt
from erp_mcp.errors import ErpError
from graph import approve, edit, reject
from graph.app import open_agent, open_services
from graph.bridge import Bridge, Call
from graph.build import _bound, assemble, step
from graph.cli import main
from graph.nodes.approve import approve as approve_node
from graph.nodes.execute import execute
from graph.nodes.model import model
from graph.nodes.propose import propose
from graph.nodes.read import read
from graph.run import Run
from graph.services import Services
from graph.settings import Settings
from graph.state import Input, State
from graph.threads import Agent
from tests.integration.agent_fixtures import adjust, effects, ledger_rows, moves, northwind_home, settings

__all__ = ["northwind_home", "settings"]

pytestmark = [pytest.mark.acceptance, pytest.mark.guarantee("A14", "nothing-lost")]


class OlderBridge(Bridge):
    """The tools of the older release: ``adjust_stock`` has another name, or its ``delta`` has.

    Args:
        server: the ERP.
        tool, argument: what they were called then.
    """

    def __init__(self, server: Any, tool: str = "adjust_stock", argument: str = "delta") -> None:
        super().__init__(server)
        self.tool, self.argument = tool, argument

    def check(self, tool: str, arguments: dict[str, Any]) -> None:
        """As now, under the names of now."""
        super().check(*self._now(tool, arguments))

    def is_gated(self, tool: str) -> bool:
        return super().is_gated(self._now(tool, {})[0])

    def risk(self, tool: str) -> Any:
        return super().risk(self._now(tool, {})[0])

    async def plan(self, calls: Sequence[Call]) -> list[Preview | ErpError]:
        """What the ERP of now plans, told as then."""
        planned = await super().plan([Call(*self._now(call.tool, call.arguments)) for call in calls])
        return [
            one
            if isinstance(one, ErpError)
            else one.model_copy(update={"tool": call.tool, "arguments": call.arguments})
            for call, one in zip(calls, planned, strict=True)
        ]

    async def execute(self, tool: str, arguments: dict[str, Any], grant: str) -> Receipt:
        return await super().execute(*self._now(tool, arguments), grant)

    def _now(self, tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        if tool != self.tool:
            return tool, arguments
        return "adjust_stock", {"delta" if name == self.argument else name: value for name, value in arguments.items()}


@asynccontextmanager
async def older_release(settings: Settings, *, node: str = "approve", **names: str) -> AsyncIterator[Agent]:
    """An agent of the release before, on the same databases."""
    async with (
        open_services(settings, own_loop=True) as services,
        OlderBridge(services.bridge._server, **names) as bridge,
        open_saver(database_url(settings.checkpoint_database)) as saver,
    ):
        used = replace(services, bridge=bridge)
        graph = assemble(used, saver) if node == "approve" else graph_with(node, used).compile(checkpointer=saver)
        yield Agent(graph, used)


def graph_with(node: str, services: Services) -> StateGraph[State, None, Input, State]:
    """The graph, but that the node that waits has another name."""

    async def provider() -> Services:
        return services

    graph = StateGraph(State, input_schema=Input)
    nodes = {"model": model, "read": read, "propose": propose, node: approve_node, "execute": execute}
    for name, function in nodes.items():
        graph.add_node(name, _bound(function, provider))
    graph.add_edge(START, "model")
    for name in nodes:
        ways: dict[Any, str] = {way: way for way in ("model", "read", "propose", "execute")}
        graph.add_conditional_edges(name, step, ways | {"approve": node, "done": END})
    return graph


async def ask(agent: Agent, tool: str = "adjust_stock", argument: str = "delta") -> Run:
    """A thread that waits for a correction by two."""
    run = await agent.call(tool, {"sku": "NW-011", argument: 2, "reason": "counted"}, requested_by="nancy")
    assert len(run.pending) == 1
    return run


async def assert_thread_goes_on(agent: Agent, thread_id: str) -> None:
    """The conversation is not bricked."""
    after = await agent.start("What is in stock of NW-011?", thread_id=thread_id)
    assert "NW-011" in after.answer


@pytest.mark.parametrize("said", ["approve", "reject", "edit"])
async def test_an_approval_in_a_node_that_was_renamed_is_answered(settings: Settings, said: str) -> None:
    """LangGraph has lost its interrupt, the ledger has not: it is listed, decided, carried out; the thread lives."""
    async with older_release(settings, node="confirm") as older:
        asked = await ask(older)
    async with open_agent(settings) as agent:
        assert (await agent.graph.aget_state({"configurable": {"thread_id": asked.thread_id}})).next == ()
        assert await agent.pending() == asked.pending
        one = asked.pending[0]
        answer = {"approve": approve(one, by="andrew"), "reject": reject(one, by="andrew"),
                  "edit": edit(one, dict(one.args) | {"delta": 3}, by="andrew")}[said]  # fmt: skip
        run = await agent.resume(asked.thread_id, answer)
        if said == "edit":
            assert (run.outcome, run.pending[0].args["delta"]) == ("superseded", 3)
            run = await agent.resume(asked.thread_id, approve(run.pending[0], by="andrew"))
        assert run.outcome == ("rejected" if said == "reject" else "executed")
        assert moves(settings) == {"approve": [("NW-011", "adjustment", 2, 0)], "reject": [],
                                   "edit": [("NW-011", "adjustment", 3, 0)]}[said]  # fmt: skip
        await assert_thread_goes_on(agent, asked.thread_id)
    assert all(row.settled_at is not None for row in ledger_rows(settings))


OTHERWISE: list[dict[str, str]] = [{"argument": "amount"}, {"tool": "correct_stock"}]


@pytest.mark.guarantee("once")
async def test_what_the_older_release_did_but_did_not_record_is_executed(settings: Settings) -> None:
    """It died between the ERP's commit and its own: the newer one's tool does not fit, but the ERP has the receipt."""
    async with older_release(settings, argument="amount") as older:
        asked = await ask(older, argument="amount")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Ledger, "settle", _dies)
            with pytest.raises(RuntimeError, match="killed"):
                await older.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert len(effects(settings)) == 1
    async with open_agent(settings) as agent:
        await agent.recover()
        run = await agent.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
        assert (run.outcome, len(run.receipts), len(effects(settings))) == ("already_executed", 1, 1)
        assert [row.status for row in ledger_rows(settings)] == ["executed"]
        await assert_thread_goes_on(agent, asked.thread_id)


def _dies(*_args: object, **_kwargs: object) -> None:
    raise RuntimeError("killed")


@pytest.mark.guarantee("never-silent")
@pytest.mark.parametrize("names", OTHERWISE, ids=["the argument was renamed", "the tool was renamed"])
async def test_an_approval_for_a_tool_that_has_changed_is_an_orphan_and_says_so(
    settings: Settings, names: dict[str, str]
) -> None:
    """It is listed with the reason; approving it does nothing and is told why; the thread hears of it and goes on."""
    async with older_release(settings, **names) as older:
        asked = await ask(older, **names)
    async with open_agent(settings) as agent:
        (listed,) = await agent.pending()
        assert listed.approval_id == asked.pending[0].approval_id
        assert "cannot be carried out any more" in " ".join(listed.notes)
        run = await agent.resume(asked.thread_id, approve(listed, by="andrew"))
        assert (run.outcome, effects(settings)) == ("schema_changed", [])
        assert "no longer the tool that was approved" in run.note
        late = await agent.resume(asked.thread_id, approve(listed, by="andrew"))
        assert (late.outcome, effects(settings)) == ("schema_changed", [])
        await assert_thread_goes_on(agent, asked.thread_id)
        again = await agent.call(*adjust("NW-011", 2), requested_by="nancy")
        assert (await agent.resume(again.thread_id, approve(again.pending[0], by="andrew"))).outcome == "executed"


@pytest.mark.parametrize("names", OTHERWISE, ids=["the argument was renamed", "the tool was renamed"])
async def test_such_an_orphan_can_be_rejected(settings: Settings, names: dict[str, str]) -> None:
    """Nobody has to leave it in the inbox for ever."""
    async with older_release(settings, **names) as older:
        asked = await ask(older, **names)
    async with open_agent(settings) as agent:
        run = await agent.resume(asked.thread_id, reject(asked.pending[0], by="andrew"))
        assert (run.outcome, run.status, await agent.pending()) == ("rejected", "done", [])
        await assert_thread_goes_on(agent, asked.thread_id)


@pytest.mark.parametrize("names", OTHERWISE, ids=["the argument was renamed", "the tool was renamed"])
async def test_the_command_line_says_so_too(
    settings: Settings, names: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``show`` says that it cannot be carried out any more, and why; ``pending`` lists it, and knows a tool is gone."""
    async with older_release(settings, **names) as older:
        one = (await ask(older, **names)).pending[0].approval_id
    monkeypatch.setenv("COUNTERSIGN_HOME", str(settings.home))
    monkeypatch.setenv("COLUMNS", "200")
    for words, sees in ((["show", one], True), (["show", one, "--json"], True), (["pending"], "tool" in names)):
        assert await asyncio.to_thread(main, words) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert one in said
        assert ("cannot be carried out any more" in said) == sees, said
    assert await asyncio.to_thread(main, ["approve", one, "--by", "andrew", "--json"]) == 4
    assert '"schema_changed"' in capsys.readouterr().out
