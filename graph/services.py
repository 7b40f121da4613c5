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
from graph.policy import Policy
from graph.settings import Settings

T = TypeVar("T")

Signing = Callable[[Any], str]


@dataclass(frozen=True)
class Services:
    """The agent's tools of trade.

    Args:
        settings: from the environment.
        bridge: the ERP, over MCP.
        ledger: who decided what.
        leases: who runs which thread.
        sign: makes a grant for an approved row, at the moment of the call.
        policy: who may approve what.
        chat: the chat model, without tools bound.
        clock: what time it is, in UTC.
        worker: threads for the ledger, which blocks.
    """

    settings: Settings
    bridge: Bridge
    ledger: Ledger
    leases: Leases
    sign: Signing
    policy: Policy
    chat: BaseChatModel
    clock: Callable[[], datetime]
    worker: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "countersign-ledger"))

    def model(self) -> Runnable[list[BaseMessage], AIMessage]:
        """The chat model with the ERP's tools as they are now."""
        return self.chat.bind_tools(self.bridge.model_tools)

    async def off_loop(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Runs a blocking call of the ledger in its own thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.worker, lambda: function(*arguments, **named))


Provider = Callable[[], Awaitable[Services]]
"""How a node gets its services: given at assembly, or shared per event loop under ``langgraph dev``."""
