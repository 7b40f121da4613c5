"""One node's run: what it works with, in which thread, since when."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AIMessage, ToolCall
from langchain_core.runnables import RunnableConfig

from checkpoints.ledger import call_key
from graph.services import Services


@dataclass(frozen=True)
class Turn:
    """Given to every node beside the state.

    Args:
        services: the agent's tools of trade.
        thread_id: the conversation.
        began: when this run was started, where the server says so; None in plain Python.
        login: the authenticated user of the server, where there is one.
    """

    services: Services
    thread_id: str
    began: datetime | None = None
    login: str | None = None

    @classmethod
    def of(cls, services: Services, config: RunnableConfig) -> "Turn":
        """Reads what LangGraph hands to a node."""
        configurable = config.get("configurable", {})
        login = configurable.get("langgraph_auth_user_id")
        return cls(services, str(configurable.get("thread_id", "")), _began(config), str(login) if login else None)

    def key(self, message: AIMessage, call: ToolCall) -> str:
        """The name of one tool call for good."""
        return call_key(self.thread_id, message.id or "", call["id"] or "")


def _began(config: RunnableConfig) -> datetime | None:
    """When a server's run was made: its id is a UUIDv7, which begins with the time in milliseconds."""
    raw: Any = (
        config.get("run_id") or config.get("metadata", {}).get("run_id") or config.get("configurable", {}).get("run_id")
    )
    if raw is None:
        return None
    try:
        run_id = uuid.UUID(str(raw))
    except ValueError:
        return None
    return datetime.fromtimestamp((run_id.int >> 80) / 1000, UTC) if run_id.version == 7 else None
