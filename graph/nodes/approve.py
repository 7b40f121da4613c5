"""approve: one unconditional interrupt and nothing before it. After it nothing may raise: LangGraph's answers stick."""

import logging
from typing import Any

from langgraph.types import interrupt

from checkpoints.faults import point
from graph.decisions import ANSWER_SCHEMA, BadAnswerError, read_answer
from graph.desk import decide
from graph.messages import open_calls
from graph.nodes.propose import request_for
from graph.request import with_note
from graph.state import State
from graph.turn import Turn

log = logging.getLogger(__name__)

NUDGE = {"ledger": "decided"}
"""What our own entrances resume with: the decisions stand in the ledger. Whoever else sends it decides nothing."""


async def approve(state: State, turn: Turn) -> dict[str, Any]:
    """Shows the request and waits, hours or weeks; then does what the ledger says."""
    answer = interrupt(state.get("request", {}), response_schema=ANSWER_SCHEMA)
    point("agent.answered")
    try:
        return await _after(answer, state, turn)
    except Exception:
        log.exception("approve: thread %s is looked at again", turn.thread_id)
        return {"step": "propose"}


async def _after(answer: Any, state: State, turn: Turn) -> dict[str, Any]:
    if answer == NUDGE:
        return {"step": "execute"}  # which looks into the ledger, and proposes again where that does not fit
    try:
        note = await _record(answer, state, turn)
    except BadAnswerError as error:
        return {"step": "approve", "request": with_note(state.get("request", {}), str(error))}
    return await _where_it_stands(note, state, turn)


async def _record(answer: Any, state: State, turn: Turn) -> str:
    """Decides what arrived through LangGraph itself, by the same function as everywhere; returns what went wrong."""
    requests = state.get("request", {}).get("action_requests", [])
    answers = read_answer(answer, requests)
    if turn.began is None and any(one.digest is None for one in answers):
        raise BadAnswerError("Say which preview you mean: send its digest with the decision.")
    decided = await decide(
        turn.services, answers, by=turn.login or turn.services.settings.approver,
        assurance="token" if turn.login else "asserted", thread_id=turn.thread_id, seen_before=turn.began,
    )  # fmt: skip
    return " ".join(f"{one.approval_id}: {one.note}" for one in decided if not one.recorded)


async def _where_it_stands(note: str, state: State, turn: Turn) -> dict[str, Any]:
    """The ledger wins over state: calls and rows are compared, and any difference is proposed again."""
    services = turn.services
    message, calls = open_calls(state.get("messages", []))
    if message is None:
        return {"step": "model"}
    gated = {turn.key(message, call): call for call in calls if services.bridge.is_gated(call["name"])}
    rows = await services.look_up(services.ledger.latest, list(gated))
    if set(rows) != set(gated) or any(rows[key].proposed != call["args"] for key, call in gated.items()):
        return {"step": "propose"}
    waiting = [rows[key] for key in gated if rows[key].status == "pending"]
    if not waiting:
        return {"step": "execute"}
    return {"step": "approve", "request": await request_for(waiting, turn, note)}
