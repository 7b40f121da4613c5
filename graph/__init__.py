"""Countersign's agent: it reads freely, and a person signs whatever it would change.

Everything public is here; importing this loads neither LangGraph nor FastMCP until something is called.
"""

from typing import TYPE_CHECKING, Any

from graph.decisions import Answer, approve, edit, reject
from graph.errors import CountersignError, PendingError
from graph.run import Approval, Receipt, Run

if TYPE_CHECKING:
    from graph.app import open_agent
    from graph.sync import call_tool, pending_approvals, recover, resume_thread, start_thread

__all__ = [
    "Answer",
    "Approval",
    "CountersignError",
    "PendingError",
    "Receipt",
    "Run",
    "approve",
    "call_tool",
    "edit",
    "open_agent",
    "pending_approvals",
    "recover",
    "reject",
    "resume_thread",
    "start_thread",
]

_LAZY = {
    "open_agent": "graph.app",
    "call_tool": "graph.sync",
    "pending_approvals": "graph.sync",
    "recover": "graph.sync",
    "resume_thread": "graph.sync",
    "start_thread": "graph.sync",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _LAZY:
        raise AttributeError(f"module 'graph' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
