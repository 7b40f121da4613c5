"""Agents in processes of their own: forked from a server that has everything imported, so that each costs
milliseconds, can be killed like any process, and dies at a named fault point where a test wants that."""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import Any, Final

from checkpoints.faults import VARIABLE
from graph.app import open_agent
from graph.settings import Settings
from graph.threads import Agent

CONTEXT: Final[ForkServerContext] = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__, "graph.planner.model"])

Job = Callable[..., Any]
"""An async function at a module's top level: an open agent and its own arguments in, something to send back out."""


@contextmanager
def process(settings: Settings, job: Job, *arguments: Any, fault: str = "") -> Iterator[tuple[BaseProcess, Connection]]:
    """Runs a job with an agent of its own; whatever happens, the process is gone afterwards.

    Args:
        settings: where the databases are.
        job: what to do.
        arguments: for the job.
        fault: where to die, as ``COUNTERSIGN_FAULT`` has it.

    Yields:
        The process, and the connection on which it sends what the job answers.
    """
    ours, theirs = CONTEXT.Pipe()
    child = CONTEXT.Process(target=_main, args=(settings, job, arguments, fault, theirs), daemon=True)
    child.start()
    theirs.close()
    try:
        yield child, ours
    finally:
        child.kill()
        child.join()
        ours.close()


def run_in_process(settings: Settings, job: Job, *arguments: Any) -> Any:
    """Runs a job in another process, and returns what it answers."""
    with process(settings, job, *arguments) as (child, connection):
        answer = connection.recv()
        child.join()
        assert child.exitcode == 0
        return answer


def die_in_process(settings: Settings, job: Job, *arguments: Any, fault: str) -> None:
    """Runs a job in another process, which has to die at the fault point."""
    with process(settings, job, *arguments, fault=fault) as (child, _):
        child.join()
        assert child.exitcode == -signal.SIGKILL, f"it never came to {fault}"


def _main(settings: Settings, job: Job, arguments: tuple[Any, ...], fault: str, connection: Connection) -> None:
    os.environ[VARIABLE] = fault
    asyncio.run(_with_agent(settings, job, arguments, connection))


async def _with_agent(settings: Settings, job: Job, arguments: tuple[Any, ...], connection: Connection) -> None:
    async with open_agent(settings) as agent:
        connection.send(await job(agent, *arguments))


async def ask(agent: Agent, words: str) -> Any:
    """Says something in a new thread; answers the thread's id and what waits."""
    run = await agent.start(words, requested_by="nancy")
    return run.thread_id, run.pending


async def call(agent: Agent, thread_id: str, tool: str, args: dict[str, Any]) -> Any:
    """Calls one tool in a thread of that name; answers what waits."""
    return (await agent.call(tool, args, thread_id=thread_id, requested_by="nancy")).pending


async def resume(agent: Agent, thread_id: str, *answers: Any) -> Any:
    """Gives answers; answers outcome, receipts and note."""
    run = await agent.resume(thread_id, *answers)
    return run.outcome, run.receipts, run.note


async def pending(agent: Agent) -> Any:
    """What waits, over all threads."""
    return await agent.pending()


async def resume_at_once(agent: Agent, barrier: Any, connection: Connection) -> Any:
    """Stays open and gives one answer per round, each time behind the barrier; None ends it."""
    connection.send("ready")
    while (round_ := connection.recv()) is not None:
        thread_id, answer = round_
        barrier.wait(60)
        connection.send(await resume(agent, thread_id, answer))
    return "ended"
