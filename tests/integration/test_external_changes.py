"""A tool that changes on its server: withheld until a person accepts it, and what waits for the old one never runs."""

import json
from pathlib import Path

import pytest

from graph import approve
from graph.app import open_agent
from graph.settings import Settings
from graph.threads import Agent
from tests.integration.agent_fixtures import Script, calls, ledger_rows, northwind_home, script, settings
from tests.integration.external_fixtures import (
    TICKET,
    agent_with,
    effects_in,
    elsewhere,
    over_stdio,
    servers_of,
    told,
)

__all__ = ["northwind_home", "script", "settings"]

RENAMED = {"order_number": TICKET["order_id"], "subject": "late"}


def offered(agent: Agent) -> set[str]:
    """The other servers' tools that the model is told of."""
    return {tool["function"]["name"] for tool in servers_of(agent).for_model()}


@pytest.mark.guarantee("never-silent")
async def test_what_waits_for_the_old_definition_ends_as_schema_changed(
    settings: Settings, tmp_path: Path, script: Script
) -> None:
    """Renamed between ask and decision: the approver and the model hear it, nothing is sent, the ledger says why."""
    script.replies = [calls(("create_ticket", TICKET))]
    with elsewhere(tmp_path) as server:
        async with agent_with(settings, server.config(), script=script) as agent:
            run = await agent.start("open a ticket")
        server.restart("renamed")
        async with agent_with(settings, server.config(), script=script) as agent:
            assert "create_ticket" not in offered(agent)
            done = await agent.resume(run.thread_id, approve(run.pending[0], by="andrew"))
    [row] = ledger_rows(settings)
    assert done.outcome == "schema_changed"
    assert (row.status, (row.outcome or {})["type"], row.decided_by) == ("superseded", "schema_changed", None)
    assert told(done, "create_ticket")["reason"] == "schema_changed"
    assert done.answer == "done"
    assert effects_in(tmp_path) == []


async def test_a_change_while_the_agent_runs_is_seen_before_the_call_is_sent(
    settings: Settings, tmp_path: Path
) -> None:
    """Restarted with another schema mid-conversation: an approval given in the next moment sends nothing."""
    with elsewhere(tmp_path) as server:
        async with agent_with(settings, server.config()) as agent:
            run = await agent.call("create_ticket", TICKET)
            server.restart("renamed")
            done = await agent.resume(run.thread_id, approve(run.pending[0], by="andrew"))
            fresh = await agent.call("create_ticket", RENAMED)
            assert told(fresh, "create_ticket")["error"]["code"] == "schema_changed"
            await servers_of(agent).accept("tickets", "andrew")
            old = await agent.call("create_ticket", TICKET)
            assert told(old, "create_ticket")["error"]["code"] == "invalid_argument"
            new = await agent.call("create_ticket", RENAMED)
            sent = await agent.resume(new.thread_id, approve(new.pending[0], by="andrew"))
    assert done.outcome == "schema_changed"
    assert done.pending == []
    assert sent.outcome == "executed"
    assert effects_in(tmp_path) == [f"create {TICKET['order_id']} late"]


async def test_orders_in_a_description_never_reach_the_model(settings: Settings, tmp_path: Path) -> None:
    """A description that changes into orders is withheld; the person who is to accept it sees it word for word."""
    with elsewhere(tmp_path) as server:
        async with agent_with(settings, server.config()) as agent:
            server.restart("orders")
            await agent.call("get_ticket", {"ticket": "T-1"})
            await agent.services.bridge.refresh()
            assert "call cancel_order" not in json.dumps(agent.services.bridge.model_tools, default=str)
            assert "create_ticket" not in offered(agent)
            [changed] = [tool for tool in servers_of(agent).tools() if tool.waits]
    [line] = changed.moved()
    assert line.startswith("description: Open a ticket about an order. → Open a ticket about an order. IMPORTANT:")


async def test_list_changed_is_heard(settings: Settings, tmp_path: Path, script: Script) -> None:
    """The server says itself that its list changed: new and changed tools wait, and the model is bound anew."""
    async with agent_with(settings, over_stdio(tmp_path), script=script) as agent:
        before = agent.services.bridge.version
        run = await agent.call("grow", {})
        await agent.resume(run.thread_id, approve(run.pending[0], by="andrew"))
        await agent.services.bridge.refresh()
        assert agent.services.bridge.version != before
        assert {tool.known.tool for tool in servers_of(agent).tools() if tool.waits} == {"extra", "create_ticket"}
        assert not offered(agent) & {"extra", "create_ticket"}
        await servers_of(agent).accept("tickets", "andrew")
        assert {"extra", "create_ticket"} <= offered(agent)
        assert (await agent.call("extra", {"text": "x"})).pending != []


async def test_a_definition_that_goes_back_has_to_be_accepted_again(settings: Settings, tmp_path: Path) -> None:
    """Only the definition accepted last counts: a server cannot wander between two."""
    with elsewhere(tmp_path) as server:
        for mood, waits in (("", False), ("renamed", True), ("", True)):
            server.restart(mood)
            async with agent_with(settings, server.config()) as agent:
                assert any(tool.waits for tool in servers_of(agent).tools()) is waits
                await servers_of(agent).accept("tickets", "andrew")
                assert not any(tool.waits for tool in servers_of(agent).tools())


async def test_another_agents_acceptance_counts_here(settings: Settings, tmp_path: Path) -> None:
    """Accepted definitions stand in the database: who accepts on the command line need not restart the agent."""
    with elsewhere(tmp_path) as server:
        async with agent_with(settings, server.config()) as first:
            server.restart("renamed")
            async with agent_with(settings, server.config()) as second:
                await first.call("create_ticket", TICKET)
                assert "create_ticket" not in offered(first)
                await servers_of(second).accept("tickets", "andrew")
            await first.services.model()
            assert "create_ticket" in offered(first)


async def test_a_server_that_is_taken_out_of_the_settings(settings: Settings, tmp_path: Path) -> None:
    """What waited for it can still be decided: it is not sent, it says so, and the thread goes on."""
    async with agent_with(settings, over_stdio(tmp_path)) as agent:
        run = await agent.call("create_ticket", TICKET)
    async with open_agent(settings) as agent:
        done = await agent.resume(run.thread_id, approve(run.pending[0], by="andrew"))
        after = await agent.call("get_stock", {"sku": "NW-011"}, thread_id=run.thread_id)
    assert done.outcome == "failed"
    assert "nothing was sent" in done.note
    assert after.result["sku"] == "NW-011"
    assert effects_in(tmp_path) == []


async def test_an_address_that_changes_asks_again(settings: Settings, tmp_path: Path) -> None:
    """The same tool at another address is not what was signed: a fresh preview waits, with the difference."""
    other = tmp_path / "other"
    other.mkdir()
    with elsewhere(tmp_path) as server:
        async with agent_with(settings, server.config()) as agent:
            run = await agent.call("create_ticket", TICKET)
    async with agent_with(settings, over_stdio(other)) as agent:
        done = await agent.resume(run.thread_id, approve(run.pending[0], by="andrew"))
    assert done.outcome == "stale"
    assert len(done.pending) == 1
    assert done.pending[0].preview.facts["address"] != run.pending[0].preview.facts["address"]
    assert effects_in(other) == []
