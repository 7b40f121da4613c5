"""Speed as ratios: contestants run side by side in one process, turn by turn, so that a busy machine slows all of them
alike. Milliseconds are printed for the reader; only ratios are worth comparing between machines.

Beside the time that passes stands the time that the process spent computing: a slow or busy disk makes everybody wait,
and so flatters whoever computes more; the second figure shows what is left of a ratio when nothing waits.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

Cycle = Callable[[], Awaitable[None]]
"""One unit of work. It raises where the work was not done, so that a broken contestant cannot look fast."""

Opener = Callable[[Path], AbstractAsyncContextManager[Cycle]]
"""Given an empty folder, a context that yields the cycle."""


@dataclass(frozen=True)
class Contestant:
    """What is measured.

    Args:
        name: how the table calls it.
        open: given an empty folder, a context that yields the cycle; set-up and tear-down are not measured.
    """

    name: str
    open: Opener


@dataclass(frozen=True)
class Comparison:
    """Ours against what people would build instead.

    Args:
        name: for the command line.
        ours: measured against each of the others.
        others: the baselines, each with the ratio (ours divided by theirs) that is allowed at most.
        rounds: measured turns of every contestant.
        warmup: turns before that, not measured.
    """

    name: str
    ours: Contestant
    others: Sequence[tuple[Contestant, float]]
    rounds: int = 100
    warmup: int = 10


@dataclass(frozen=True)
class Turn:
    """One turn's milliseconds.

    Args:
        passed: by the clock.
        computed: by all threads of this process.
    """

    passed: float
    computed: float


@dataclass(frozen=True)
class Figure:
    """One row of the result.

    Args:
        name: the contestant.
        milliseconds: median of its turns, by the clock.
        computed: the same, of the time that the process computed.
        ratio: median over the rounds of ours divided by this one's time in the same round; 1 for ours.
        computed_ratio: the same, of the time that the process computed.
        bound: the ratio that is allowed at most; nothing for ours.
    """

    name: str
    milliseconds: float
    computed: float
    ratio: float
    computed_ratio: float
    bound: float | None = None

    @property
    def kept(self) -> bool:
        """Whether the ratio is within its bound."""
        return self.bound is None or self.ratio <= self.bound


async def timed(cycle: Cycle) -> Turn:
    """Does one turn."""
    started, began = time.perf_counter(), time.process_time()
    await cycle()
    return Turn((time.perf_counter() - started) * 1000, (time.process_time() - began) * 1000)


async def side_by_side(cycles: Sequence[Cycle], rounds: int, warmup: int) -> list[list[Turn]]:
    """Every turn, one list for each cycle.

    Every round runs each cycle once. The round's first place goes round, so that no contestant always runs on the
    caches that another one has left.
    """
    turns: list[list[Turn]] = [[] for _ in cycles]
    places = range(len(cycles))
    for number in range(warmup + rounds):
        for place in places:
            index = (place + number) % len(cycles)
            turn = await timed(cycles[index])
            if number >= warmup:
                turns[index].append(turn)
    return turns


def figures(comparison: Comparison, turns: Sequence[Sequence[Turn]]) -> list[Figure]:
    """The table's rows: ours first, then each baseline with its ratios."""
    ours, *others = turns
    rows = [Figure(comparison.ours.name, *_medians(ours), 1, 1)]
    for (contestant, bound), theirs in zip(comparison.others, others, strict=True):
        pairs = list(zip(ours, theirs, strict=True))
        ratio = median(mine.passed / other.passed for mine, other in pairs)
        computed = median(mine.computed / other.computed for mine, other in pairs)
        rows.append(Figure(contestant.name, *_medians(theirs), ratio, computed, bound))
    return rows


def _medians(turns: Sequence[Turn]) -> tuple[float, float]:
    return median(turn.passed for turn in turns), median(turn.computed for turn in turns)
