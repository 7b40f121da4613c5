"""Where decisions are taken: every entrance, and the approve node, come here. Rights first, then the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from checkpoints.faults import point
from checkpoints.records import ApprovalRow, Assurance, Decision, Verdict
from erp_mcp.errors import ErpError
from graph.decisions import Answer
from graph.errors import CountersignError
from graph.policy import BY_RULE, Policy
from graph.proposals import Wanted, make_proposals
from graph.rights import Rights, rights_of
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
    rows = await services.look_up(services.ledger.get_all, [answer.approval_id for answer in answers])
    try:
        policy = await services.policy_now()
    except CountersignError as error:
        note = f"Nothing was decided: {error.message}"
        return [Decided(one.approval_id, "forbidden", note, rows.get(one.approval_id)) for one in answers]
    who = _Who(policy, policy.person(by), assurance, seen_before)
    refused: dict[str, Decided] = {}
    decisions: list[Decision] = []
    for answer in answers:
        prepared = await _prepare(services, answer, rows.get(answer.approval_id), who)
        if isinstance(prepared, Decided):
            refused[answer.approval_id] = prepared
        else:
            decisions.append(prepared)
    verdicts = await services.write_down(
        services.ledger.decide, decisions, by=who.name, assurance=assurance, thread_id=thread_id
    )
    point("agent.decided")
    made = refused | {verdict.approval_id: _decided(verdict) for verdict in verdicts}
    signed = [verdict.approval_id for verdict in verdicts if verdict.kind == "signed"]
    if signed:
        made |= await _still_missing(services, policy, [made[approval_id] for approval_id in signed])
    return [made[answer.approval_id] for answer in answers]


async def decide_by_rule(services: Services, rows: Sequence[ApprovalRow]) -> list[ApprovalRow]:
    """Lets the policy's automatic rules sign what they may; the ledger then says which rule it was.

    Args:
        services: the agent's.
        rows: pending approvals.

    Returns:
        The rows as they stand afterwards, in their order.
    """
    kept = [row for row in rows if row.status == "pending" and row.policy.get("automatic")]
    if not kept:
        return list(rows)
    policy = await services.policy_now()
    after: dict[str, ApprovalRow] = {}
    for row in kept:
        rights = await services.look_up(rights_of, policy, services.ledger, row)
        if rights.terms.automatic is None:
            continue
        by_rule = Decision(row.id, "approve", row.digest, needs=())
        verdicts = await services.write_down(
            services.ledger.decide, [by_rule], by=BY_RULE + rights.terms.automatic, assurance="policy"
        )
        point("agent.decided")
        after |= {verdict.approval_id: verdict.row for verdict in verdicts if verdict.row is not None}
    return [after.get(row.id, row) for row in rows]


@dataclass(frozen=True)
class _Who:
    """The one who answers, under the policy of this moment."""

    policy: Policy
    name: str
    assurance: Assurance
    seen_before: datetime | None


async def _prepare(services: Services, answer: Answer, row: ApprovalRow | None, who: _Who) -> Decision | Decided:
    if row is None or row.status != "pending":
        return Decision(answer.approval_id, "reject", answer.digest)  # the ledger says why it cannot count
    rights: Rights = await services.look_up(rights_of, who.policy, services.ledger, row)
    forbidden = rights.forbids(who.name, who.assurance)
    if forbidden is not None:
        return Decided(row.id, "forbidden", forbidden, row)
    if answer.digest is None and who.seen_before is not None and row.created_at > who.seen_before:
        return Decided(
            row.id, "superseded", "This preview is newer than your answer; look at it and decide again.", row
        )
    if answer.kind != "edit":
        return Decision(
            row.id, answer.kind, answer.digest, answer.reason, needs=rights.needs, expires_at=rights.expires_at
        )
    replacement = (await make_proposals([Wanted.edited(row, answer.args or {})], services))[0]
    if isinstance(replacement, ErpError):
        return Decided(row.id, "invalid", f"{replacement.message} {replacement.hint}".strip(), row)
    return Decision(row.id, "edit", answer.digest, replacement=replacement, expires_at=rights.expires_at)


async def _still_missing(services: Services, policy: Policy, signed: Sequence[Decided]) -> dict[str, Decided]:
    """Signed, but not by enough people yet: says who else has to."""
    signatures = await services.look_up(services.ledger.signatures, [one.approval_id for one in signed])
    told: dict[str, Decided] = {}
    for one in signed:
        if one.row is not None:
            rights: Rights = await services.look_up(rights_of, policy, services.ledger, one.row)
            missing = rights.lacks(signatures.get(one.approval_id, {})) or "Another person has to sign too."
            told[one.approval_id] = replace(one, note=f"Signed. {missing}")
    return told


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
    if row is not None and (row.outcome or {}).get("type") == "schema_changed":
        note = f"{(row.outcome or {}).get('message', '')} Nothing was done; look at: countersign servers list"
        return Decided(verdict.approval_id, "schema_changed", note.strip(), row)
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
    if row.status == "unknown":
        return f"Approved by {row.decided_by} and sent once; whether it was done is not known. It is not sent again."
    when = f" on {row.decided_at:%Y-%m-%d %H:%M} UTC" if row.decided_at else ""
    return f"Already {row.status}, decided by {row.decided_by or 'nobody'}{when}."


def renamed(decided: Decided, outcome: Outcome, note: str) -> Decided:
    """The same decision with what came of it in the end."""
    return replace(decided, outcome=outcome, note=note)
