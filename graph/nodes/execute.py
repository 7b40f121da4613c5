"""execute: for each approved call: sign, call, record. The ledger says what runs; state is not asked."""

import logging
from typing import Any

from langchain_core.messages import AIMessage, ToolCall, ToolMessage

from checkpoints.faults import point
from checkpoints.records import ApprovalRow
from graph.execution import Settlement, carry_out, carry_out_together
from graph.messages import open_calls, result_message
from graph.results import settled_text
from graph.state import State
from graph.turn import Turn

log = logging.getLogger(__name__)


async def execute(state: State, turn: Turn) -> dict[str, Any]:
    """Carries out what was approved, in the message's order, and answers every call whose approval is settled.

    Raises:
        NoAnswerError: the ERP did not answer; the approval stays approved until ``recover`` asks again.
    """
    services = turn.services
    message, calls = open_calls(state["messages"])
    if message is None:
        return {"step": "model"}
    gated = {turn.key(message, call): call for call in calls if services.bridge.is_gated(call["name"])}
    rows = await services.look_up(services.ledger.latest, list(gated))
    if any(row.status == "pending" for row in rows.values()):
        return {"step": "propose"}
    ready = [rows[key] for key, call in gated.items() if key in rows and _is_ready(rows[key], call)]
    settled: list[Settlement] = []
    try:
        if any(row.together for row in ready):
            settled = await carry_out_together(ready, services) if len(ready) == len(gated) else []
        else:
            for row in ready:
                settled.append(await carry_out(row, services))
    finally:
        point("agent.carried_out")
        if settled:
            await services.write_down(services.ledger.settle, [one.for_ledger() for one in settled])
    point("agent.settled")
    after = {one.row.call: one.settled_row() for one in settled}
    results = [
        _result(message, call, after[key])
        for key, call in gated.items()
        if key in after and after[key].status != "stale"
    ]
    return {"messages": results, "request": {}, "step": "model" if len(results) == len(calls) else "propose"}


def _is_ready(row: ApprovalRow, call: ToolCall) -> bool:
    """Whether what was decided is the call that stands here: forged arguments are proposed again, never run."""
    return row.status != "approved" or row.proposed == call["args"]


def _result(message: AIMessage, call: ToolCall, row: ApprovalRow) -> ToolMessage:
    return result_message(message, call, settled_text(row), error=row.status == "failed")
