"""What the model hears about a gated call once it is settled: one JSON object, in words that end the matter."""

import json
from typing import Any

from checkpoints.records import ApprovalRow
from erp_mcp.errors import ErpError
from graph.origin import is_external

Json = dict[str, Any]


def error_text(error: ErpError) -> str:
    """A refusal for the model: code, message, hint."""
    return json.dumps(error.as_json(), ensure_ascii=False)


def settled_text(row: ApprovalRow) -> str:
    """The result of a call whose approval is decided.

    Args:
        row: an executed, rejected, expired, superseded or failed approval.
    """
    return json.dumps({"outcome": row.status, "approval_id": row.id} | said(row), ensure_ascii=False)


def said(row: ApprovalRow) -> Json:
    """What came of a decided approval: a ``message``, and what belongs to it."""
    if row.status == "executed":
        told: Json = {"message": f"Done, approved by {row.decided_by}.", "receipt": row.outcome}
        if row.edited:
            told |= {"message": f"Done as changed by the approver {row.decided_by}.", "arguments": row.arguments}
        return told
    if row.status == "rejected":
        return {
            "message": f"Refused by {row.decided_by}. Nothing was done. Do not try this again; tell the user.",
            "reason": row.reason or "",
        }
    if row.status == "expired":
        return {"message": "Nobody answered in time. Nothing was done. Nobody refused it either; tell the user."}
    if (row.outcome or {}).get("type") == "schema_changed":
        return {
            "message": "Nothing was done. The tool has changed on its server since this was proposed. Do not call it "
            "again in this turn; tell the user that a person has to accept the change.",
            "reason": "schema_changed",
        }
    if row.status == "superseded":
        return {"message": "Withdrawn, because the user wants something else now. Nothing was done."}
    if row.status == "unknown":
        return {
            "message": "It was sent, and no answer came: nobody knows whether it was done. Do not call it again; tell "
            "the user to look at the server.",
            "reason": (row.outcome or {}).get("message", ""),
        }
    if is_external(row.preview):
        done = "It was called; what it did before the error is not known." if _answered(row) else "Nothing was done."
        return {"message": f"The other server's tool did not do it. {done} Tell the user.", "error": row.outcome}
    return {"message": "The ERP refused it for good. Nothing was done. Tell the user.", "error": row.outcome}


def _answered(row: ApprovalRow) -> bool:
    return bool((row.outcome or {}).get("answered"))
