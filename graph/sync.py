"""The sync door: the same agent, kept open by one background thread with an event loop of its own.

It works in scripts and inside a running loop (Jupyter), and after a fork.
"""

import atexit
import os
import threading
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from graph.app import open_agent
from graph.decisions import Answer
from graph.errors import CountersignError
from graph.run import Approval, Run
from graph.settings import Settings, load_settings
from graph.threads import Agent


class _Door:
    """One open agent behind one portal.

    Args:
        settings: what the agent was opened with; another HOME means another door.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._portal_manager: AbstractContextManager[BlockingPortal] = start_blocking_portal(name="countersign")
        self.portal = self._portal_manager.__enter__()
        self._agent_manager: AbstractContextManager[Agent] | None = None
        try:
            manager: AbstractAsyncContextManager[Agent] = open_agent(settings)
            self._agent_manager = self.portal.wrap_async_context_manager(manager)
            self.agent = self._agent_manager.__enter__()
        except BaseException:
            self._portal_manager.__exit__(None, None, None)
            raise

    def close(self) -> None:
        if self._agent_manager is not None:
            self._agent_manager.__exit__(None, None, None)
        self._portal_manager.__exit__(None, None, None)


_lock = threading.Lock()
_door: _Door | None = None
_before_fork: list[_Door] = []


def _agent() -> tuple[_Door, Agent]:
    global _door
    settings = load_settings()
    with _lock:
        if _door is not None and _door.settings != settings:
            _door.close()
            _door = None
        if _door is None:
            _door = _Door(settings)
        return _door, _door.agent


def _close() -> None:
    global _door
    with _lock:
        if _door is not None:
            _door.close()
            _door = None


def _after_fork() -> None:
    """The child has no portal thread. Its parent's door is kept, since dropping it would hang, and never used."""
    global _door, _lock
    if _door is not None:
        _before_fork.append(_door)
    _door, _lock = None, threading.Lock()


atexit.register(_close)
os.register_at_fork(after_in_child=_after_fork)


def _call(name: str, *arguments: Any, **named: Any) -> Any:
    door, agent = _agent()
    method = getattr(agent, name)

    async def run() -> Any:
        return await method(*arguments, **named)

    try:
        return door.portal.call(run)
    except RuntimeError as error:
        if "event loop thread" not in str(error):
            raise
        raise CountersignError(
            "inside_the_loop", "This is the agent's own event loop.", "Use open_agent() and await there."
        ) from error


def start_thread(
    text: str,
    *,
    thread_id: str | None = None,
    requested_by: str | None = None,
    supersede: bool = False,
    all_or_nothing: bool = False,
) -> Run:
    """One turn of a conversation; see ``Agent.start``."""
    run: Run = _call(
        "start",
        text,
        thread_id=thread_id,
        requested_by=requested_by,
        supersede=supersede,
        all_or_nothing=all_or_nothing,
    )
    return run


def call_tool(
    name: str,
    args: dict[str, Any] | None = None,
    *,
    requested_by: str | None = None,
    thread_id: str | None = None,
    supersede: bool = False,
) -> Run:
    """One tool without a model; see ``Agent.call``."""
    run: Run = _call("call", name, args, requested_by=requested_by, thread_id=thread_id, supersede=supersede)
    return run


def resume_thread(thread_id: str, *answers: Answer) -> Run:
    """Gives decisions to what waits in a thread; see ``Agent.resume``."""
    run: Run = _call("resume", thread_id, *answers)
    return run


def pending_approvals(*, limit: int = 50, for_approver: str | None = None) -> list[Approval]:
    """What waits, over all threads, oldest first; see ``Agent.pending``."""
    approvals: list[Approval] = _call("pending", limit=limit, for_approver=for_approver)
    return approvals


def recover() -> list[Run]:
    """Continues every thread that a crash or an expiry left in the middle."""
    runs: list[Run] = _call("recover")
    return runs
