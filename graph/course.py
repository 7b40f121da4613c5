"""A thread's way through the graph: where it stands, one run of it, and carrying it on to where the ledger is."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command, Interrupt

from checkpoints.records import ApprovalRow, Status
from graph.build import Agent as Graph
from graph.errors import CountersignError
from graph.execution import carry_out_together
from graph.nodes.approve import NUDGE
from graph.report import Place
from graph.request import shown_ids
from graph.services import Services

MAX_STEPS = 200
"""LangGraph's bound on one run; about fifty rounds of tools."""

INTERRUPT: Final = "__interrupt__"
"""LangGraph's name for where a thread waits, in what a run answers and in what its checkpointer keeps."""


class Course:
    """Runs threads of one graph. The caller holds the thread's lease.

    Args:
        graph: assembled with a checkpointer.
        services: the same as the graph's.
    """

    def __init__(self, graph: Graph, services: Services) -> None:
        self._graph = graph
        self._services = services

    async def carry_on(self, thread_id: str) -> Place:
        """Brings the graph to where the ledger is: DESIGN section 3's table for ``recover``, row by row."""
        shown = await self._glance(thread_id)
        if shown is not None and not _what_waits(await self.rows(thread_id, "pending"), shown):
            place = await self._resume(thread_id, shown)
        else:
            place = await self.look(thread_id)
        for _ in range(MAX_STEPS):
            if place.interrupt is not None:
                rows = await self.rows(thread_id)
                waiting = _what_waits(rows, place.interrupt)
                if waiting:
                    return replace(place, rows=await self._settle_strays(thread_id, rows, waiting))
                place = await self._resume(thread_id, place.interrupt)
            elif place.goes_on:
                place = await self.run(thread_id, None)
            else:
                rows = await self.rows(thread_id)
                return replace(place, rows=await self._settle_strays(thread_id, rows, frozenset()))
        raise CountersignError("thread_stuck", f"Thread {thread_id} does not come to rest.", "Start a new thread.")

    async def _settle_strays(
        self, thread_id: str, rows: Sequence[ApprovalRow], waiting: Collection[str]
    ) -> Sequence[ApprovalRow]:
        """Decided, but no step of the graph will come by (an interrupt or a message was lost): ask with the same grant.

        Args:
            thread_id: the thread, at rest.
            rows: its approvals.
            waiting: messages that the graph is still at.

        Returns:
            Its approvals as they stand then.
        """
        groups: dict[str, list[ApprovalRow]] = {}
        for row in rows:
            if row.settled_at is None and row.status != "pending" and row.message_id not in waiting:
                groups.setdefault(row.message_id if row.together else row.id, []).append(row)
        open_messages = {row.message_id for row in rows if row.status == "pending"}
        ready = [group for name, group in groups.items() if name not in open_messages]  # of an open group none may run
        for group in ready:
            left = await carry_out_together(group, self._services)
            await self._services.write_down(self._services.ledger.settle, [one.for_ledger() for one in left])
        return await self.rows(thread_id) if ready else rows

    async def rows(self, thread_id: str, *statuses: Status) -> list[ApprovalRow]:
        """The thread's approvals, as the ledger has them; all, or those in some states."""
        return await self._services.look_up(self._services.ledger.of_thread, thread_id, *statuses)

    async def _glance(self, thread_id: str) -> Interrupt | None:
        """Where a thread waits, if its newest checkpoint says that and nothing else; else only a whole look tells.

        It costs a quarter of that, since neither messages nor tasks are made of what is stored.
        """
        saver = self._graph.checkpointer
        saved = await saver.aget_tuple(_config(thread_id)) if isinstance(saver, BaseCheckpointSaver) else None
        writes = (saved.pending_writes or []) if saved else []
        if len(writes) != 1 or writes[0][1] != INTERRUPT or len(writes[0][2]) != 1:
            return None
        shown: Interrupt = writes[0][2][0]
        return shown

    async def look(self, thread_id: str) -> Place:
        """Where a thread stands."""
        snapshot = await self._graph.aget_state(_config(thread_id))
        interrupts = snapshot.interrupts
        # Not snapshot.next: it leaves out a node that ended, where the crash came before the step's own checkpoint.
        return Place(snapshot.values.get("messages", []), interrupts[0] if interrupts else None, bool(snapshot.tasks))

    async def _resume(self, thread_id: str, interrupt: Interrupt) -> Place:
        return await self.run(thread_id, Command(resume={interrupt.id: NUDGE}))

    async def run(self, thread_id: str, what: Any) -> Place:
        """Lets the graph run until it ends or waits.

        Args:
            thread_id: the thread.
            what: its input, an answer, or None to go on.

        Raises:
            CountersignError: ``too_many_steps``.
        """
        try:
            values = await self._graph.ainvoke(what, _config(thread_id), durability="sync")
        except GraphRecursionError as error:
            raise CountersignError(
                "too_many_steps", f"The model did not come to an end within {MAX_STEPS} steps.", "Ask for less at once."
            ) from error
        interrupts = values.get(INTERRUPT, ())
        return Place(values.get("messages", []), interrupts[0] if interrupts else None)


def _what_waits(rows: Sequence[ApprovalRow], interrupt: Interrupt) -> frozenset[str]:
    """The messages whose calls are shown just as the ledger holds them pending, so that only a person can go on.

    Nothing where the interrupt shows what is decided, or forged. While one call of a message is open the others'
    decisions wait in the ledger.
    """
    shown = shown_ids(interrupt.value)
    pending = [row for row in rows if row.status == "pending"]
    messages = frozenset(row.message_id for row in pending if row.id in shown)
    return messages if {row.id for row in pending if row.message_id in messages} <= shown else frozenset()


def _config(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}, "recursion_limit": MAX_STEPS}
