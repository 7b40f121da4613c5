"""Sync calls, async calls and a notebook's running loop, from four processes at once, on one database file."""

import asyncio
import os
from collections import Counter
from contextlib import ExitStack
from multiprocessing.connection import Connection
from typing import Any, Final

import pytest

import graph
from graph import approve
from graph.app import open_agent
from graph.settings import Settings
from tests.acceptance.agent_process import CONTEXT
from tests.integration.agent_fixtures import effects, ledger_rows, moves, northwind_home, settings

__all__ = ["northwind_home", "settings"]

pytestmark = pytest.mark.acceptance

ROUNDS: Final = 8
WAIT_SECONDS: Final = 60


def use_sync_functions() -> list[str]:
    """A script."""
    told = []
    for _ in range(ROUNDS):
        asked = graph.call_tool(
            "adjust_stock", {"sku": "NW-011", "delta": 1, "reason": "counted"}, requested_by="nancy"
        )
        told.append(decide(asked.thread_id))
    return told


def decide(thread_id: str) -> str:
    """Approves until it was done: somebody else changes the same row all the time, so it asks again now and then."""
    while True:
        (waiting,) = [one for one in graph.pending_approvals(limit=1000) if one.thread_id == thread_id]
        run = graph.resume_thread(thread_id, approve(waiting, by="andrew"))
        if run.outcome != "stale":
            return str(run.outcome)


async def use_a_running_loop() -> list[str]:
    """A notebook: the sync functions, called inside a loop that runs."""
    assert asyncio.get_running_loop().is_running()
    return use_sync_functions()


async def use_the_agent() -> list[str]:
    """A server: one open agent, several threads of one loop side by side."""
    async with open_agent() as agent:

        async def one() -> str:
            args = {"sku": "NW-011", "delta": 1, "reason": "counted"}
            run = await agent.call("adjust_stock", args, requested_by="nancy")
            while run.pending:
                run = await agent.resume(run.thread_id, approve(run.pending[0], by="laura"))
            return str(run.outcome)

        return list(await asyncio.gather(*(one() for _ in range(ROUNDS))))


def live(kind: str, home: str, barrier: Any, connection: Connection) -> None:
    """One of the four processes."""
    os.environ["COUNTERSIGN_HOME"] = home
    barrier.wait(WAIT_SECONDS)
    if kind == "script":
        connection.send(use_sync_functions())
    else:
        connection.send(asyncio.run({"notebook": use_a_running_loop, "server": use_the_agent}[kind]()))


@pytest.mark.guarantee("A18", "once")
def test_four_processes_of_three_kinds_share_one_file(settings: Settings) -> None:
    """Nobody fails, nobody finds the database locked, and every approval is executed once."""
    kinds = ["script", "notebook", "server", "server"]
    barrier, received = CONTEXT.Barrier(len(kinds)), []
    with ExitStack() as stack:
        for kind in kinds:
            ours, theirs = CONTEXT.Pipe()
            child = CONTEXT.Process(target=live, args=(kind, str(settings.home), barrier, theirs), daemon=True)
            child.start()
            theirs.close()
            stack.callback(child.kill)
            received.append((kind, ours, child))
        told = []
        for kind, ours, child in received:
            told += ours.recv()  # the end of the file where the process failed; its traceback stands above
            child.join()
            assert child.exitcode == 0, kind
    assert Counter(told) == {"executed": len(kinds) * ROUNDS}
    assert moves(settings) == [("NW-011", "adjustment", 1, 0)] * len(kinds) * ROUNDS
    assert len(effects(settings)) == len(kinds) * ROUNDS
    assert {row.status for row in ledger_rows(settings)} <= {"executed", "stale"}
