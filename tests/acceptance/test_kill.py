"""kill -9 at every step of an approval, by real processes: another process goes on, and there is one effect."""

import os
import random
import uuid
from typing import Any, Final

import pytest

from checkpoints.database import database_url
from checkpoints.leases import Leases
from graph import approve
from graph.app import open_agent
from graph.books import read_audit
from graph.run import Approval, Run
from graph.settings import Settings
from tests.acceptance.agent_process import ask, call, die_in_process, pending, process, resume, run_in_process
from tests.integration.agent_fixtures import (
    OPEN,
    effects,
    ledger_rows,
    moves,
    northwind_home,
    order,
    settings,
    stock_of,
)

__all__ = ["northwind_home", "settings"]

pytestmark = pytest.mark.acceptance

ORDER: Final[tuple[str, dict[str, Any]]] = (
    "create_order",
    {"customer": "ALFKI", "lines": [{"sku": "NW-011", "quantity": 5}]},
)
ROUNDS: Final = int(os.environ.get("COUNTERSIGN_CHAOS_ROUNDS", "4"))

WHILE_ASKING: Final = ("agent.opened", "agent.done")
WHILE_APPROVING: Final = (
    "agent.decided", "agent.answered", "execute.begin", "execute.planned", "execute.applied", "execute.before_commit",
    "execute.after_commit", "agent.carried_out", "agent.settled", "agent.done",
)  # fmt: skip


async def recover(settings: Settings) -> list[Run]:
    """A new process starts and cleans up after the one that died."""
    async with open_agent(settings) as agent:
        return await agent.recover()


def assert_one_order(settings: Settings, run: Run) -> None:
    """Receipt, operations, order, stock moves, ledger and audit know one order and one number."""
    (done,) = effects(settings)
    number = done.receipt["result"]["order_id"]
    assert [receipt.result["order_id"] for receipt in run.receipts] == [number]
    assert order(settings, number).approval_id == done.approval_id
    assert moves(settings) == [("NW-011", "reserve", 0, 5)]
    (row,) = ledger_rows(settings)
    assert row.outcome is not None
    assert (row.status, row.outcome | {"status": "executed"}) == ("executed", done.receipt)  # or already_executed
    (entry,) = read_audit(settings)
    assert (entry.receipt, entry.note) == (done.receipt, "")


@pytest.mark.guarantee("A13", "nothing-lost", "once")
async def test_killed_while_it_waits_another_process_lists_and_approves_it(settings: Settings) -> None:
    """Ask in one process, kill -9 while it waits, list in a second, approve in a third: executed once."""
    words = f"Cancel order {OPEN}, ordered by mistake"
    with process(settings, ask, words) as (child, connection):
        thread_id, asked = connection.recv()
        child.kill()
    assert run_in_process(settings, pending) == asked
    outcome, receipts, _ = run_in_process(settings, resume, thread_id, approve(asked[0], by="andrew"))
    assert outcome == "executed"
    again = run_in_process(settings, resume, thread_id, approve(asked[0], by="andrew"))
    assert again[:2] == ("already_executed", receipts)
    (done,) = effects(settings)
    assert receipts[0].result == done.receipt["result"]
    assert (order(settings, OPEN).status, stock_of(settings, "NW-016")) == ("cancelled", (75, 32))
    assert moves(settings) == [("NW-016", "release", 0, -14)]
    (entry,) = read_audit(settings)
    assert (entry.requested_by, entry.decided_by, entry.receipt) == ("nancy", "andrew", done.receipt)


@pytest.mark.guarantee("nothing-lost")
@pytest.mark.parametrize("fault", WHILE_ASKING)
async def test_killed_while_asking_it_is_asked_after_recovery(settings: Settings, fault: str) -> None:
    """One approval waits, nothing has run, and approving it executes once."""
    thread_id = str(uuid.uuid4())
    die_in_process(settings, call, thread_id, *ORDER, fault=fault)
    (run,) = await recover(settings)
    assert (run.thread_id, run.status, effects(settings)) == (thread_id, "pending", [])
    assert len(ledger_rows(settings)) == 1
    async with open_agent(settings) as agent:
        done = await agent.resume(thread_id, approve(run.pending[0], by="andrew"))
    assert done.outcome == "executed"
    assert_one_order(settings, done)


@pytest.mark.guarantee("nothing-lost")
async def test_killed_after_the_model_spoke_it_goes_on_from_the_users_words(settings: Settings) -> None:
    """What the model said was not stored; the user's words were, and are answered after recovery."""
    die_in_process(settings, ask, f"Cancel order {OPEN}, ordered by mistake", fault="agent.spoke")
    (run,) = await recover(settings)
    assert [approval.args["order_id"] for approval in run.pending] == [OPEN]


@pytest.mark.guarantee("A2", "once", "nothing-lost", "accountable")
@pytest.mark.parametrize("then", ["recover", "approve again"])
@pytest.mark.parametrize("fault", WHILE_APPROVING)
async def test_killed_while_approving_there_is_one_effect(settings: Settings, fault: str, then: str) -> None:
    """Whoever comes next, ``recover`` or the approver with a second click: one order, one number, in every book."""
    async with open_agent(settings) as agent:
        asked = await agent.call(*ORDER, requested_by="nancy")
    answer = approve(asked.pending[0], by="andrew")
    die_in_process(settings, resume, asked.thread_id, answer, fault=fault)
    async with open_agent(settings) as agent:
        if then == "recover":
            assert [run.status for run in await agent.recover()] == ["done"]
            assert await agent.recover() == []
        run = await agent.resume(asked.thread_id, answer)
        assert run.outcome == "already_executed"
        assert_one_order(settings, run)
        after = await agent.start("What is in stock of NW-011?", thread_id=asked.thread_id)
        assert after.answer


@pytest.mark.guarantee("once")
async def test_killed_between_two_writes_of_one_message_each_runs_once(settings: Settings) -> None:
    """The first was done, the second was not begun: recovery does the second, and finds the first."""
    async with open_agent(settings) as agent:
        asked = await agent.start("Take 2 of NW-011 out of stock, damaged, and take 3 of NW-012 out of stock, damaged")
    assert len(asked.pending) == 2, asked.answer
    answers = [approve(one, by="andrew") for one in asked.pending]
    die_in_process(settings, resume, asked.thread_id, *answers, fault="execute.begin:2")
    assert len(effects(settings)) == 1
    (run,) = await recover(settings)
    assert run.status == "done"
    assert moves(settings) == [("NW-011", "adjustment", -2, 0), ("NW-012", "adjustment", -3, 0)]


@pytest.mark.chaos
@pytest.mark.guarantee("once", "nothing-lost")
async def test_killed_at_any_moment_there_is_one_effect_per_approval(settings: Settings) -> None:
    """Processes that are killed at random, over and over: each approval ends executed, each once."""
    chance = random.Random(11)
    for _ in range(ROUNDS):
        async with open_agent(settings) as agent:
            asked = await agent.call("adjust_stock", {"sku": "NW-011", "delta": 1, "reason": "counted"})
        answer = approve(asked.pending[0], by="andrew")
        with process(settings, resume, asked.thread_id, answer) as (child, _):
            child.join(chance.uniform(0.05, 0.5))
        async with open_agent(settings) as agent:
            await agent.recover()
            run = await agent.resume(asked.thread_id, answer)
        assert run.outcome in {"executed", "already_executed"}
    assert moves(settings) == [("NW-011", "adjustment", 1, 0)] * ROUNDS
    assert Leases(database_url(settings.checkpoint_database)).left_behind() == []


async def test_what_a_process_sends_is_what_the_books_hold(settings: Settings) -> None:
    """Approvals cross process borders whole, so that these tests compare the real thing."""
    _, asked = run_in_process(settings, ask, f"Cancel order {OPEN}, ordered by mistake")
    assert asked == [Approval.of(row) for row in ledger_rows(settings)]
