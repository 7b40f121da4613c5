"""The agent's threads: start, call, resume, recover. Every entrance comes through here."""

import uuid
from collections.abc import Collection, Sequence
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from checkpoints.records import Assurance
from graph.build import Agent as Graph
from graph.course import Course
from graph.decisions import KINDS, Answer
from graph.desk import Decided, decide, decide_by_rule, renamed
from graph.errors import CountersignError, PausedError, PendingError
from graph.leasing import leased
from graph.nodes.model import CALL_TOOL
from graph.outcomes import after_run
from graph.report import Place, make_run
from graph.rights import waiting_for
from graph.run import Approval, Run, approvals_of, with_remarks
from graph.services import Services

_TAKE_NOTE = frozenset({"expired", "schema_changed"})
"""Outcomes that nobody decided, so that the thread has to be told."""


class Agent:
    """An open agent. Made by ``open_agent``; its methods may be called from many tasks of one event loop.

    Args:
        graph: assembled with a checkpointer.
        services: the same as the graph's.
    """

    def __init__(self, graph: Graph, services: Services) -> None:
        self.graph = graph
        self.services = services
        self._course = Course(graph, services)

    # -- entrances -------------------------------------------------------------------------------------------------

    async def start(
        self,
        text: str,
        *,
        thread_id: str | None = None,
        requested_by: str | None = None,
        supersede: bool = False,
        all_or_nothing: bool = False,
    ) -> Run:
        """One turn of a conversation: the answer, or what waits for a person.

        Args:
            text: what the user says.
            thread_id: an existing conversation; a new one if left out.
            requested_by: who says it.
            supersede: withdraw what still waits in this thread instead of refusing the message.
            all_or_nothing: run the gated calls of one message in one transaction of the ERP, once all are approved.

        Raises:
            PendingError: the thread waits for a person; the message was not taken.
            CountersignError: an empty message, or a database that cannot be used.
        """
        if not text.strip():
            raise CountersignError(
                "empty_message", "There is nothing to do: the message is empty.", "Say what you want."
            )
        state = {"messages": [HumanMessage(text, id=_new_id())], "together": all_or_nothing}
        return await self._begin(state, thread_id, requested_by, supersede)

    async def call(
        self,
        tool: str,
        args: dict[str, Any] | None = None,
        *,
        requested_by: str | None = None,
        thread_id: str | None = None,
        supersede: bool = False,
        name: str | None = None,
    ) -> Run:
        """One tool, no model: a read's result is in ``run.result``, a write waits for approval like any other.

        Args:
            tool, args: the call.
            requested_by, thread_id, supersede: as for ``start``.
            name: the same name in the same thread is the same call, which has one effect however often it is sent; a
                call of its own if left out.

        Raises:
            PendingError, CountersignError: as ``start``; ``unknown_tool`` for a tool that there is not.
        """
        if self.services.bridge.risk(tool) is None:
            self.services.bridge.check(tool, {})
        named = name or uuid.uuid4().hex
        words = HumanMessage(f"call {tool}", id=f"words_{named}")
        call = {"name": tool, "args": args or {}, "id": f"call_{named}", "type": "tool_call"}
        spoken = AIMessage("", tool_calls=[call], name=CALL_TOOL, id=f"asked_{named}")
        return await self._begin({"messages": [words, spoken]}, thread_id, requested_by, supersede)

    async def resume(self, thread_id: str, *answers: Answer, assurance: Assurance = "asserted") -> Run:
        """Gives decisions to what waits, and says what came of them.

        Args:
            thread_id: the thread that waits.
            answers: from ``approve``, ``reject`` and ``edit``, all by one person.
            assurance: how surely the entrance knows that person.

        Returns:
            A Run whose ``outcome`` is never empty.

        Raises:
            CountersignError: no answer, or answers of several people at once.
            NoAnswerError: approved, but the ERP did not answer; ``recover`` asks again.
        """
        by = _one_person(answers)
        decided = await decide(self.services, answers, by=by, assurance=assurance, thread_id=thread_id)
        return await self._settle(thread_id, decided, answers)

    async def resume_as_decided(self, thread_id: str) -> Run:
        """Carries a thread on with the decisions that the ledger holds."""
        async with leased(self.services, thread_id):
            place = await self._course.carry_on(thread_id)
        return await self._report(thread_id, place)

    async def pending(self, *, limit: int = 50, for_approver: str | None = None) -> list[Approval]:
        """What waits, over all threads, oldest first.

        Args:
            limit: how many at most.
            for_approver: only what this person's signature would bring on, under the policy of today.
        """
        services = self.services
        if for_approver is None:
            rows = await services.look_up(services.ledger.pending, limit=limit)
        else:
            policy = await services.policy_now()
            rows = await services.look_up(waiting_for, policy, services.ledger, for_approver, limit=limit)
        asked_again = [row.supersedes for row in rows if row.supersedes]
        before = await services.look_up(services.ledger.get_all, asked_again) if asked_again else {}
        bridge = services.bridge
        return with_remarks(
            approvals_of(rows, before),
            lambda one: None if bridge.is_external(one.tool) else bridge.why_not(one.tool, one.args),
        )

    async def recover(self) -> list[Run]:
        """Continues every thread that a crash or an expiry left in the middle. Safe to call at any time.

        Raises:
            NoAnswerError, PausedError: and what else the first thread that cannot go on has to say; the others went on.
        """
        ledger, leases = self.services.ledger, self.services.leases
        expired = await self.services.write_down(ledger.expire_due)
        unsettled = await self.services.look_up(ledger.unsettled_threads)
        cut_off = await self.services.write_down(leases.left_behind)
        in_a_pause = await self.services.look_up(ledger.opened_in_a_pause)
        by_rule = [row for row in await decide_by_rule(self.services, in_a_pause) if row.status != "pending"]
        threads = dict.fromkeys([*cut_off, *unsettled, *(row.thread_id for row in [*expired, *by_rule])])
        runs, failures = [], []
        for thread_id in threads:
            try:
                runs.append(await self.resume_as_decided(thread_id))
            except Exception as error:  # noqa: BLE001 - one thread must not keep the others from it; raised below
                failures.append(error)
        if failures:
            raise failures[0]
        return runs

    async def run(self, thread_id: str) -> Run:
        """Where a thread stands."""
        return await self._report(thread_id, await self._course.look(thread_id))

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _begin(
        self, state: dict[str, Any], thread_id: str | None, requested_by: str | None, supersede: bool
    ) -> Run:
        thread = thread_id or _new_id()
        asked = state | {"requested_by": requested_by or self.services.settings.user}
        async with leased(self.services, thread):
            if thread_id is not None:
                await self._make_room(thread, supersede)
            place = await self._course.run(thread, asked)
        return await self._report(thread, place)

    async def _make_room(self, thread_id: str, supersede: bool) -> None:
        """Before a new message: settle what is decided, then refuse with what waits, or withdraw it on request."""
        ledger = self.services.ledger
        await self.services.write_down(ledger.expire_due, thread_id)
        if supersede:
            await self.services.write_down(ledger.close_pending, thread_id, "a new message superseded it")
        await self._course.carry_on(thread_id)
        waiting = await self.services.look_up(ledger.of_thread, thread_id, "pending")
        if waiting:
            raise PendingError(thread_id, [Approval.of(row) for row in waiting])

    async def _settle(self, thread_id: str, decided: list[Decided], answers: Sequence[Answer]) -> Run:
        """Lets the graph go on once no call of the message is open, and tells what came of each answer."""
        repeated = {
            one.approval_id for answer, one in zip(answers, decided, strict=True) if _asks_for_receipt(answer, one)
        }
        if any(one.recorded or one.approval_id in repeated or one.outcome in _TAKE_NOTE for one in decided):
            async with leased(self.services, thread_id):
                place, decided = await self._carry_on_unless_paused(thread_id, decided)
        else:
            place = await self._course.look(thread_id)
            if not place.messages:
                decided = [_sent_nowhere(one, thread_id) for one in decided]
        return await self._report(thread_id, place, decided, repeated)

    async def _carry_on_unless_paused(self, thread_id: str, decided: list[Decided]) -> tuple[Place, list[Decided]]:
        """A decision that came just before a pause stands; it is carried out once the pause ends."""
        try:
            return await self._course.carry_on(thread_id), decided
        except PausedError as pause:
            paused = [renamed(one, "paused", f"{one.note} {pause.message} {pause.hint}") for one in decided]
            return await self._course.look(thread_id), paused

    async def _report(
        self, thread_id: str, place: Place, decided: Sequence[Decided] = (), repeated: Collection[str] = ()
    ) -> Run:
        """The public view of a thread, and what came of the decisions that were just given."""
        rows = await self._course.rows(thread_id) if place.rows is None else place.rows
        known = {row.id: row for row in rows}
        final = {one.approval_id: after_run(one, known, one.approval_id in repeated) for one in decided}
        return make_run(thread_id, place.messages, rows, final)


def _asks_for_receipt(answer: Answer, one: Decided) -> bool:
    """An approval given once more for what was approved already: it gets the same receipt."""
    return (
        answer.kind == "approve"
        and one.outcome == "already_decided"
        and one.row is not None
        and one.row.status in {"approved", "executed"}
    )


def _sent_nowhere(one: Decided, thread_id: str) -> Decided:
    """An answer for a thread that there is not is told that, not that it went to the wrong one."""
    if one.outcome != "wrong_thread":
        return one
    return renamed(one, "unknown", f"There is no thread {thread_id}; nothing was decided.")


def _one_person(answers: Sequence[Answer]) -> str:
    for answer in answers:
        if not isinstance(answer, Answer) or answer.kind not in KINDS:
            raise CountersignError(
                "bad_answer", f"{answer!r} is not a decision.", "Give approve(…), reject(…) or edit(…)."
            )
    people = {answer.by.strip() for answer in answers}
    if not answers:
        raise CountersignError("no_decision", "No decision was given.", "Give approve(…), reject(…) or edit(…).")
    if len(people) != 1 or people == {""}:
        raise CountersignError(
            "unnamed_approver", "Each answer is given by one named person.", "Say who decides: by=NAME (--by NAME)."
        )
    if len({answer.approval_id for answer in answers}) != len(answers):
        raise CountersignError("decided_twice", "One approval is decided twice in one answer.", "Decide each once.")
    return people.pop()


def _new_id() -> str:
    return str(uuid.uuid4())
