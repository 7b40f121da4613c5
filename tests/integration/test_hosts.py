"""A raw MCP host's write: one approval however often it is sent, decided like the agent's, done once, seen by it."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from checkpoints.records import Decision
from erp_mcp.errors import ErpError
from graph import approve, edit, reject
from graph.app import open_agent
from graph.books import open_ledger
from graph.hosts import MOST_WAITING, Hosts
from graph.settings import Settings
from graph.threads import Agent
from tests.integration.agent_fixtures import (
    DONE,
    OPEN,
    act_otherwise,
    adjust,
    agent,
    cancel,
    effects,
    ledger_rows,
    moves,
    northwind_home,
    settings,
)

__all__ = ["agent", "northwind_home", "settings"]

HOST = "desktop"
SKU = "NW-011"


@pytest.fixture
def hosts(agent: Agent) -> Hosts:
    return Hosts(agent)


async def waiting(hosts: Hosts, delta: int = -2, key: str = "", host: str = HOST) -> str:
    """Asks for a stock correction; its approval's id."""
    answer = await hosts.ask(host, *adjust(SKU, delta), key)
    assert answer.status == "approval_required"
    return answer.approval_id or ""


async def decide(agent: Agent, approval_id: str, *, by: str = "andrew") -> str | None:
    (row,) = [row for row in ledger_rows(agent.services.settings) if row.id == approval_id]
    (shown,) = [one for one in await agent.pending() if one.approval_id == approval_id]
    return (await agent.resume(row.thread_id, approve(shown, by=by))).outcome


@pytest.mark.guarantee("signed-only", "accountable")
async def test_write_waits_for_a_person_and_is_then_done(agent: Agent, hosts: Hosts, settings: Settings) -> None:
    answer = await hosts.ask(HOST, *adjust(SKU, -2))

    assert answer.status == "approval_required"
    assert answer.approval_id is not None
    assert answer.approval_id in (answer.next_step or "")
    assert effects(settings) == []
    (row,) = ledger_rows(settings)
    assert (row.id, row.requested_by, row.digest) == (
        answer.approval_id,
        HOST,
        answer.preview.digest if answer.preview else None,
    )
    seen = await hosts.look(HOST, answer.approval_id)
    assert (seen.status, seen.preview, seen.receipt) == ("pending", answer.preview, None)

    assert await decide(agent, answer.approval_id) == "executed"

    seen = await hosts.look(HOST, answer.approval_id)
    assert (seen.status, seen.preview) == ("executed", None)
    assert seen.receipt is not None
    assert (seen.receipt.approver, seen.receipt.requested_by) == ("andrew", HOST)
    assert moves(settings, SKU) == [(SKU, "adjustment", -2, 0)]


@pytest.mark.guarantee("once")
async def test_same_call_is_found_again_while_it_waits(agent: Agent, hosts: Hosts, settings: Settings) -> None:
    ids = set(await asyncio.gather(*(waiting(hosts) for _ in range(5))))
    ids.add(await waiting(hosts))

    assert len(ids) == 1
    assert len(ledger_rows(settings)) == 1
    other = await waiting(hosts, -3)
    assert other not in ids

    await decide(agent, ids.pop())
    assert await waiting(hosts) != other  # what was done is asked for anew
    assert len(effects(settings)) == 1


async def test_two_hosts_do_not_share_a_request(hosts: Hosts) -> None:
    assert await waiting(hosts) != await waiting(hosts, host="laptop")


@pytest.mark.guarantee("once")
async def test_a_key_names_a_request_for_good(agent: Agent, hosts: Hosts, settings: Settings) -> None:
    first = await waiting(hosts, key="k1")
    assert await waiting(hosts, key="k1") == first
    assert await waiting(hosts, key="k2") != first
    await decide(agent, first)

    again = await hosts.ask(HOST, *adjust(SKU, -2), "k1")

    assert (again.status, again.approval_id) == ("executed", first)
    assert again.receipt is not None
    assert len(effects(settings)) == 1
    with pytest.raises(ErpError, match="another call") as refused:
        await hosts.ask(HOST, *adjust(SKU, -9), "k1")
    assert refused.value.code == "idempotency_mismatch"


@pytest.mark.guarantee("once")
async def test_a_key_finds_what_was_done_though_it_could_not_be_done_again(
    agent: Agent, hosts: Hosts, settings: Settings
) -> None:
    asked = await hosts.ask(HOST, *cancel(OPEN), "k1")
    await decide(agent, asked.approval_id or "")

    again = await hosts.ask(HOST, *cancel(OPEN), "k1")

    assert (again.status, again.approval_id) == ("executed", asked.approval_id)
    with pytest.raises(ErpError) as refused:
        await hosts.ask(HOST, *cancel(OPEN), "k2")
    assert refused.value.code == "already_cancelled"
    assert len(effects(settings)) == 1


@pytest.mark.guarantee("once")
async def test_a_keyed_call_that_a_rule_signs_is_done_once_however_often_it_comes_at_once(
    settings: Settings, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[people.andrew]\n[[rules]]\nname = "counted"\ntools = ["adjust_stock"]\nautomatic = true\n')
    async with open_agent(settings.model_copy(update={"policy": policy})) as agent:
        hosts = Hosts(agent)
        asked = [hosts.ask(HOST, *adjust(SKU, -2), "k1") for _ in range(5)]
        answers = await asyncio.gather(*asked)

    assert {answer.status for answer in answers} == {"executed"}
    assert len({answer.approval_id for answer in answers}) == 1
    assert len(effects(settings)) == 1


async def test_a_host_sees_its_own_requests_only(hosts: Hosts) -> None:
    mine = await waiting(hosts)

    for host, wanted in (("laptop", mine), ("desk", mine), (f"{HOST}:x", mine), ("", mine), (HOST, "apr_none")):
        with pytest.raises(ErpError) as refused:
            await hosts.look(host, wanted)
        assert (refused.value.code, refused.value.message) == (
            "approval_not_found",
            "There is no such approval among your requests.",
        )


async def test_a_host_does_not_see_what_a_person_of_its_name_asked_the_agent_for(agent: Agent, hosts: Hosts) -> None:
    tool, args = adjust(SKU, -2)
    run = await agent.call(tool, args, requested_by=HOST)

    with pytest.raises(ErpError):
        await hosts.look(HOST, run.pending[0].approval_id)


@pytest.mark.guarantee("stale-asks-again")
async def test_what_moved_is_asked_again_and_the_host_is_led_there(
    agent: Agent, hosts: Hosts, settings: Settings
) -> None:
    old = await waiting(hosts)
    await act_otherwise(agent, SKU, -5)

    assert await decide(agent, old) == "stale"

    seen = await hosts.look(HOST, old)
    assert (seen.status, seen.receipt) == ("stale", None)
    fresh = seen.superseded_by or ""
    assert fresh in seen.message
    assert (await hosts.look(HOST, fresh)).status == "pending"
    assert await decide(agent, fresh) == "executed"
    assert (await hosts.look(HOST, fresh)).receipt is not None
    assert len(effects(settings)) == 2


@pytest.mark.guarantee("edit-asks-again")
async def test_an_approvers_change_is_asked_again_and_the_host_is_led_there(agent: Agent, hosts: Hosts) -> None:
    old = await waiting(hosts)
    (shown,) = await agent.pending()
    changed = await agent.resume(shown.thread_id, edit(shown, adjust(SKU, -1)[1], by="andrew"))
    assert changed.outcome == "superseded"

    fresh = (await hosts.look(HOST, old)).superseded_by or ""
    await decide(agent, fresh)

    seen = await hosts.look(HOST, fresh)
    assert (seen.status, seen.arguments["delta"]) == ("executed", -1)


async def test_a_refusal_is_told_and_the_call_may_be_asked_for_anew(agent: Agent, hosts: Hosts) -> None:
    old = await waiting(hosts, key="k1")
    (shown,) = await agent.pending()
    await agent.resume(shown.thread_id, reject(shown, by="andrew", reason="not counted yet"))

    seen = await hosts.look(HOST, old)
    assert (seen.status, seen.reason) == ("rejected", "not counted yet")
    with pytest.raises(ErpError) as refused:
        await hosts.ask(HOST, *adjust(SKU, -2), "k1")
    assert (refused.value.code, refused.value.details["outcome"]) == ("not_executed", "rejected")
    assert await waiting(hosts) != old


@pytest.mark.guarantee("B2")
async def test_what_nobody_answered_is_said_to_have_expired(settings: Settings) -> None:
    now = datetime.now(UTC)
    async with open_agent(settings, clock=lambda: now) as agent:
        hosts = Hosts(agent)
        old = await waiting(hosts)
        now += timedelta(days=31)

        seen = await hosts.look(HOST, old)
        assert (seen.status, seen.receipt) == ("expired", None)
        assert "Nobody answered" in seen.message
        assert await waiting(hosts) != old


async def test_what_cannot_be_done_leaves_nothing_behind(hosts: Hosts, settings: Settings) -> None:
    refused = [
        (cancel(DONE), "not_cancellable"),
        (cancel("SO19980506-99999"), "order_not_found"),
        (("cancel_order", {"order_id": OPEN}), "invalid_argument"),
        (("drop_tables", {}), "unknown_tool"),
        (("adjust_stock", {"sku": SKU, "delta": 2**70, "reason": "x"}), "invalid_argument"),
    ]
    for (tool, arguments), code in refused:
        with pytest.raises(ErpError) as error:
            await hosts.ask(HOST, tool, arguments)
        assert error.value.code == code
    assert ledger_rows(settings) == []


async def test_a_host_that_loops_does_not_bury_the_inbox(
    hosts: Hosts, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph.hosts.MOST_WAITING", 3)
    assert MOST_WAITING > 3
    first = [await waiting(hosts, -1 - number) for number in range(3)]

    with pytest.raises(ErpError, match="3 requests") as refused:
        await waiting(hosts, -9)

    assert refused.value.code == "too_many_waiting"
    assert await waiting(hosts, -1) == first[0]
    await waiting(hosts, -9, host="laptop")


@pytest.mark.guarantee("nothing-lost")
async def test_what_another_process_decided_and_did_not_live_to_do_is_done_by_recover(
    agent: Agent, hosts: Hosts, settings: Settings
) -> None:
    mine = await waiting(hosts)
    with open_ledger(settings) as ledger:
        (row,) = ledger.pending()
        (verdict,) = ledger.decide([Decision(row.id, "approve", row.digest)], by="andrew")
        assert verdict.kind == "approved"
    assert (await hosts.look(HOST, mine)).status == "approved"
    assert await waiting(hosts) == mine

    await agent.recover()

    assert (await hosts.look(HOST, mine)).status == "executed"
    assert len(effects(settings)) == 1


async def test_who_asks_through_a_host_does_not_approve(settings: Settings, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[people.nancy]\nlogins = ["desktop"]\n[people.andrew]\n')
    async with open_agent(settings.model_copy(update={"policy": policy})) as agent:
        mine = await waiting(Hosts(agent))

        assert await decide(agent, mine, by="nancy") == "forbidden"
        assert await decide(agent, mine, by="desktop") == "forbidden"
        assert effects(settings) == []
        assert await decide(agent, mine) == "executed"


async def test_while_approvals_are_paused_nothing_is_signed(agent: Agent, hosts: Hosts, settings: Settings) -> None:
    mine = await waiting(hosts)
    with open_ledger(settings) as ledger:
        ledger.pause("andrew", "inventory")

    assert await decide(agent, mine) == "paused"
    assert (await hosts.look(HOST, mine)).status == "pending"
    assert effects(settings) == []
