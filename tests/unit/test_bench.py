"""The benchmark's own arithmetic, and that its baselines do the work that they are timed for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from tests.bench.baseline_langchain import bare_tool, tool_over_mcp
from tests.bench.harness import Comparison, Contestant, Cycle, Turn, figures, side_by_side, timed
from tests.bench.hosts import bare_client


@asynccontextmanager
async def idle(folder: Path) -> AsyncIterator[Cycle]:
    async def cycle() -> None:
        return

    yield cycle


async def test_contestants_take_turns_and_warm_up_is_not_counted() -> None:
    """Every round runs everyone once, the first place goes round, and only measured rounds are kept."""
    order: list[str] = []

    def named(name: str) -> Cycle:
        async def cycle() -> None:
            order.append(name)

        return cycle

    turns = await side_by_side([named("a"), named("b")], rounds=2, warmup=1)
    assert "".join(order) == "abbaab"
    assert [len(turn) for turn in turns] == [2, 2]


def test_a_ratio_is_taken_within_each_round() -> None:
    """A machine that gets ten times slower half-way changes no ratio."""
    comparison = Comparison("c", Contestant("ours", idle), [(Contestant("theirs", idle), 1.5)])
    mine = [Turn(passed, 3) for passed in (2, 2, 20, 20, 20)]
    others = [Turn(passed, 2) for passed in (1, 1, 10, 10, 10)]
    ours, theirs = figures(comparison, [mine, others])
    assert (ours.ratio, ours.kept, theirs.ratio, theirs.kept) == (1, True, 2, False)
    assert (ours.computed, theirs.computed, theirs.computed_ratio) == (3, 2, 1.5)


async def test_waiting_is_told_from_computing() -> None:
    """What only waits has passed time and computed next to nothing."""

    async def waits() -> None:
        await asyncio.sleep(0.05)

    turn = await timed(waits)
    assert turn.computed < turn.passed / 2


@pytest.mark.parametrize("baseline", [bare_tool, tool_over_mcp])
async def test_a_baseline_writes_once_in_every_cycle(
    tmp_path: Path, baseline: Callable[[Path], AbstractAsyncContextManager[Cycle]]
) -> None:
    """A cycle raises where its write did not happen exactly once, so no baseline is fast by doing nothing."""
    async with baseline(tmp_path) as cycle:
        await cycle()
        await cycle()


@pytest.mark.parametrize("typed", [True, False])
async def test_a_bare_server_reads_the_order_that_is_asked_for(tmp_path: Path, typed: bool) -> None:
    """A cycle raises where another answer comes back, so no baseline is fast by answering nothing."""
    async with bare_client(typed=typed)(tmp_path) as cycle:
        await cycle()
