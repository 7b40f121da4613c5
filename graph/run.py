"""What the public surface hands out: a Run, its approvals and its receipts."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from checkpoints.records import ApprovalRow
from erp_mcp.contract import Preview
from graph.render import card_html, difference, markdown

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

Json = dict[str, Any]

Outcome = Literal[
    "executed", "recorded", "already_executed", "rejected", "stale", "expired", "superseded", "already_decided",
    "schema_changed", "wrong_thread", "unknown", "forbidden", "paused", "failed", "invalid",
]  # fmt: skip
"""What came of an answer; resuming never says nothing.

``superseded``: that preview is void, by an edit too; a fresh one waits. ``failed``: the ERP refused it for good.
``invalid``: the edit could not be planned, and the approval waits as before.
"""


@dataclass(frozen=True)
class Approval:
    """One write that a person has to sign, or had to.

    Args:
        approval_id: its id, in the ledger and in the ERP.
        thread_id: the conversation that asked.
        tool, args: the call.
        digest: what an approver signs.
        preview: what an approver sees.
        status: where the ledger has it.
        requested_by, request: who asked, in which words.
        created_at, expires_at: UTC.
        decided_by, reason, outcome: what came of it, once something did.
        supersedes: the approval that this one asks again for.
        notes: what the agent's side adds for the approver.
        difference: what moved since that one was shown, a line each.
    """

    approval_id: str
    thread_id: str
    tool: str
    args: Json
    digest: str
    preview: Preview
    status: str
    requested_by: str
    request: str
    created_at: datetime
    expires_at: datetime
    decided_by: str | None = None
    reason: str | None = None
    outcome: Json | None = None
    supersedes: str | None = None
    notes: tuple[str, ...] = ()
    difference: tuple[str, ...] = ()

    @classmethod
    def of(cls, row: ApprovalRow, before: ApprovalRow | None = None) -> "Approval":
        """The public view of a ledger row.

        Args:
            row: the approval.
            before: the one that it asks again for, where there is one.
        """
        preview = Preview.model_validate(row.preview)
        moved = () if before is None else difference(Preview.model_validate(before.preview), preview)
        return cls(
            row.id, row.thread_id, row.tool, row.arguments, row.digest, preview, row.status,
            row.requested_by, row.request, row.created_at, row.expires_at, row.decided_by, row.reason, row.outcome,
            row.supersedes, row.notes, tuple(moved),
        )  # fmt: skip

    def as_json(self) -> Json:
        """The form that ``--json`` prints."""
        return {
            "approval_id": self.approval_id, "thread_id": self.thread_id, "tool": self.tool, "args": self.args,
            "digest": self.digest, "preview": self.preview.model_dump(), "status": self.status,
            "requested_by": self.requested_by, "created_at": self.created_at.isoformat(),
            "expires_at": self.expires_at.isoformat(), "decided_by": self.decided_by, "reason": self.reason,
            "supersedes": self.supersedes, "notes": list(self.notes), "difference": list(self.difference),
        }  # fmt: skip

    def _repr_mimebundle_(self, **_kwargs: Any) -> Mapping[str, str]:
        return {"text/plain": markdown(self.preview, self.difference, self.notes), "text/html": card_html(self)}


def approvals_of(rows: Iterable[ApprovalRow], known: Mapping[str, ApprovalRow]) -> list[Approval]:
    """The public view of ledger rows.

    Args:
        rows: the approvals.
        known: those that they ask again for, by id; an approval whose predecessor is not there shows no difference.
    """
    return [Approval.of(row, known.get(row.supersedes or "")) for row in rows]


def with_remarks(approvals: Iterable[Approval], why_not: Callable[[Approval], str | None]) -> list[Approval]:
    """The same approvals; those that outlived their tool stay, with a note that says so and what to do.

    Args:
        approvals: to be shown.
        why_not: why an approval's call fits no tool of this release; None where it does.
    """
    found = []
    for approval in approvals:
        why = why_not(approval) if approval.status == "pending" else None
        note = f"It cannot be carried out any more: {why} Reject it, and ask for it anew."
        found.append(approval if why is None else replace(approval, notes=(*approval.notes, note)))
    return found


@dataclass(frozen=True)
class Receipt:
    """What was done for one approval."""

    approval_id: str
    tool: str
    status: str
    result: Json

    def as_json(self) -> Json:
        """The form that ``--json`` prints."""
        return {"approval_id": self.approval_id, "tool": self.tool, "status": self.status, "result": self.result}


@dataclass(frozen=True)
class Run:
    """Where a thread stands after a call.

    Args:
        thread_id: the thread; give it to ``resume_thread``.
        status: ``pending`` while a person has to decide, else ``done``.
        answer: the agent's last words.
        pending: what waits, oldest first.
        receipts: what was done in the current turn.
        outcome: what came of the decision that was just given; None where none was.
        outcomes: the same per approval id, where several were decided at once.
        note: one line for the person about the outcome.
        result: what a called read tool returned.
        messages: the conversation.
    """

    thread_id: str
    status: Literal["done", "pending"]
    answer: str = ""
    pending: list[Approval] = field(default_factory=list)
    receipts: list[Receipt] = field(default_factory=list)
    outcome: Outcome | None = None
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    note: str = ""
    result: Any = None
    messages: "list[AnyMessage]" = field(default_factory=list)

    def as_json(self) -> Json:
        """The form that ``--json`` prints."""
        body: Json = {
            "thread_id": self.thread_id, "status": self.status, "answer": self.answer,
            "pending": [approval.as_json() for approval in self.pending],
            "receipts": [receipt.as_json() for receipt in self.receipts],
        }  # fmt: skip
        if self.outcome is not None:
            body |= {"outcome": self.outcome, "outcomes": self.outcomes, "note": self.note}
        if self.result is not None:
            body["result"] = self.result
        return body
