"""A pause: nothing is signed, deadlines stand still, reads go on, and nothing is lost by it."""

from datetime import UTC, datetime, timedelta

import pytest

from graph import approve, edit, reject
from graph.app import open_agent
from graph.desk import decide
from graph.errors import PausedError
from graph.settings import Settings
from graph.threads import Agent
from tests.integration.agent_fixtures import (
    Script,
    adjust,
    agent,
    calls,
    effects,
    heard,
    ledger_rows,
    northwind_home,
    settings,
)

__all__ = ["agent", "northwind_home", "settings"]

START = datetime(2026, 12, 1, tzinfo=UTC)
ONE_DAY = timedelta(days=1)


@pytest.mark.guarantee("never-silent", "signed-only")
async def test_nothing_is_signed_and_every_approver_is_told_so(agent: Agent, settings: Settings) -> None:
    """``paused``, as often as it is tried; once the pause ends the same approval is executed."""
    asked = await agent.call(*adjust("NW-011", 1), requested_by="nancy")
    answer = approve(asked.pending[0], by="andrew")
    assert agent.services.ledger.pause("steven", "stocktaking")
    assert not agent.services.ledger.pause("steven", "again")
    for _ in range(2):
        run = await agent.resume(asked.thread_id, answer)
        assert (run.outcome, run.status, run.receipts) == ("paused", "pending", [])
        assert "deadline stands still" in run.note
    assert (effects(settings), ledger_rows(settings)[0].status) == ([], "pending")
    assert agent.services.ledger.resume_all("steven")
    assert not agent.services.ledger.resume_all("steven")
    assert (await agent.resume(asked.thread_id, answer)).outcome == "executed"


@pytest.mark.guarantee("nothing-lost", "never-silent")
async def test_what_was_approved_before_waits_for_its_end(agent: Agent, settings: Settings) -> None:
    """Decided, and then paused: neither recovery nor a second click executes it; afterwards recovery does, once."""
    asked = await agent.call(*adjust("NW-011", 1), requested_by="nancy")
    answer = approve(asked.pending[0], by="andrew")
    await decide(agent.services, [answer], by="andrew")
    agent.services.ledger.pause("steven", "stocktaking")
    with pytest.raises(PausedError, match="paused"):
        await agent.recover()
    assert (await agent.resume(asked.thread_id, answer)).outcome == "paused"
    assert (effects(settings), ledger_rows(settings)[0].status) == ([], "approved")
    agent.services.ledger.resume_all("steven")
    (run,) = await agent.recover()
    assert ([receipt.status for receipt in run.receipts], len(effects(settings))) == (["executed"], 1)


async def test_reads_questions_refusals_and_edits_go_on(agent: Agent, settings: Settings) -> None:
    """A pause stops signing and nothing else: what comes up is planned and waits, and may be refused or changed."""
    agent.services.ledger.pause("steven", "stocktaking")
    read = await agent.call("get_stock", {"sku": "NW-011"})
    assert "NW-011" in str(read.result)
    asked = await agent.call(*adjust("NW-011", 1), requested_by="nancy")
    changed = await agent.resume(
        asked.thread_id, edit(asked.pending[0], dict(asked.pending[0].args) | {"delta": 2}, by="andrew")
    )
    assert (changed.outcome, changed.pending[0].args["delta"]) == ("superseded", 2)
    refused = await agent.resume(asked.thread_id, reject(changed.pending[0], by="andrew"))
    assert (refused.outcome, effects(settings)) == ("rejected", [])


@pytest.mark.guarantee("B2")
async def test_deadlines_stand_still(settings: Settings) -> None:
    """An approval that had a day left before ten days of pause has a day left after them, and expires after that."""
    now, script = START, Script(replies=[calls(adjust("NW-011", 1))])
    async with open_agent(settings, chat=script, clock=lambda: now) as opened:
        ledger = opened.services.ledger
        asked = await opened.start("count it", requested_by="nancy")
        now = START + 29 * ONE_DAY
        ledger.pause("steven", "holidays")
        now += 10 * ONE_DAY
        assert await opened.recover() == []
        assert (await opened.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))).outcome == "paused"
        ledger.resume_all("steven")
        now += ONE_DAY - timedelta(seconds=1)
        assert await opened.recover() == []
        assert [one.approval_id for one in await opened.pending()] == [asked.pending[0].approval_id]
        now += timedelta(seconds=1)
        (run,) = await opened.recover()
        late = await opened.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert (run.status, run.answer, late.outcome, effects(settings)) == ("done", "done", "expired", [])
    (row,) = ledger_rows(settings)
    assert (row.status, row.decided_by) == ("expired", None)
    (told,) = heard(script.given[-1], "adjust_stock")
    assert told["outcome"] == "expired"
    assert "nobody answered" in told["message"].lower()


@pytest.mark.guarantee("nothing-lost")
async def test_several_pauses_add_up(settings: Settings) -> None:
    """Each gives back its own time, counted from when the approval was opened."""
    now = START
    async with open_agent(settings, clock=lambda: now) as opened:
        ledger = opened.services.ledger
        ledger.pause("steven", "before it was opened")
        now += 5 * ONE_DAY
        asked = await opened.call(*adjust("NW-011", 1), requested_by="nancy")
        now += ONE_DAY
        ledger.resume_all("steven")
        now += 10 * ONE_DAY
        ledger.pause("steven", "again")
        now += 3 * ONE_DAY
        ledger.resume_all("steven")
        now += 20 * ONE_DAY - timedelta(seconds=1)
        run = await opened.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert run.outcome == "executed"
