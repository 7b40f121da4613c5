"""Where a thread stands, as its caller sees it: state, ledger, and what came of decisions, in one Run."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Interrupt

from checkpoints.records import ApprovalRow
from graph.desk import Decided
from graph.nodes.model import CALL_TOOL
from graph.outcomes import whole_outcome
from graph.run import Receipt, Run, approvals_of


@dataclass(frozen=True)
class Place:
    """Where a graph stands.

    Args:
        messages: the conversation.
        interrupt: where it waits.
        goes_on: whether it has steps left to do.
        rows: the thread's approvals, where they were looked up since.
    """

    messages: list[Any]
    interrupt: Interrupt | None
    goes_on: bool = False
    rows: Sequence[ApprovalRow] | None = None


def make_run(thread_id: str, messages: list[Any], rows: Sequence[ApprovalRow], outcomes: dict[str, Decided]) -> Run:
    """The public view of a thread: state, ledger, and what came of decisions."""
    turn = _current_turn(messages)
    said = [message for message in turn if isinstance(message, AIMessage) and message.text and not message.tool_calls]
    spoken = {message.id for message in turn}
    pending = approvals_of([row for row in rows if row.status == "pending"], {row.id: row for row in rows})
    done = [
        Receipt(
            row.id, row.tool, str((row.outcome or {}).get("status", row.status)), (row.outcome or {}).get("result", {})
        )
        for row in rows
        if row.status == "executed" and (row.message_id in spoken or row.id in outcomes)
    ]
    called = bool(turn) and any(isinstance(m, AIMessage) and m.name == CALL_TOOL for m in turn)
    return Run(
        thread_id=thread_id, status="pending" if pending else "done", answer=str(said[-1].text) if said else "",
        pending=pending, receipts=done, outcome=whole_outcome(list(outcomes.values())),
        outcomes={name: one.outcome for name, one in outcomes.items()},
        note=" ".join(dict.fromkeys(one.note for one in outcomes.values())),
        result=_result(turn) if called else None, messages=messages,
    )  # fmt: skip


def _current_turn(messages: list[Any]) -> list[Any]:
    for index in range(len(messages) - 1, -1, -1):
        if isinstance(messages[index], HumanMessage):
            return messages[index:]
    return messages


def _result(turn: list[Any]) -> Any:
    results = [message for message in turn if isinstance(message, ToolMessage)]
    if not results:
        return None
    try:
        return json.loads(str(results[-1].text))
    except ValueError:
        return str(results[-1].text)
