"""What two policies would have asked about the approvals of the past. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from checkpoints.records import ApprovalRow, Need
from graph.policy.rules import Policy
from graph.policy.subject import Day, Subject
from graph.policy.terms import Json, Terms

DAY = timedelta(days=1)
"""How far back ``day_total`` and ``day_count`` look."""


@dataclass(frozen=True)
class Asked:
    """What one policy asks for one approval.

    Args:
        terms: all that the rules ask.
        demands: how many of whom had to sign; no people means any named person.
    """

    terms: Terms
    demands: tuple[Need, ...]

    @property
    def people(self) -> list[frozenset[str] | None]:
        """Per demand, who could have signed."""
        return [need.people for need in self.demands]

    @classmethod
    def by(cls, policy: Policy, subject: Subject) -> "Asked":
        """Asks a policy."""
        terms = policy.asks(subject)
        return cls(terms, policy.needs(terms, subject.requested_by))

    def as_json(self) -> Json:
        """For programs."""
        people = [None if one is None else sorted(one) for one in self.people]
        return {"asks": self.terms.in_words(), "people": people} | self.terms.as_json()

    def same_as(self, other: "Asked") -> bool:
        """Whether nobody would notice the difference."""
        return self.noticed == other.noticed

    @property
    def noticed(self) -> tuple[object, ...]:
        """What people would notice: how many of whom, known how surely, within what time, or nobody at all."""
        one = self.terms
        demands = {(need.count, need.people) for need in self.demands}
        return bool(one.automatic), demands, one.assurance, one.expires


@dataclass(frozen=True)
class Compared:
    """One approval of the past under two policies."""

    row: ApprovalRow
    before: Asked
    after: Asked

    @property
    def differs(self) -> bool:
        """Whether something else would have been asked, or of somebody else."""
        return not self.before.same_as(self.after)

    def as_json(self) -> Json:
        """For programs."""
        return {
            "approval_id": self.row.id, "tool": self.row.tool, "requested_by": self.row.requested_by,
            "created_at": self.row.created_at.isoformat(), "summary": self.row.preview.get("summary", ""),
            "before": self.before.as_json(), "after": self.after.as_json(),
        }  # fmt: skip


def compare(old: Policy, new: Policy, rows: Sequence[ApprovalRow]) -> list[Compared]:
    """Both policies' demands for each approval, in the order of the rows.

    Args:
        old, new: the policies.
        rows: from the ledger, oldest first, all of them: the day's figures are made of them.
    """
    found = []
    by_requester: dict[str, list[ApprovalRow]] = {}
    for row in rows:
        earlier = by_requester.setdefault(row.requested_by, [])
        day = Day()
        if old.is_daily or new.is_daily:
            day = Day().plus(one.preview for one in earlier if _counts(one, row))
        earlier.append(row)
        subject = Subject.of(row.tool, row.arguments, row.preview, row.requested_by, day)
        found.append(Compared(row, Asked.by(old, subject), Asked.by(new, subject)))
    return found


def _counts(one: ApprovalRow, row: ApprovalRow) -> bool:
    done = one.status in {"pending", "approved", "executed", "unknown"}
    return done and one.call != row.call and one.created_at >= row.created_at - DAY
