"""The interrupt's value: what an approver is shown, in the shape that LangChain's UIs render, and ours."""

from collections.abc import Sequence
from typing import Any

from checkpoints.records import ApprovalRow
from erp_mcp.contract import Preview
from graph.render import difference, markdown

Json = dict[str, Any]


def build_request(rows: Sequence[ApprovalRow], before: dict[str, ApprovalRow], note: str = "") -> Json:
    """One request for all gated calls of a message that wait.

    Args:
        rows: the pending approvals, in the message's order.
        before: superseded approvals by id, for what moved since somebody looked.
        note: why the last answer was refused, or what else the approver should know.
    """
    return {
        "action_requests": [_action(row, before.get(row.supersedes or "")) for row in rows],
        "review_configs": [
            {"action_name": row.tool, "allowed_decisions": ["approve", "edit", "reject"]} for row in rows
        ],
        "note": note,
    }


def _action(row: ApprovalRow, old: ApprovalRow | None) -> Json:
    preview = Preview.model_validate(row.preview)
    moved = difference(None if old is None else Preview.model_validate(old.preview), preview)
    return {
        "name": row.tool,
        "args": row.arguments,
        "arguments": row.arguments,  # Agent Inbox reads this name
        "description": markdown(preview, moved, row.notes),
        "approval_id": row.id,
        "digest": row.digest,
        "expires_at": row.expires_at.isoformat(),
        "created_at": row.created_at.isoformat(),
        "supersedes": row.supersedes or "",
        "difference": moved,
        "notes": list(row.notes),
    }


def with_note(request: Json, note: str) -> Json:
    """The same request with the reason why the last answer did not count."""
    return request | {"note": note}


def shown_ids(request: Any) -> set[str]:
    """The approvals that an interrupt shows. Whatever somebody wrote into the state instead shows none."""
    actions = request.get("action_requests") if isinstance(request, dict) else None
    listed = actions if isinstance(actions, list) else []
    return {str(one["approval_id"]) for one in listed if isinstance(one, dict) and "approval_id" in one}
