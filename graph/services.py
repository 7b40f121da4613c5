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
        in_place: whether the ledger may block this event loop; ``langgraph dev`` allows no such thing.
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
    in_place: bool = False
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
        """Reads from the ledger, which blocks: in its worker thread, or in place where this event loop may be held up.

        It takes a tenth of a millisecond, and a trip to a thread and back takes longer, on a busy machine much longer.
        """
        if self.in_place:
            return function(*arguments, **named)
        return await asyncio.get_running_loop().run_in_executor(self.worker, lambda: function(*arguments, **named))

    async def write_down(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Writes to the ledger, or to the leases, in the same way: for as long as the disk takes to flush at most,
        unless another process is writing just then."""
        return await self.look_up(function, *arguments, **named)


Provider = Callable[[], Awaitable[Services]]
"""How a node gets its services: given at assembly, or shared per event loop under ``langgraph dev``."""
