"""The agent as the commands use it. Importing this loads it all, so only commands that run the agent do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from langchain_core.messages import HumanMessage, ToolMessage

from graph.app import open_agent
from graph.cli.failures import Exit
from graph.decisions import Answer
from graph.errors import CountersignError
from graph.run import Run
from graph.threads import Agent


class Door:
    """An open agent for the length of a command, or of a conversation.

    Args:
        portal: the thread with the agent's event loop.
        agent: opened in it.
    """

    def __init__(self, portal: BlockingPortal, agent: Agent) -> None:
        self._portal = portal
        self._agent = agent

    def ask(
        self,
        text: str,
        *,
        thread_id: str | None,
        requested_by: str | None,
        supersede: bool,
        all_or_nothing: bool = False,
    ) -> Run:
        """One turn; see ``Agent.start``.

        Raises:
            CountersignError: ``unknown_thread`` beside what ``Agent.start`` raises.
        """
        self.check_thread(thread_id)
        return self._run(
            self._agent.start, text, thread_id=thread_id, requested_by=requested_by, supersede=supersede,
            all_or_nothing=all_or_nothing,
        )  # fmt: skip

    def call(
        self, tool: str, args: dict[str, Any], *, thread_id: str | None, requested_by: str | None, supersede: bool
    ) -> Run:
        """One tool; see ``Agent.call``."""
        self.check_thread(thread_id)
        return self._run(
            self._agent.call, tool, args, thread_id=thread_id, requested_by=requested_by, supersede=supersede
        )

    def decide(self, thread_id: str, answer: Answer) -> Run:
        """One decision; see ``Agent.resume``."""
        return self._run(self._agent.resume, thread_id, answer)

    def stand(self, thread_id: str) -> Run:
        """Where a thread stands; see ``Agent.run``."""
        return self._run(self._agent.run, thread_id)

    def recover(self) -> list[Run]:
        """Every thread that was cut off; see ``Agent.recover``."""
        return self._portal.call(self._agent.recover)

    def check_thread(self, thread_id: str | None) -> None:
        """Refuses a thread that there is not: a mistyped id must not quietly begin a new conversation.

        Raises:
            CountersignError: ``unknown_thread``.
        """
        if thread_id is None:
            return
        found = self.stand(thread_id)
        if not found.messages and not found.pending:
            raise CountersignError(
                "unknown_thread", f"There is no thread {thread_id!r}.", "Leave --thread out to begin a new one."
            )

    def _run(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Run:
        async def run() -> Run:
            done: Run = await method(*arguments, **options)
            return done

        return self._portal.call(run)


@contextmanager
def open_door() -> Iterator[Door]:
    """An agent with the settings of the environment.

    Raises:
        CountersignError, ErpError, CheckpointError: what is missing or wrong.
    """
    with start_blocking_portal(name="countersign") as portal, portal.wrap_async_context_manager(open_agent()) as agent:
        yield Door(portal, agent)


def exit_of_turn(run: Run) -> Exit:
    """How a turn ended: waiting, refused where the last tool that was tried refused, else done."""
    if run.status == "pending":
        return Exit.PENDING
    for message in reversed(run.messages):
        if isinstance(message, ToolMessage):
            return Exit.REFUSED if message.status == "error" else Exit.DONE
        if isinstance(message, HumanMessage):
            break
    return Exit.DONE
