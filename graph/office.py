"""An open agent for a server: it has a thread and an event loop of its own, and may be asked from any other thread."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from checkpoints.errors import CheckpointError
from checkpoints.reading import InboxFilter, LedgerReads
from checkpoints.records import ApprovalRow
from erp_mcp.contract import JsonObject, WriteAnswer
from erp_mcp.errors import ErpError
from graph.app import open_agent
from graph.decisions import Answer
from graph.errors import CountersignError
from graph.hosts import HostApproval, Hosts
from graph.run import Run
from graph.settings import Settings
from graph.threads import Agent

log = logging.getLogger(__name__)

T = TypeVar("T")

RECOVER_SECONDS: Final = 60.0
"""Between two looks for what another process has decided, what has expired, and what a crash left in the middle."""


@dataclass(frozen=True)
class Office:
    """The agent's side of a server. Its methods raise ErpError for all that can be mended; all but ``decide`` block.

    Args:
        portal: the thread with the agent's event loop.
        agent: opened in it.
    """

    portal: BlockingPortal
    agent: Agent

    @property
    def ledger(self) -> LedgerReads:
        """Who decided what; for reading."""
        return self.agent.services.ledger

    def ask(self, host: str, tool: str, arguments: JsonObject, key: str) -> WriteAnswer:
        """A raw host's write; see ``Hosts.ask``."""
        return self._call(Hosts(self.agent).ask, host, tool, arguments, key)

    def look(self, host: str, approval_id: str) -> HostApproval:
        """How far a raw host's request has come; see ``Hosts.look``."""
        return self._call(Hosts(self.agent).look, host, approval_id)

    async def decide(self, thread_id: str, answer: Answer) -> Run:
        """One decision of somebody whose token was checked; see ``Agent.resume``.

        It holds no worker thread: a model may speak for minutes once the write is done. It goes on where the one who
        waits for it goes away.
        """

        async def resume() -> Run:
            return await self.agent.resume(thread_id, answer, assurance="token")

        with _plainly():
            return await asyncio.shield(asyncio.wrap_future(self.portal.start_task_soon(resume)))

    def pending(
        self, *, limit: int, after: tuple[datetime, str] | None = None, only: InboxFilter | None = None
    ) -> list[ApprovalRow]:
        """What waits, oldest first; what is over by now is taken out before."""
        with _plainly():
            self.agent.services.ledger.expire_due()
            return self.ledger.pending(limit=limit, after=after, only=only)

    def find(self, approval_ids: Sequence[str]) -> dict[str, ApprovalRow]:
        """Approvals by their ids; those that there are not are left out."""
        with _plainly():
            return self.ledger.get_all(approval_ids)

    def _call(self, function: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        with _plainly():
            return self.portal.call(function, *arguments)


@contextmanager
def open_office(settings: Settings) -> Iterator[Office]:
    """An agent in a thread of its own; while it is open, what is left in the middle is looked for again and again.

    Raises:
        CountersignError, ErpError, CheckpointError: what is missing or wrong.
    """
    with (
        start_blocking_portal(name="countersign") as portal,
        portal.wrap_async_context_manager(open_agent(settings)) as agent,
    ):
        recovering = portal.start_task_soon(_recover_for_ever, agent)
        try:
            yield Office(portal, agent)
        finally:
            recovering.cancel()


async def _recover_for_ever(agent: Agent) -> None:
    while True:
        try:
            await agent.recover()
        except (CountersignError, ErpError, CheckpointError) as error:
            log.warning("recover: %s %s", error.message, error.hint)
        except Exception as error:  # noqa: BLE001 - the next look must come, whatever one thread ran into
            log.error("recover: %s", type(error).__name__)  # noqa: TRY400 - a traceback may hold arguments
        await anyio.sleep(RECOVER_SECONDS)


@contextmanager
def _plainly() -> Iterator[None]:
    """The agent's refusals as the ERP's door tells them."""
    try:
        yield
    except (CountersignError, CheckpointError) as error:
        raise ErpError(error.code, error.message, error.hint) from error
