"""What the ledger keeps and what it answers, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

Json = dict[str, Any]

Status = Literal["pending", "approved", "rejected", "expired", "superseded", "executed", "stale", "failed", "unknown"]
"""pending → approved | rejected | expired | superseded; approved → executed | stale | failed | unknown.

``unknown`` is for tools of other servers, which cannot be asked twice: it was attempted, and no answer came.
"""

Assurance = Literal["asserted", "token", "policy"]
"""How surely the approver is known: by their word, by a token, or not a person but a rule of the policy."""


@dataclass(frozen=True)
class Proposal:
    """A planned write that waits to be opened as an approval.

    Args:
        thread_id, message_id, call_id: where the model's call stands.
        call: hash of these three.
        tool: the write tool's name.
        proposed: the arguments as the model gave them.
        arguments: the arguments that would run; they differ from ``proposed`` after an approver's edit.
        preview: what the approver is shown.
        digest: what the approver signs.
        policy: what the policy asks for; ``count`` is how many distinct people one rule wants at most.
        requested_by: who asked.
        request: in which words.
        expires_at: after this nobody's approval counts any more.
        amount: the largest amount in the preview, in ten-thousandths of its currency; None where there is none.
        notes: what the agent's side adds for the approver.
        together: whether it runs with the other calls of its message, all or nothing.
    """

    thread_id: str
    message_id: str
    call_id: str
    call: str
    tool: str
    proposed: Json
    arguments: Json
    preview: Json
    digest: str
    policy: Json
    requested_by: str
    request: str
    expires_at: datetime
    amount: int | None = None
    notes: tuple[str, ...] = ()
    together: bool = False


@dataclass(frozen=True, kw_only=True)
class ApprovalRow(Proposal):
    """One approval, as the ledger holds it."""

    id: str
    round: int
    status: Status
    created_at: datetime
    decided_by: str | None
    assurance: Assurance | None
    decided_at: datetime | None
    reason: str | None
    settled_at: datetime | None
    outcome: Json | None
    supersedes: str | None

    @property
    def edited(self) -> bool:
        """Whether an approver changed the arguments."""
        return self.arguments != self.proposed


@dataclass(frozen=True)
class Need:
    """How many distinct people have to sign, and which.

    Args:
        count: how many.
        people: who counts; None for anybody who is named.
        barred: who does not, whatever else holds: the requester.
        assurance: how surely each of them has to be known, at least.
    """

    count: int = 1
    people: frozenset[str] | None = None
    barred: frozenset[str] = frozenset()
    assurance: Assurance = "asserted"

    def counts(self, name: str, assurance: Assurance) -> bool:
        """Whether this person's signature counts."""
        if name in self.barred or (self.people is not None and name not in self.people):
            return False
        return assurance == "token" or assurance == self.assurance

    def includes(self, other: "Need") -> bool:
        """Whether whoever meets this one meets the other as well."""
        narrower = other.people is None or (self.people is not None and self.people <= other.people)
        return (
            narrower
            and other.barred <= self.barred
            and other.assurance in {self.assurance, "asserted"}
            and (self.count >= other.count)
        )

    def lacks(self, signatures: Mapping[str, Assurance]) -> int:
        """How many more signatures it takes.

        Args:
            signatures: who has signed, and how surely each is known.
        """
        return max(0, self.count - sum(self.counts(name, assurance) for name, assurance in signatures.items()))


@dataclass(frozen=True)
class Decision:
    """What one person says to one approval.

    Args:
        approval_id: the approval.
        kind: approve, edit or reject.
        digest: of the preview that the person saw; None only where it is known otherwise that they saw this one.
        reason: why it was rejected.
        replacement: for an edit, the new proposal, planned already.
        needs: what an approval takes as of now, each to be met; None for what was kept when it was opened.
        expires_at: an earlier deadline than the approval's own, as of now.
    """

    approval_id: str
    kind: Literal["approve", "edit", "reject"]
    digest: str | None = None
    reason: str = ""
    replacement: Proposal | None = None
    needs: tuple[Need, ...] | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True)
class Verdict:
    """What the ledger made of a decision.

    Args:
        approval_id: the approval that was decided.
        kind: what was recorded (approved, signed: more people have to, rejected, edited), or why nothing was.
        row: the approval after it; None where it is unknown.
        successor: after an edit, the approval that asks again.
    """

    approval_id: str
    kind: Literal[
        "approved", "signed", "rejected", "edited",
        "unknown", "wrong_thread", "already_decided", "superseded", "expired", "paused",
    ]  # fmt: skip
    row: ApprovalRow | None = None
    successor: ApprovalRow | None = None

    @property
    def recorded(self) -> bool:
        """Whether this decision is the one that counts."""
        return self.kind in {"approved", "signed", "rejected", "edited"}
