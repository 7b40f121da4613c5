"""Long-lived processes that do something to one approval at the same moment, and say what they were told."""

import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final, Literal

from graph import approve, edit, reject
from graph.errors import PendingError
from graph.run import Approval, Receipt, Run
from graph.settings import Settings
from graph.threads import Agent
from tests.acceptance.agent_process import CONTEXT, process

Act = Literal["approve", "reject", "edit", "message", "expire", "change"]

BARRIER_SECONDS: Final = 120
QUESTION: Final = "What is in stock of NW-012?"


@dataclass(frozen=True)
class Turn:
    """What one process does in one round.

    Args:
        act: one of the acts.
        who: by whom.
        approval: the approval that everybody is at.
    """

    act: Act
    who: str
    approval: Approval


@dataclass(frozen=True)
class Told:
    """What its caller was told.

    Args:
        turn: what it did.
        outcome: the typed outcome of a decision; ``answered`` or ``refused`` for a message, ``done`` for the others,
            ``crashed`` for what must never be.
        receipts: of a decision.
        note: for the person, or the crash's traceback.
    """

    turn: Turn
    outcome: str
    receipts: tuple[Receipt, ...] = ()
    note: str = ""


class Racers:
    """Processes that wait for their turns.

    Args:
        connections: to each of them.
    """

    def __init__(self, connections: Sequence[Connection]) -> None:
        self._connections = connections

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._connections)

    def race(self, turns: Sequence[Turn]) -> list[Told]:
        """Each process takes its turn, all at once; what each was told."""
        for connection, turn in zip(self._connections, turns, strict=True):
            connection.send(turn)
        return [connection.recv() for connection in self._connections]


@contextmanager
def open_racers(settings: Settings, count: int) -> Iterator[Racers]:
    """Processes with an open agent each, on the same databases."""
    barrier = CONTEXT.Barrier(count)
    with ExitStack() as stack:
        connections = []
        for _ in range(count):
            ours, theirs = CONTEXT.Pipe()
            stack.enter_context(process(settings, take_turns, barrier, theirs))
            connections.append(ours)
        for connection in connections:
            assert connection.recv() == "ready"
        yield Racers(connections)


async def take_turns(agent: Agent, barrier: Any, connection: Connection) -> Any:
    """Stays open, and takes each turn behind the barrier."""
    connection.send("ready")
    while True:
        turn = connection.recv()
        barrier.wait(BARRIER_SECONDS)
        connection.send(await _take(agent, turn))


async def _take(agent: Agent, turn: Turn) -> Told:
    try:
        return await _ACTS[turn.act](agent, turn)
    except Exception:  # noqa: BLE001 - whatever it is, the test that watches this process has to hear of it
        return Told(turn, "crashed", note=traceback.format_exc())


async def _decide(agent: Agent, turn: Turn) -> Told:
    approval = turn.approval
    answers = {
        "approve": approve(approval, by=turn.who),
        "reject": reject(approval, by=turn.who, reason="not now"),
        "edit": edit(approval, approval.args | {"delta": approval.args["delta"] + 1}, by=turn.who),
    }
    return _told(turn, await agent.resume(approval.thread_id, answers[turn.act]))


def _told(turn: Turn, run: Run) -> Told:
    return Told(turn, run.outcome or "nothing", tuple(run.receipts), run.note)


async def _say_something(agent: Agent, turn: Turn) -> Told:
    """Half of those who speak insist on it, by their name."""
    insists = turn.who.endswith("!")
    try:
        run = await agent.start(
            f"{QUESTION} ({turn.who})", thread_id=turn.approval.thread_id, requested_by="nancy", supersede=insists
        )
    except PendingError as refused:
        return Told(turn, "refused", note=refused.message)
    return Told(turn, "answered" if run.answer else "nothing", note=run.answer)


async def _expire(agent: Agent, turn: Turn) -> Told:
    await agent.recover()
    return Told(turn, "done")


async def _change(agent: Agent, turn: Turn) -> Told:
    """Somebody else corrects the same stock level, in a thread of their own, until that has come through."""
    args = {"sku": turn.approval.args["sku"], "delta": 1, "reason": "found one"}
    run = await agent.call("adjust_stock", args, requested_by="robert")
    while run.pending:
        run = await agent.resume(run.thread_id, approve(run.pending[0], by=turn.who))
    return Told(turn, "done", tuple(run.receipts))


_ACTS: Final = {
    "approve": _decide, "reject": _decide, "edit": _decide, "message": _say_something, "expire": _expire,
    "change": _change,
}  # fmt: skip
