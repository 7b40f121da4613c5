"""The main job on Northwind: ask, preview, decide, execute once, receipt; and every way in which a decision can go."""

from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.messages import AIMessage

from erp_mcp.contract import Preview, Receipt
from graph import approve, edit, reject
from graph.app import open_agent
from graph.books import read_audit
from graph.decisions import Answer
from graph.errors import CountersignError
from graph.settings import Settings
from graph.threads import Agent
from tests.integration.agent_fixtures import (
    ALSO_OPEN,
    DONE,
    OPEN,
    Script,
    adjust,
    agent,
    answers_to,
    calls,
    cancel,
    effects,
    heard,
    ledger_rows,
    moves,
    northwind_home,
    order,
    script,
    scripted,
    settings,
    stock_of,
)

__all__ = ["agent", "northwind_home", "script", "scripted", "settings"]


@pytest.mark.guarantee("signed-only", "what-you-saw", "once", "accountable")
async def test_a_cancellation_agrees_in_every_book(agent: Agent, settings: Settings) -> None:
    """Receipt, order, released stock, stock moves, operations row, ledger and audit all say the same one thing."""
    words = f"Cancel order {OPEN}, ordered by mistake"
    asked = await agent.start(words, requested_by="nancy")
    assert (asked.status, asked.receipts) == ("pending", [])
    assert (order(settings, OPEN).status, stock_of(settings, "NW-016"), effects(settings)) == (
        "confirmed",
        (75, 46),
        [],
    )
    seen = asked.pending[0]
    run = await agent.resume(asked.thread_id, approve(seen, by="andrew"))
    assert (run.status, run.outcome, run.pending) == ("done", "executed", [])
    assert (order(settings, OPEN).status, order(settings, OPEN).version) == ("cancelled", 2)
    assert stock_of(settings, "NW-016") == (75, 32)
    assert moves(settings) == [("NW-016", "release", 0, -14)]
    (done,) = effects(settings)
    assert (done.approval_id, done.digest, done.approver, done.requested_by) == (
        seen.approval_id, seen.digest, "andrew", "nancy",
    )  # fmt: skip
    assert Preview.model_validate(done.preview).bound_facts() == seen.preview.bound_facts()
    receipt = Receipt.model_validate(done.receipt)
    assert run.receipts[0].result == receipt.result
    assert receipt.result["released"] == [{"sku": "NW-016", "quantity": "14"}]
    (row,) = ledger_rows(settings)
    assert (row.status, row.decided_by, row.assurance) == ("executed", "andrew", "asserted")
    assert row.outcome == done.receipt
    (entry,) = read_audit(settings, order=OPEN)
    assert (entry.requested_by, entry.request, entry.decided_by) == ("nancy", words, "andrew")
    assert (entry.digest, entry.preview, entry.receipt) == (seen.digest, seen.preview.model_dump(), done.receipt)
    assert entry.requested_at is not None
    assert entry.decided_at is not None
    assert entry.executed_at is not None
    assert entry.requested_at <= entry.decided_at <= entry.executed_at


@pytest.mark.guarantee("A10", "A8")
async def test_of_two_reads_and_two_writes_only_the_approved_write_runs(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """Every call of the message gets exactly one result; the decisions may come one at a time."""
    script.replies += [
        calls(("get_order", {"order_id": OPEN}), adjust("NW-011", -2), ("get_stock", {"sku": "NW-011"}), cancel(OPEN)),
        AIMessage("all done"),
    ]
    asked = await scripted.start("do it all")
    keep, drop = asked.pending
    assert [one.tool for one in asked.pending] == ["adjust_stock", "cancel_order"]
    first = await scripted.resume(asked.thread_id, reject(drop, by="andrew", reason="the customer wants it"))
    assert (first.outcome, [one.approval_id for one in first.pending]) == ("recorded", [keep.approval_id])
    assert effects(settings) == []
    last = await scripted.resume(asked.thread_id, approve(keep, by="andrew"))
    assert (last.outcome, last.status, last.answer) == ("executed", "done", "all done")
    assert {len(results) for results in answers_to(last).values()} == {1}
    assert [row.approval_id for row in effects(settings)] == [keep.approval_id]
    assert order(settings, OPEN).status == "confirmed"
    (told,) = heard(script.given[-1], "cancel_order")
    assert (told["outcome"], told["reason"]) == ("rejected", "the customer wants it")


async def test_both_writes_of_one_message_run_in_order_and_see_each_other(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """The second preview is made on top of the first one, and both execute as shown."""
    script.replies.append(calls(adjust("NW-011", -2), adjust("NW-011", -3)))
    asked = await scripted.start("twice")
    before = stock_of(settings, "NW-011")[0]
    assert [one.preview.changes[0].before for one in asked.pending] == [str(before), str(before - 2)]
    run = await scripted.resume(asked.thread_id, *(approve(one, by="andrew") for one in asked.pending))
    assert (run.outcome, set(run.outcomes.values())) == ("executed", {"executed"})
    assert moves(settings) == [("NW-011", "adjustment", -2, 0), ("NW-011", "adjustment", -3, 0)]


@pytest.mark.guarantee("stale-asks-again")
async def test_a_write_that_stood_on_a_rejected_one_asks_again(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """Its preview was made on top of the first; without that it would do something else than what was seen."""
    script.replies.append(calls(adjust("NW-011", -2), adjust("NW-011", -3)))
    asked = await scripted.start("twice")
    first, second = asked.pending
    run = await scripted.resume(asked.thread_id, reject(first, by="andrew"), approve(second, by="andrew"))
    assert (run.outcome, run.outcomes[second.approval_id]) == ("stale", "stale")
    assert effects(settings) == []
    again = await scripted.resume(asked.thread_id, approve(run.pending[0], by="andrew"))
    assert again.outcome == "executed"
    assert moves(settings) == [("NW-011", "adjustment", -3, 0)]


@pytest.mark.guarantee("once", "never-silent")
async def test_approving_twice_gives_the_same_receipt_and_one_effect(agent: Agent, settings: Settings) -> None:
    """The second approval, by whomever, is told that it was done already, with the receipt."""
    asked = await agent.start(f"Cancel order {OPEN}, ordered by mistake")
    first = await agent.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    for by in ("andrew", "laura"):
        again = await agent.resume(asked.thread_id, approve(asked.pending[0], by=by))
        assert (again.outcome, again.receipts) == ("already_executed", first.receipts)
    assert len(effects(settings)) == 1
    assert ledger_rows(settings)[0].decided_by == "andrew"


@pytest.mark.guarantee("A8", "never-silent", "first-decision-wins")
async def test_what_was_rejected_never_runs(agent: Agent, settings: Settings) -> None:
    """An approval after a rejection is told who rejected and when; the model hears the reason."""
    asked = await agent.start(f"Cancel order {OPEN}, ordered by mistake")
    refused = await agent.resume(asked.thread_id, reject(asked.pending[0], by="laura", reason="it is paid"))
    assert (refused.outcome, refused.status) == ("rejected", "done")
    assert [told["reason"] for told in heard(refused.messages, "cancel_order")] == ["it is paid"]
    late = await agent.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert late.outcome == "already_decided"
    assert "laura" in late.note
    assert f"{datetime.now(UTC):%Y-%m-%d}" in late.note
    assert effects(settings) == []


@pytest.mark.guarantee("first-decision-wins")
async def test_a_rejection_after_the_approval_is_told_so(agent: Agent, settings: Settings) -> None:
    """What was done is not undone by a later click, and the one who clicks learns who was first."""
    asked = await agent.start(f"Cancel order {OPEN}, ordered by mistake")
    await agent.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    late = await agent.resume(asked.thread_id, reject(asked.pending[0], by="laura"))
    assert late.outcome == "already_decided"
    assert "executed" in late.note
    assert "andrew" in late.note
    assert order(settings, OPEN).status == "cancelled"


@pytest.mark.guarantee("edit-asks-again")
async def test_an_edit_asks_again_and_the_old_preview_is_void(agent: Agent, settings: Settings) -> None:
    """Nothing runs by an edit; approving what was there before it does nothing, approving the fresh one runs that."""
    name, args = adjust("NW-011", -5)
    asked = await agent.call(name, args, requested_by="nancy")
    old = asked.pending[0]
    edited = await agent.resume(asked.thread_id, edit(old, args | {"delta": -4}, by="andrew"))
    fresh = edited.pending[0]
    assert (edited.status, fresh.supersedes, fresh.args["delta"]) == ("pending", old.approval_id, -4)
    assert effects(settings) == []
    late = await agent.resume(asked.thread_id, approve(old, by="andrew"))
    assert (late.outcome, effects(settings)) == ("superseded", [])
    run = await agent.resume(asked.thread_id, approve(fresh, by="andrew"))
    assert (run.outcome, moves(settings)) == ("executed", [("NW-011", "adjustment", -4, 0)])
    assert effects(settings)[0].requested_by == "nancy"


@pytest.mark.guarantee("edit-asks-again", "nothing-lost")
@pytest.mark.parametrize(
    "args",
    [
        {},
        {"sku": "NW-011", "delta": 0, "reason": "counted"},
        {"sku": "NW-999", "delta": -1, "reason": "counted"},
        {"sku": "NW-011", "delta": -10_000, "reason": "counted"},
        {"sku": "NW-011", "delta": True, "reason": "counted"},
        {"sku": "NW-011", "delta": -1, "reason": "counted", "order_id": OPEN},
        {"sku": "NW-011", "delta": -1, "reason": "\ud800"},
    ],
    ids=["empty", "zero", "unknown", "short", "bool", "another tool's argument", "surrogate"],
)
async def test_an_edit_that_cannot_be_planned_leaves_the_approval_as_it_was(
    agent: Agent, settings: Settings, args: dict[str, object]
) -> None:
    """It is refused with its reason, and the original can still be approved."""
    name, good = adjust("NW-011", -1)
    asked = await agent.call(name, good)
    refused = await agent.resume(asked.thread_id, edit(asked.pending[0], args, by="andrew"))
    assert (refused.outcome, refused.pending) == ("invalid", asked.pending)
    assert refused.note
    run = await agent.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert (run.outcome, len(effects(settings))) == ("executed", 1)


@pytest.mark.guarantee("E1")
async def test_nobody_is_asked_about_what_cannot_be_done(agent: Agent, settings: Settings) -> None:
    """A shipped order cannot be cancelled: the model hears why, and there is no approval."""
    run = await agent.call(*cancel(DONE))
    assert (run.status, run.pending, ledger_rows(settings)) == ("done", [], [])
    assert run.result["error"]["code"] == "not_cancellable"
    assert order(settings, DONE).status == "completed"


@pytest.mark.guarantee("E2")
async def test_cancelling_twice_releases_the_stock_once(agent: Agent, settings: Settings) -> None:
    """Two approvals for one order: the second finds it cancelled and does nothing."""
    one, two = await agent.call(*cancel(OPEN)), await agent.call(*cancel(OPEN))
    await agent.resume(one.thread_id, approve(one.pending[0], by="andrew"))
    late = await agent.resume(two.thread_id, approve(two.pending[0], by="andrew"))
    assert (late.outcome, late.pending) == ("stale", [])
    assert "cancelled already" in late.note
    assert moves(settings) == [("NW-016", "release", 0, -14)]


async def test_a_person_may_decide_only_by_name(agent: Agent, settings: Settings) -> None:
    """An approval without a name, or by two people in one answer, is refused at the door and stays as it was."""
    asked = await agent.call(*cancel(OPEN))
    one = asked.pending[0]
    for answers in (
        [approve(one, by=" ")],
        [],
        [approve(one, by="andrew"), reject(one, by="laura")],
        [reject(one, by="a")] * 2,
    ):
        with pytest.raises(CountersignError):
            await agent.resume(asked.thread_id, *answers)
    assert [row.status for row in ledger_rows(settings)] == ["pending"]


async def test_any_named_person_may_decide_where_no_policy_says_otherwise(agent: Agent, settings: Settings) -> None:
    """The default rule stands with the approval, so that a later look shows what was asked for."""
    asked = await agent.call(*cancel(OPEN))
    run = await agent.resume(asked.thread_id, approve(asked.pending[0], by="anybody"))
    assert run.outcome == "executed"
    assert ledger_rows(settings)[0].policy["count"] == 1


@pytest.mark.guarantee("never-silent", "B2")
async def test_an_expired_approval_is_nobodys_refusal(settings: Settings) -> None:
    """Nobody is named; nothing was done; the model hears that nobody answered; a late click is told so."""
    now = datetime(2026, 12, 1, tzinfo=UTC)
    script = Script(replies=[calls(cancel(OPEN))])
    async with open_agent(settings, chat=script, clock=lambda: now) as agent:
        asked = await agent.start("cancel it")
        now += timedelta(days=30)
        late = await agent.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
        assert (late.outcome, late.status, late.pending) == ("expired", "done", [])
        assert "nobody answered" in late.note
        again = await agent.resume(asked.thread_id, reject(asked.pending[0], by="andrew"))
        assert again.outcome == "expired"
    assert effects(settings) == []
    (row,) = ledger_rows(settings)
    assert (row.status, row.decided_by) == ("expired", None)
    assert "Nobody answered in time. Nothing was done." in str(script.given[-1][-1].text)


@pytest.mark.guarantee("what-you-saw")
async def test_an_approval_for_another_digest_does_not_count(agent: Agent, settings: Settings) -> None:
    """One byte of difference between what was seen and what would run, and nothing happens."""
    asked = await agent.call(*cancel(OPEN))
    seen = asked.pending[0]
    other = Answer(seen.approval_id, "approve", "andrew", "0" * 64)
    run = await agent.resume(asked.thread_id, other)
    assert (run.outcome, effects(settings), run.pending) == ("superseded", [], [seen])


async def test_another_order_stays_untouched(agent: Agent, settings: Settings) -> None:
    """An order is placed with stock reserved for it alone; its number comes back in receipt and answer."""
    asked = await agent.call("create_order", {"customer": "ALFKI", "lines": [{"sku": "NW-011", "quantity": 12}]})
    run = await agent.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    number = run.receipts[0].result["order_id"]
    assert order(settings, number).status == "confirmed"
    assert moves(settings) == [("NW-011", "reserve", 0, 12)]
    assert order(settings, ALSO_OPEN).version == 1
