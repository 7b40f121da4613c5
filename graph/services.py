"""What the nodes work with, made once and handed to them."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable

from checkpoints.leases import Leases
from checkpoints.ledger import Ledger
from graph.bridge import Bridge
from graph.policy import Policy, PolicySource
from graph.rights import policy_now
from graph.settings import Settings

T = TypeVar("T")

Signing = Callable[[Any], str]


@dataclass(frozen=True)
class Services:
    """The agent's tools of trade.

    Args:
        settings: from the environment.
        bridge: the ERP and the other servers, over MCP.
        ledger: who decided what.
        leases: who runs which thread.
        sign: makes a grant for an approved row, at the moment of the call.
        policy: who may approve what.
        chat: the chat model, without tools bound.
        clock: what time it is, in UTC.
        worker: a thread for the ledger, which blocks.
        reads_in_place: whether reading the ledger may block this event loop; ``langgraph dev`` allows no such thing.
    """

    settings: Settings
    bridge: Bridge
    ledger: Ledger
    leases: Leases
    sign: Signing
    policy: PolicySource
    chat: BaseChatModel
    clock: Callable[[], datetime]
    worker: ThreadPoolExecutor
    reads_in_place: bool = False
    _bound: dict[tuple[int, int], Runnable[list[BaseMessage], AIMessage]] = field(default_factory=dict, repr=False)

    async def model(self) -> Runnable[list[BaseMessage], AIMessage]:
        """The chat model with the tools that there are at this moment."""
        await self.bridge.refresh()
        version = self.bridge.version
        if version not in self._bound:
            self._bound.clear()
            self._bound[version] = self.chat.bind_tools(self.bridge.model_tools)
        return self._bound[version]

    async def policy_now(self) -> Policy:
        """Who may approve what, as of now.

        Raises:
            CountersignError: ``bad_policy``: the file has become unusable since the start.
        """
        return await self.look_up(policy_now, self.policy)

    async def look_up(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Reads from the ledger: in place where the loop is our own and the ledger a file (0.2 ms, and no lock can hold
        it up, while a trip to a thread takes longer), else like every other call."""
        if self.reads_in_place:
            return function(*arguments, **named)
        return await self.off_loop(function, *arguments, **named)

    async def jot_down(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Writes what needs no flush to the disk (a lease, a recorded outcome): as quick as a look-up, done as one."""
        return await self.look_up(function, *arguments, **named)

    async def off_loop(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Runs a blocking call of the ledger in its own thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.worker, lambda: function(*arguments, **named))


Provider = Callable[[], Awaitable[Services]]
"""How a node gets its services: given at assembly, or shared per event loop under ``langgraph dev``."""
