"""Signed calls of other servers' tools: attempted at most once, and never said to be done unless they were."""

import logging
from typing import Any

from checkpoints.faults import point
from checkpoints.records import ApprovalRow, Status
from erp_mcp.contract import Receipt
from erp_mcp.errors import ErpError
from graph.errors import LostAnswerError
from graph.servers.answers import ToolRefusalError
from graph.servers.hub import SentBeforeError, Servers
from graph.services import Services

log = logging.getLogger(__name__)

Json = dict[str, Any]
End = tuple[Status, Json | None]

ASK_AGAIN = frozenset({"schema_changed", "stale_version"})
"""It is not the call any more that was signed; nothing was sent."""


async def send_once(row: ApprovalRow, services: Services, *, may_repeat: bool) -> End:
    """Sends an approved call of another server's tool, and says where the approval ends.

    The ledger is told, durably, before the call goes out. A call without an answer is ``unknown`` for good: only where
    the server declares its tool idempotent is the same call sent a second time, now and by ``recover``.

    Args:
        row: approved, or ``unknown``: attempted by a process that did not live to see the answer.
        services: the agent's.
        may_repeat: whether the same call may be sent twice.
    """
    if services.bridge.servers is None or services.bridge.servers.get(row.tool) is None:
        return _gone(row)
    if row.status == "unknown" and not may_repeat:
        return "unknown", _unknown(row, "it was sent, and whoever waited for the answer is gone")
    why = ""
    for is_repeat in ((row.status == "unknown"), True)[: 1 + may_repeat]:
        try:
            return await _send(row, services, services.bridge.servers, is_repeat=is_repeat)
        except LostAnswerError as error:
            why = error.why
    return "unknown", _unknown(row, why)


async def _send(row: ApprovalRow, services: Services, servers: Servers, *, is_repeat: bool) -> End:
    async def mark() -> bool:
        is_first = is_repeat or await services.write_down(services.ledger.attempt, row.id)
        point("agent.attempted")
        return is_first

    try:
        result = await servers.send(row.tool, row.arguments, row.preview, mark)
    except SentBeforeError:
        return await _as_recorded(row, services)
    except ToolRefusalError as error:
        return "failed", error.as_json()["error"] | {"answered": True}
    except ErpError as error:
        return _refused(row, error, was_sent=is_repeat)
    point("agent.answered_by_server")
    return "executed", _receipt(row, result, services)


def _gone(row: ApprovalRow) -> End:
    if row.status == "unknown":
        return "unknown", _unknown(row, "its server is not among the configured ones any more")
    message = f"There is no tool {row.tool!r} any more; nothing was sent."
    return "failed", {"code": "unknown_tool", "message": message, "hint": "Tell the user."}


def _refused(row: ApprovalRow, error: ErpError, *, was_sent: bool) -> End:
    body: Json = error.as_json()["error"]
    if was_sent:
        return "unknown", _unknown(row, f"it was sent before, and cannot be asked for again: {error.message}")
    if error.code in ASK_AGAIN:
        return "stale", body | ({"type": "schema_changed"} if error.code == "schema_changed" else {})
    return "failed", body


async def _as_recorded(row: ApprovalRow, services: Services) -> End:
    """Another process has sent it, or it was settled meanwhile: what the ledger says holds."""
    found = (await services.look_up(services.ledger.get_all, [row.id])).get(row.id, row)
    if found.status == "unknown" and found.outcome is None:
        return "unknown", _unknown(row, "another process has sent it, and its answer is not known here")
    return found.status, found.outcome


def _receipt(row: ApprovalRow, result: Json, services: Services) -> Json:
    return Receipt(
        approval_id=row.id, tool=row.tool, status="executed", result=result, approver=row.decided_by or "",
        executed_at=services.clock().isoformat(), requested_by=row.requested_by,
    ).model_dump()  # fmt: skip


def _unknown(row: ApprovalRow, why: str) -> Json:
    server = row.preview.get("facts", {}).get("server", "its server")
    log.warning("approval %s: the outcome of %s is unknown: %s", row.id, row.tool, why)
    message = f"Whether {row.tool} was carried out is not known: {why}. It is not sent again."
    return {"code": "outcome_unknown", "message": message, "hint": f"Look at {server} yourself, then decide."}
