"""Where decisions are taken: every entrance, and the approve node, come here. Rights first, then the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from checkpoints.faults import point
from checkpoints.records import ApprovalRow, Assurance, Decision, Verdict
from erp_mcp.errors import ErpError
from graph.decisions import Answer
from graph.proposals import Wanted, make_proposals
from graph.run import Outcome
from graph.services import Services


@dataclass(frozen=True)
class Decided:
    """What came of one answer at the desk.

    Args:
        approval_id: the approval.
        outcome: ``recorded`` where it counts, else why not.
        note: one line for the person.
        row: the approval as the ledger has it now; None where it is unknown.
        recorded: whether this answer is the one that counts.
    """

    approval_id: str
    outcome: Outcome
    note: str
    row: ApprovalRow | None = None
    recorded: bool = False


async def decide(
    services: Services,
    answers: Sequence[Answer],
    *,
    by: str,
    assurance: Assurance = "asserted",
    thread_id: str | None = None,
    seen_before: datetime | None = None,
) -> list[Decided]:
    """Takes one person's answers: checks rights, plans edits, and writes all that counts in one transaction.

    Args:
        services: the agent's.
        answers: what was said, one per approval.
        by: who says it.
        assurance: how surely that is known.
        thread_id: where it was sent to.
        seen_before: for answers without a digest: the preview must be older than this, since a double click must not
            approve the fresh preview that its first click caused.
    """
    refused: dict[str, Decided] = {}
    decisions: list[Decision] = []
    rows = await services.look_up(services.ledger.get_all, [answer.approval_id for answer in answers])
    for answer in answers:
        prepared = await _prepare(services, answer, rows.get(answer.approval_id), by, seen_before)
        if isinstance(prepared, Decided):
            refused[answer.approval_id] = prepared
        else:
            decisions.append(prepared)
    verdicts = await services.off_loop(
        services.ledger.decide, decisions, by=by, assurance=assurance, thread_id=thread_id
    )
    point("agent.decided")
    made = refused | {verdict.approval_id: _decided(verdict) for verdict in verdicts}
    return [made[answer.approval_id] for answer in answers]


async def _prepare(
    services: Services, answer: Answer, row: ApprovalRow | None, by: str, seen_before: datetime | None
) -> Decision | Decided:
    if row is None or row.status != "pending":
        return Decision(answer.approval_id, "reject", answer.digest)  # the ledger says why it cannot count
    forbidden = services.policy.forbids(by, row.policy, row.requested_by)
    if forbidden is not None:
        return Decided(row.id, "forbidden", forbidden, row)
    if answer.digest is None and seen_before is not None and row.created_at > seen_before:
        return Decided(
            row.id, "superseded", "This preview is newer than your answer; look at it and decide again.", row
        )
    if answer.kind != "edit":
        return Decision(row.id, answer.kind, answer.digest, answer.reason)
    replacement = (await make_proposals([Wanted.edited(row, answer.args or {})], services))[0]
    if isinstance(replacement, ErpError):
        return Decided(row.id, "invalid", f"{replacement.message} {replacement.hint}".strip(), row)
    return Decision(row.id, "edit", answer.digest, replacement=replacement)


def _decided(verdict: Verdict) -> Decided:
    row = verdict.row
    if verdict.kind == "approved":
        return Decided(verdict.approval_id, "recorded", "Approved.", row, recorded=True)
    if verdict.kind == "signed":
        return Decided(verdict.approval_id, "recorded", "Signed; another person has to sign too.", row, recorded=True)
    if verdict.kind == "rejected":
        return Decided(verdict.approval_id, "rejected", "Rejected; nothing was done.", row, recorded=True)
    if verdict.kind == "edited":
        fresh = verdict.successor.id if verdict.successor else ""
        return Decided(
            verdict.approval_id, "superseded", f"Changed; the new preview {fresh} waits.", row, recorded=True
        )
    return Decided(verdict.approval_id, verdict.kind, _why_not(verdict.kind, row), row)


def _why_not(kind: str, row: ApprovalRow | None) -> str:
    if row is None:
        return "There is no such approval."
    if kind == "paused":
        return "Approvals are paused; nothing was decided. It still waits, and its deadline stands still."
    if kind == "wrong_thread":
        return f"It belongs to thread {row.thread_id}; nothing was decided."
    if kind == "expired":
        return f"It expired on {row.expires_at:%Y-%m-%d %H:%M} UTC; nobody answered, nothing was done."
    if kind == "superseded":
        return "Its preview is no longer the current one; look at what waits and decide that."
    when = f" on {row.decided_at:%Y-%m-%d %H:%M} UTC" if row.decided_at else ""
    return f"Already {row.status}, decided by {row.decided_by or 'nobody'}{when}."


def renamed(decided: Decided, outcome: Outcome, note: str) -> Decided:
    """The same decision with what came of it in the end."""
    return replace(decided, outcome=outcome, note=note)
