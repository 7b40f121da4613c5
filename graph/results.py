"""What the model hears about a gated call once it is settled: one JSON object, in words that end the matter."""

import json
from typing import Any

from checkpoints.records import ApprovalRow
from erp_mcp.errors import ErpError

Json = dict[str, Any]


def error_text(error: ErpError) -> str:
    """A refusal for the model: code, message, hint."""
    return json.dumps(error.as_json(), ensure_ascii=False)


def settled_text(row: ApprovalRow) -> str:
    """The result of a call whose approval is decided.

    Args:
        row: an executed, rejected, expired, superseded or failed approval.
    """
    return json.dumps({"outcome": row.status, "approval_id": row.id} | _said(row), ensure_ascii=False)


def _said(row: ApprovalRow) -> Json:
    if row.status == "executed":
        said: Json = {"message": f"Done, approved by {row.decided_by}.", "receipt": row.outcome}
        if row.edited:
            said |= {"message": f"Done as changed by the approver {row.decided_by}.", "arguments": row.arguments}
        return said
    if row.status == "rejected":
        return {
            "message": f"Refused by {row.decided_by}. Nothing was done. Do not try this again; tell the user.",
            "reason": row.reason or "",
        }
    if row.status == "expired":
        return {"message": "Nobody answered in time. Nothing was done. Nobody refused it either; tell the user."}
    if row.status == "superseded":
        return {"message": "Withdrawn, because the user wants something else now. Nothing was done."}
    return {"message": "The ERP refused it for good. Nothing was done. Tell the user.", "error": row.outcome}
