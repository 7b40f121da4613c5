"""A process that has imported everything and forks others, each of which costs milliseconds and may be killed.

It has opened nothing: no thread, no event loop, no database. Whoever it forks opens an agent of its own.
"""

import asyncio
import functools
import gc
import logging
import multiprocessing
import os
import pickle
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

import graph.planner.model  # noqa: F401 - what a victim would import later, each anew
from checkpoints import faults as agents_faults
from checkpoints.saver import ThreadSqliteSaver
from erp_mcp import app
from erp_mcp import faults as erps_faults
from erp_mcp.registry import load_registry
from graph.app import open_agent
from graph.settings import Settings

log = logging.getLogger(__name__)

Job = Callable[..., Any]
"""An async function at a module's top level: an open agent and its own arguments in, something to send back out."""

KILLED: Final = -signal.SIGKILL
OPENED: Final = b"o"
"""What a victim says first, once its agent is open."""
DIE: Final = agents_faults._die_if_meant.__name__
SAVER: Final = "saver."
"""How the points after each write of a checkpointer begin; they are only there in victims."""
RECORD: Final = "record"
"""A fault that kills nobody: the victim tells which points it passed, in order."""


@dataclass(frozen=True)
class Task:
    """One victim's life.

    Args:
        settings: where the databases are.
        job: what it does.
        arguments: for the job.
        fault: where it dies, as ``COUNTERSIGN_FAULT`` has it; or ``RECORD``.
        seconds: when it dies, from the moment that its agent is open; None for never.
    """

    settings: Settings
    job: Job
    arguments: tuple[Any, ...]
    fault: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Death:
    """How a victim ended.

    Args:
        status: its exit code; ``KILLED`` where it was.
        answer: what the job answered, or which points it passed.
    """

    status: int
    answer: Any = None


class Zygote:
    """The other end: give it tasks.

    Args:
        connection: to the process that forks.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def run(self, task: Task) -> Death:
        """Forks a victim, and returns once it is gone."""
        self._connection.send(task)
        death = self._connection.recv()
        assert isinstance(death, Death)
        return death


@contextmanager
def open_zygote() -> Iterator[Zygote]:
    """The forking process, started from nothing, so that it inherits no thread."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Zygote(ours)
    finally:
        ours.close()
        process.join(10)
        process.kill()
        process.join()


def _serve(connection: Connection) -> None:
    for saver in (ThreadSqliteSaver, AsyncPostgresSaver):
        for method in ("aput", "aput_writes"):
            setattr(saver, method, _ending_at_a_point(getattr(saver, method)))
    registry = load_registry()  # most of what opening costs, and the same for all
    setattr(app, load_registry.__name__, lambda: registry)
    gc.freeze()
    with suppress(EOFError):
        while True:
            task = connection.recv()
            assert threading.active_count() == 1, "a fork would inherit locks that nobody gives back"
            connection.send(_live_and_die(task))


def _ending_at_a_point(method: Job) -> Job:
    """LangGraph stores what a node said and the step's checkpoint one after the other: a crash can come in between."""

    @functools.wraps(method)
    async def stored(*arguments: Any, **named: Any) -> Any:
        result = await method(*arguments, **named)
        agents_faults.point(f"{SAVER}{method.__name__}")
        return result

    return stored


def _live_and_die(task: Task) -> Death:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _live(task, writing)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as said:
        is_open = said.read(1) == OPENED
        if is_open and task.seconds is not None and not select.select([said], [], [], task.seconds)[0]:
            os.kill(pid, signal.SIGKILL)
        answer = said.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return Death(status, pickle.loads(answer) if status == 0 else None)


def _live(task: Task, writing: int) -> None:
    """In the fork; it never returns to the zygote's code."""
    status = 1
    try:
        passed: list[str] = []
        os.environ[erps_faults.VARIABLE] = task.fault
        if task.fault == RECORD:
            for module in (agents_faults, erps_faults):
                setattr(module, DIE, lambda name, _wanted: passed.append(name))
        answer = asyncio.run(_with_agent(task, writing))
        with os.fdopen(writing, "wb") as out:
            out.write(pickle.dumps(passed if task.fault == RECORD else answer))
        status = 0
    except Exception:
        log.exception("%s did not come to its end", task.job.__name__)
    finally:
        os._exit(status)


async def _with_agent(task: Task, writing: int) -> Any:
    async with open_agent(task.settings) as agent:
        os.write(writing, OPENED)
        return await task.job(agent, *task.arguments)
