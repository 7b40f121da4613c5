"""All or nothing: the gated calls of one message in one transaction of the ERP, once a person approved all of them."""

import pytest

from graph import approve, edit, reject
from graph.run import Run
from graph.settings import Settings
from graph.threads import Agent
from tests.integration.agent_fixtures import (
    DONE,
    Script,
    act_otherwise,
    adjust,
    calls,
    cancel,
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

TWO = (adjust("NW-011", 1), adjust("NW-012", 2))


async def ask(agent: Agent, script: Script, *wanted: tuple[str, dict[str, object]]) -> Run:
    """A thread that waits for a group."""
    script.replies[:] = [calls(*wanted)]
    return await agent.start("all of it or nothing", requested_by="nancy", all_or_nothing=True)


@pytest.mark.guarantee("once", "accountable")
async def test_all_approved_run_in_one_transaction(scripted: Agent, script: Script, settings: Settings) -> None:
    """Decided one by one, by two people: nothing runs before the last, and then both at the same instant."""
    asked = await ask(scripted, script, *TWO)
    first, second = asked.pending
    half = await scripted.resume(asked.thread_id, approve(first, by="andrew"))
    assert (half.outcome, half.status, effects(settings)) == ("recorded", "pending", [])
    await scripted.recover()
    assert effects(settings) == []
    run = await scripted.resume(asked.thread_id, approve(second, by="laura"))
    assert (run.outcome, run.answer, [receipt.status for receipt in run.receipts]) == (
        "executed",
        "done",
        ["executed"] * 2,
    )
    one, two = effects(settings)
    assert one.executed_at == two.executed_at
    assert [(done.approver, done.approval_id) for done in (one, two)] == [
        ("andrew", first.approval_id),
        ("laura", second.approval_id),
    ]
    again = await scripted.resume(asked.thread_id, approve(second, by="laura"))
    assert (again.outcome, len(effects(settings))) == ("already_executed", 2)


@pytest.mark.guarantee("A8", "never-silent")
@pytest.mark.parametrize("refused", [0, 1])
async def test_one_rejected_means_none(scripted: Agent, script: Script, settings: Settings, refused: int) -> None:
    """The other was approved, and does not run; its approver and the model are told why."""
    asked = await ask(scripted, script, *TWO)
    no, yes = asked.pending[refused], asked.pending[1 - refused]
    assert (await scripted.resume(asked.thread_id, approve(yes, by="andrew"))).outcome == "recorded"
    run = await scripted.resume(asked.thread_id, reject(no, by="laura", reason="not this one"))
    assert (run.outcome, run.status, effects(settings)) == ("rejected", "done", [])
    told = heard(script.given[-1], "adjust_stock")
    assert sorted(one.get("outcome", "") for one in told) == ["failed", "rejected"]
    assert any("group" in str(one) for one in told)
    late = await scripted.resume(asked.thread_id, approve(yes, by="andrew"))
    assert (late.outcome, effects(settings)) == ("already_decided", [])


@pytest.mark.guarantee("stale-asks-again")
async def test_one_stale_means_all_ask_again(scripted: Agent, script: Script, settings: Settings) -> None:
    """Both are put to the approver anew, also the one whose target stood still; approving these runs both."""
    asked = await ask(scripted, script, *TWO)
    await act_otherwise(scripted, "NW-012", 5)
    run = await scripted.resume(asked.thread_id, *(approve(one, by="andrew") for one in asked.pending))
    assert (run.outcome, len(run.pending), moves(settings)) == ("stale", 2, [("NW-012", "adjustment", 5, 0)])
    assert [one.supersedes for one in run.pending] == [one.approval_id for one in asked.pending]
    done = await scripted.resume(asked.thread_id, *(approve(one, by="andrew") for one in run.pending))
    assert (done.outcome, len(effects(settings))) == ("executed", 3)
    assert sorted(row.status for row in ledger_rows(settings)) == ["executed"] * 3 + ["stale"] * 2


async def test_where_one_cannot_be_done_nobody_is_asked(scripted: Agent, script: Script, settings: Settings) -> None:
    """A shipped order cannot be cancelled, so the correction beside it is not put to anybody either."""
    run = await ask(scripted, script, adjust("NW-011", 1), cancel(DONE))
    assert (run.status, ledger_rows(settings), effects(settings)) == ("done", [], [])
    assert heard(script.given[-1], "cancel_order")[0]["error"]["code"] == "not_cancellable"
    assert heard(script.given[-1], "adjust_stock")[0]["error"]["code"] == "group_refused"


@pytest.mark.guarantee("edit-asks-again")
async def test_an_edit_of_one_is_asked_again_and_the_others_decision_stands(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """Nothing runs until the changed one is approved as well; then all of them do."""
    asked = await ask(scripted, script, *TWO)
    first, second = asked.pending
    await scripted.resume(asked.thread_id, approve(second, by="andrew"))
    changed = await scripted.resume(asked.thread_id, edit(first, dict(first.args) | {"delta": 4}, by="laura"))
    assert (changed.outcome, len(changed.pending), effects(settings)) == ("superseded", 1, [])
    run = await scripted.resume(asked.thread_id, approve(changed.pending[0], by="laura"))
    assert run.outcome == "executed"
    assert sorted(moves(settings)) == [("NW-011", "adjustment", 4, 0), ("NW-012", "adjustment", 2, 0)]


async def test_the_second_on_the_firsts_target_sees_its_effect(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """Planned in order: the second preview begins where the first ends, and both hold when they run together."""
    asked = await ask(scripted, script, adjust("NW-011", 3), adjust("NW-011", 4))
    run = await scripted.resume(asked.thread_id, *(approve(one, by="andrew") for one in asked.pending))
    assert (run.outcome, moves(settings)) == (
        "executed",
        [("NW-011", "adjustment", 3, 0), ("NW-011", "adjustment", 4, 0)],
    )
