"""The audit: what the ledger says was decided, joined with what the ERP says was done. Pure: rows in, entries out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from checkpoints.records import ApprovalRow
from graph.origin import is_external

Json = dict[str, Any]


@dataclass(frozen=True)
class Operation:
    """One effect, as the ERP's ``operations`` table holds it.

    Args:
        approval_id: the approval that let it happen.
        tool, arguments: what was called.
        digest: what the grant was signed for.
        approver, requested_by: who let it happen, who asked.
        executed_at: UTC.
        preview: what the approver saw.
        receipt: what was done.
    """

    approval_id: str
    tool: str
    arguments: Json
    digest: str
    approver: str
    requested_by: str
    executed_at: datetime
    preview: Json
    receipt: Json


@dataclass(frozen=True)
class AuditEntry:
    """One approval from the request to the effect.

    Args:
        approval_id, thread_id: where it belongs; the thread is empty where only the ERP knows it.
        tool, args: the call.
        requested_by, request, requested_at: who asked, in which words, when.
        status: where the ledger has it; ``unknown`` where only the ERP knows it.
        decided_by, assurance, decided_at, reason: who decided, how surely that is known, when, why.
        digest, preview: what they saw.
        executed_at, receipt: what was done; None where nothing was.
        problem: why nothing was done, where the ERP refused it.
        note: what a reader has to know beside, such as an effect that the ledger has not recorded.
    """

    approval_id: str
    thread_id: str
    tool: str
    args: Json
    requested_by: str
    request: str
    requested_at: datetime | None
    status: str
    decided_by: str | None
    assurance: str | None
    decided_at: datetime | None
    reason: str | None
    digest: str
    preview: Json
    executed_at: datetime | None
    receipt: Json | None
    problem: Json | None
    note: str

    @property
    def last_at(self) -> datetime:
        """When something happened to it for the last time."""
        times = [time for time in (self.requested_at, self.decided_at, self.executed_at) if time is not None]
        return max(times)

    def as_json(self) -> Json:
        """The form that ``audit --json`` prints."""

        def text(time: datetime | None) -> str | None:
            return None if time is None else time.isoformat()

        return {
            "approval_id": self.approval_id, "thread_id": self.thread_id, "tool": self.tool, "args": self.args,
            "requested_by": self.requested_by, "request": self.request, "requested_at": text(self.requested_at),
            "status": self.status, "decided_by": self.decided_by, "assurance": self.assurance,
            "decided_at": text(self.decided_at), "reason": self.reason, "digest": self.digest,
            "preview": self.preview, "executed_at": text(self.executed_at), "receipt": self.receipt,
            "problem": self.problem, "note": self.note,
        }  # fmt: skip


def audit_entries(
    rows: Iterable[ApprovalRow], operations: Iterable[Operation], *, since: datetime | None = None
) -> list[AuditEntry]:
    """Everything that was decided, expired or withdrawn, and everything that was done, by the time it last moved.

    Args:
        rows: from the ledger, read before the operations: an effect follows its decision.
        operations: from the ERP.
        since: an aware time; only what was asked, decided or done then or later.
    """
    done = {operation.approval_id: operation for operation in operations}
    known = {row.id: row for row in rows}
    entries = [_entry(row, done.get(row.id)) for row in known.values() if row.status != "pending" or row.id in done]
    entries += [_stray(operation) for name, operation in done.items() if name not in known]
    kept = [entry for entry in entries if since is None or entry.last_at >= since]
    return sorted(kept, key=lambda entry: (entry.last_at, entry.approval_id))


def touches(row: ApprovalRow, order_number: str) -> bool:
    """Whether an approval is about this order: as a target, as the argument, or as what came out of it.

    Args:
        row: from the ledger.
        order_number: in the ERP's own form, such as ``SO19980506-11074``.
    """
    targets = [target.get("id") for target in row.preview.get("targets", [])]
    result = (row.outcome or {}).get("result", {})
    named = [row.preview.get("arguments", {}).get("order_id"), *(result.values() if isinstance(result, dict) else [])]
    return order_number in targets or order_number in named


def _entry(row: ApprovalRow, operation: Operation | None) -> AuditEntry:
    receipt = operation.receipt if operation else row.outcome if row.status == "executed" else None
    return AuditEntry(
        approval_id=row.id, thread_id=row.thread_id, tool=row.tool, args=row.arguments,
        requested_by=row.requested_by, request=row.request, requested_at=row.created_at, status=row.status,
        decided_by=row.decided_by, assurance=row.assurance, decided_at=row.decided_at, reason=row.reason,
        digest=row.digest, preview=row.preview, executed_at=operation.executed_at if operation else None,
        receipt=receipt, problem=row.outcome if row.status in {"stale", "failed", "unknown"} else None,
        note=" ".join(_notes(row, operation)),
    )  # fmt: skip


def _notes(row: ApprovalRow, operation: Operation | None) -> Sequence[str]:
    notes = ["The approver changed the arguments."] if row.edited else []
    if row.status == "approved" and operation:
        notes.append("Done in the ERP, not yet recorded: run countersign recover")
    elif row.status == "approved":
        notes.append("Approved, not yet carried out: run countersign recover")
    elif operation and row.status != "executed":
        notes.append(f"WARNING: the ERP did it, but the ledger says {row.status}.")
    elif row.status == "unknown":
        notes.append("Sent to another server once; whether it was done is not known.")
    elif row.status == "executed" and not operation and not is_external(row.preview):
        notes.append("WARNING: the ledger says executed, but this ERP has no such operation.")
    if operation and (operation.digest, operation.approver) != (row.digest, row.decided_by):
        notes.append("WARNING: what the ERP did is not what the ledger says was signed.")
    return notes


def _stray(operation: Operation) -> AuditEntry:
    return AuditEntry(
        approval_id=operation.approval_id, thread_id="", tool=operation.tool, args=operation.arguments,
        requested_by=operation.requested_by, request="", requested_at=None, status="unknown",
        decided_by=operation.approver, assurance=None, decided_at=None, reason=None, digest=operation.digest,
        preview=operation.preview, executed_at=operation.executed_at, receipt=operation.receipt, problem=None,
        note="WARNING: the ERP did it with a signed grant, but this ledger does not know the approval.",
    )  # fmt: skip
