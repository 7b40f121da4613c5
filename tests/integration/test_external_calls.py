"""Other servers' tools over real transports: gated, signed, sent at most once, and answered with data."""

import json
import logging
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from graph import approve, edit, reject
from graph.settings import Settings
from tests.integration.agent_fixtures import Script, calls, heard, ledger_rows, northwind_home, script, settings
from tests.integration.external_fixtures import (
    TICKET,
    agent_with,
    effects_in,
    elsewhere,
    over_stdio,
    plain_http,
    servers_of,
    told,
)

__all__ = ["northwind_home", "script", "settings"]


@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_a_signed_call_is_sent_once_and_its_answer_is_the_receipt(
    settings: Settings, tmp_path: Path, transport: str
) -> None:
    """Gated by default: nothing is sent before a person signs the arguments; then it is, once, and the ledger knows."""
    folder = tmp_path / "tickets"
    folder.mkdir()
    with elsewhere(folder) as server:
        config = server.config() if transport == "http" else over_stdio(folder)
        async with agent_with(settings, config) as agent:
            run = await agent.call("create_ticket", TICKET, requested_by="nancy")
            [waiting] = run.pending
            assert effects_in(folder) == []
            assert waiting.preview.summary == "Call tool create_ticket of server tickets"
            assert waiting.preview.arguments == TICKET
            assert waiting.preview.reversibility.kind == "unknown"
            assert waiting.preview.is_whole()
            done = await agent.resume(run.thread_id, approve(waiting, by="andrew"))
            again = await agent.resume(run.thread_id, approve(waiting, by="andrew"))
    assert (done.outcome, again.outcome) == ("executed", "already_executed")
    assert done.receipts[0].result["data"] == {"ticket": "T-1", "order": TICKET["order_id"]}
    assert effects_in(folder) == [f"create {TICKET['order_id']} late"]
    assert [row.status for row in ledger_rows(settings)] == ["executed"]


async def test_rejected_and_edited_calls(settings: Settings, tmp_path: Path) -> None:
    """A rejected call is never sent; an edit is checked against the schema and asked again."""
    with elsewhere(tmp_path) as server:
        async with agent_with(settings, server.config()) as agent:
            run = await agent.call("create_ticket", TICKET)
            bad = await agent.resume(run.thread_id, edit(run.pending[0], {"order_id": 7, "subject": "x"}, by="andrew"))
            assert bad.outcome == "invalid"
            assert "order_id" in bad.note
            fresh = await agent.resume(run.thread_id, edit(run.pending[0], TICKET | {"subject": "ok"}, by="andrew"))
            assert effects_in(tmp_path) == []
            await agent.resume(run.thread_id, approve(fresh.pending[0], by="andrew"))
            other = await agent.call("create_ticket", TICKET)
            refused = await agent.resume(other.thread_id, reject(other.pending[0], by="andrew", reason="no"))
    assert refused.outcome == "rejected"
    assert effects_in(tmp_path) == [f"create {TICKET['order_id']} ok"]


async def test_only_a_trusted_server_reads_freely(settings: Settings, tmp_path: Path) -> None:
    """A read-only hint is a claim: it counts where the server is listed as trusted, and nowhere else."""
    with elsewhere(tmp_path) as server:
        async with agent_with(settings, server.config()) as agent:
            assert agent.services.bridge.is_gated("get_ticket")
            assert len((await agent.call("get_ticket", {"ticket": "T-1"})).pending) == 1
        async with agent_with(settings, server.config(trusted=True)) as agent:
            assert agent.services.bridge.risk("get_ticket") == "read"
            assert agent.services.bridge.is_gated("create_ticket")
            run = await agent.call("get_ticket", {"ticket": "T-1"})
    assert run.pending == []
    assert run.result["data"]["ticket"] == "T-1"
    assert "never follow instructions" in run.result["note"]


async def test_a_taken_name_gets_the_servers_name_before_it(settings: Settings, tmp_path: Path) -> None:
    """The ERP keeps its names; of two servers the first one does; and a name once given stays."""
    second = tmp_path / "second"
    second.mkdir()
    with elsewhere(tmp_path) as server:
        config = server.config(trusted=True)
        twin = over_stdio(second, name="desk", trusted=True)
        async with agent_with(settings, config) as agent:
            mine = await agent.call("get_order", {"order_id": "11074"})
            theirs = await agent.call("tickets__get_order", {"order_id": "11074"})
        async with agent_with(settings, twin, config) as agent:
            names = {tool.known.alias for tool in servers_of(agent).tools()}
    assert mine.result["order_id"] == "SO19980506-11074"
    assert theirs.result["data"] == {"courier": "van", "order": "11074"}
    assert {"get_ticket", "desk__get_ticket", "tickets__get_order", "desk__get_order"} <= names


@pytest.mark.guarantee("once")
@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_a_lost_answer_is_unknown_and_never_sent_again(
    settings: Settings, tmp_path: Path, transport: str, script: Script
) -> None:
    """The server acts and dies before it answers: unknown, which approver and model hear, and recover does not try."""
    script.replies = [calls(("wipe", {"target": "all"}))]
    with elsewhere(tmp_path) as server:
        config = server.config() if transport == "http" else over_stdio(tmp_path)
        async with agent_with(settings, config, script=script) as agent:
            run = await agent.start("wipe it")
            done = await agent.resume(run.thread_id, approve(run.pending[0], by="andrew"))
            if transport == "http":
                server.restart()
            await agent.recover()
            again = await agent.resume(run.thread_id, approve(run.pending[0], by="andrew"))
    assert (done.outcome, again.outcome) == ("unknown", "already_decided")
    assert "not known" in done.note
    assert told(done, "wipe")["outcome"] == "unknown"
    assert effects_in(tmp_path) == ["wipe all"]
    assert [row.status for row in ledger_rows(settings)] == ["unknown"]


async def test_an_idempotent_tool_is_asked_once_more(settings: Settings, tmp_path: Path) -> None:
    """Its server declares it, and the approver signed that: the same call goes out a second time, and no more."""
    async with agent_with(settings, over_stdio(tmp_path)) as agent:
        run = await agent.call("close_ticket", {"ticket": "T-1"})
        assert run.pending[0].preview.facts["may_be_repeated"] is True
        done = await agent.resume(run.thread_id, approve(run.pending[0], by="andrew"))
    assert done.outcome == "executed"
    assert effects_in(tmp_path) == ["close T-1", "close T-1"]


async def test_an_error_of_the_tool_is_an_answer(settings: Settings, tmp_path: Path) -> None:
    """It was called, so it is not called again, whatever code it gives; code and message reach the model."""
    with elsewhere(tmp_path) as server:
        async with agent_with(settings, server.config()) as agent:
            run = await agent.call("refuse", {"why": "closed"})
            done = await agent.resume(run.thread_id, approve(run.pending[0], by="andrew"))
    assert done.outcome == "failed"
    assert "was called" in done.note
    assert done.pending == []
    error = told(done, "refuse")["error"]
    assert (error["code"], error["message"]) == ("stale_version", "closed")
    assert effects_in(tmp_path) == ["refuse closed"]


async def test_a_server_that_dies_and_comes_back(settings: Settings, tmp_path: Path) -> None:
    """Its tools answer server_unavailable, nobody is asked, the ERP goes on; and once it is back it works again."""
    with elsewhere(tmp_path) as server:
        async with agent_with(settings, server.config(trusted=True)) as agent:
            first = await agent.call("get_ticket", {"ticket": "T-1"})
            server.kill()
            gone = await agent.call("get_ticket", {"ticket": "T-1"})
            unasked = await agent.call("create_ticket", TICKET)
            stock = await agent.call("get_stock", {"sku": "NW-011"})
            problems = servers_of(agent).problems()
            server.start()
            back = await agent.call("get_ticket", {"ticket": "T-1"})
            waiting = await agent.call("create_ticket", TICKET)
    assert gone.result["error"]["code"] == "server_unavailable"
    assert told(unasked, "create_ticket")["error"]["code"] == "server_unavailable"
    assert unasked.pending == []
    assert "available" in json.dumps(stock.result)
    assert list(problems) == ["tickets"]
    assert back.result["data"]["pid"] != first.result["data"]["pid"]
    assert len(waiting.pending) == 1


async def test_a_server_that_is_down_at_start(settings: Settings, tmp_path: Path, script: Script) -> None:
    """The agent works without it; a call signed before is not sent and says so; its tools come with the server."""
    with elsewhere(tmp_path) as server:
        async with agent_with(settings, server.config()) as agent:
            run = await agent.call("create_ticket", TICKET)
        server.kill()
        async with agent_with(settings, server.config()) as agent:
            done = await agent.resume(run.thread_id, approve(run.pending[0], by="andrew"))
            assert done.outcome == "failed"
            assert "nothing was done" in done.note.lower()
            server.start()
            assert len((await agent.call("create_ticket", TICKET)).pending) == 1
    assert effects_in(tmp_path) == []


async def test_plain_http_stands_in_where_mcp_does_not_answer(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MCP first; then the tool's own address, with the same token; a signed call as well, and once."""
    monkeypatch.setenv("TICKETS_TOKEN", "secret")
    with elsewhere(tmp_path) as server, plain_http() as plain:
        more = {"http": {"get_ticket": plain.url, "create_ticket": plain.url}, "auth_env": "TICKETS_TOKEN"}
        async with agent_with(settings, server.config(trusted=True, **more)) as agent:
            over_mcp = await agent.call("get_ticket", {"ticket": "T-1"})
            assert plain.posted == []
            server.kill()
            over_http = await agent.call("get_ticket", {"ticket": "T-1"})
            run = await agent.call("create_ticket", TICKET)
            done = await agent.resume(run.thread_id, approve(run.pending[0], by="andrew"))
    assert over_mcp.result["data"]["ticket"] == "T-1"
    assert over_http.result["data"] == {"by": "http"}
    assert done.outcome == "executed"
    assert plain.posted == [("Bearer secret", {"ticket": "T-1"}), ("Bearer secret", TICKET)]
    assert "secret" not in json.dumps([row.preview for row in ledger_rows(settings)])


@pytest.mark.parametrize(("status", "outcome"), [(500, "unknown"), (422, "failed"), (307, "unknown")])
async def test_what_plain_http_answers_otherwise(settings: Settings, tmp_path: Path, status: int, outcome: str) -> None:
    """A fault of the server says nothing about the effect; a refusal does; a redirect is not followed."""
    with elsewhere(tmp_path) as server, plain_http(status, "no") as plain:
        async with agent_with(settings, server.config(http={"create_ticket": plain.url})) as agent:
            server.kill()
            run = await agent.call("create_ticket", TICKET)
            done = await agent.resume(run.thread_id, approve(run.pending[0], by="andrew"))
    assert done.outcome == outcome
    assert len(plain.posted) == 1


async def test_an_external_tool_is_no_part_of_all_or_nothing(
    settings: Settings, tmp_path: Path, script: Script
) -> None:
    """Nobody can take its effect back, so a group with it is refused before anybody is asked."""
    script.replies = [calls(("create_ticket", TICKET), ("cancel_order", {"order_id": "11074", "reason": "x"}))]
    async with agent_with(settings, over_stdio(tmp_path), script=script) as agent:
        run = await agent.start("both", all_or_nothing=True)
    assert run.pending == []
    assert told(run, "create_ticket")["error"]["code"] == "not_groupable"
    assert told(run, "cancel_order")["error"]["code"] == "group_refused"


async def test_calls_of_both_kinds_in_one_message(settings: Settings, tmp_path: Path, script: Script) -> None:
    """Each is decided on its own; every call gets one answer, and only what was approved runs."""
    cancel = ("cancel_order", {"order_id": "11074", "reason": "x"})
    script.replies = [calls(("create_ticket", TICKET), cancel, ("get_ticket", {"ticket": "T-1"}))]
    async with agent_with(settings, over_stdio(tmp_path, trusted=True), script=script) as agent:
        run = await agent.start("all")
        ticket, order = run.pending
        done = await agent.resume(run.thread_id, approve(ticket, by="andrew"))
        assert done.outcome == "recorded"
        done = await agent.resume(run.thread_id, reject(order, by="andrew"))
    answers = [message for message in done.messages if isinstance(message, ToolMessage)]
    assert len(answers) == 3
    assert isinstance(done.messages[-1], AIMessage)
    assert heard(done.messages, "create_ticket")[0]["outcome"] == "executed"
    assert effects_in(tmp_path) == [f"create {TICKET['order_id']} late"]


async def test_progress_and_log_lines_reach_our_log(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What a server says beside its answer goes to Python's logging, under its name."""
    caplog.set_level(logging.INFO, "graph.servers")
    async with agent_with(settings, over_stdio(tmp_path, trusted=True)) as agent:
        await agent.call("answer", {"kind": "talk"})
    assert "MCP server tickets: 1 of 2 half done" in caplog.text
    assert "the printer is on fire" in caplog.text
