"""Two real processes that decide one approval at the same moment, behind a barrier, over and over."""

from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection
from typing import Any, Final

import pytest

from graph import approve, reject
from graph.app import open_agent
from graph.decisions import Answer
from graph.run import Run
from graph.settings import Settings
from tests.acceptance.agent_process import CONTEXT, process, resume_at_once
from tests.integration.agent_fixtures import effects, ledger_rows, moves, northwind_home, settings

__all__ = ["northwind_home", "settings"]

pytestmark = pytest.mark.acceptance

ROUNDS: Final = 20


@pytest.fixture
def workers(settings: Settings) -> Iterator[list[Connection]]:
    """Two processes with an open agent each."""
    barrier = CONTEXT.Barrier(2)
    with ExitStack() as stack:
        connections = []
        for _ in range(2):
            ours, theirs = CONTEXT.Pipe()
            stack.enter_context(process(settings, resume_at_once, barrier, theirs))
            assert ours.recv() == "ready"
            connections.append(ours)
        yield connections


async def race(workers: list[Connection], asked: Run, *answers: Answer) -> list[Any]:
    """Both give their answer at once; what each of them was told."""
    for worker, answer in zip(workers, answers, strict=True):
        worker.send((asked.thread_id, answer))
    return [worker.recv() for worker in workers]


@pytest.mark.guarantee("A1", "once", "first-decision-wins")
async def test_two_processes_that_approve_one_order_make_one_order(
    settings: Settings, workers: list[Connection]
) -> None:
    """One executes, the other is told that it was done already; both hold the same receipt."""
    async with open_agent(settings) as agent:
        for number in range(1, ROUNDS + 1):
            lines = [{"sku": "NW-041", "quantity": 2}]
            asked = await agent.call("create_order", {"customer": "ALFKI", "lines": lines})
            told = await race(workers, asked, *(approve(asked.pending[0], by=by) for by in ("andrew", "laura")))
            assert sorted(outcome for outcome, _, _ in told) == ["already_executed", "executed"]
            assert told[0][1] == told[1][1] != []
            assert len(effects(settings)) == number
    assert moves(settings) == [("NW-041", "reserve", 0, 2)] * ROUNDS
    assert {row.status for row in ledger_rows(settings)} == {"executed"}


@pytest.mark.guarantee("first-decision-wins", "never-silent")
async def test_of_an_approval_and_a_rejection_the_first_one_counts(
    settings: Settings, workers: list[Connection]
) -> None:
    """The other is told who decided; the effect is there if and only if the approval was first."""
    async with open_agent(settings) as agent:
        for _ in range(ROUNDS // 2):
            before = len(effects(settings))
            asked = await agent.call("adjust_stock", {"sku": "NW-011", "delta": 1, "reason": "counted"})
            one = asked.pending[0]
            (yes, _, yes_note), (no, _, no_note) = await race(
                workers, asked, approve(one, by="andrew"), reject(one, by="laura")
            )
            if yes == "executed":
                assert (no, len(effects(settings))) == ("already_decided", before + 1)
                assert "andrew" in no_note
            else:
                assert (yes, no, len(effects(settings))) == ("already_decided", "rejected", before)
                assert "laura" in yes_note
