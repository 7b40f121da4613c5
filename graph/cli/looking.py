"""Commands that only look: pending, show, audit. They read the two records and load no framework."""

from datetime import timedelta
from functools import partial
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer
from rich.console import RenderableType

from checkpoints.ledger import Ledger
from checkpoints.reading import InboxFilter
from checkpoints.records import ApprovalRow
from graph.books import open_ledger, read_audit, verify_records, why_gone, why_unfit
from graph.cli import screen, views
from graph.cli.arguments import find_approval, place_of, read_amount, read_since
from graph.cli.failures import Exit, plainly
from graph.cli.options import Approved, AsJson
from graph.policy import Terms
from graph.rights import open_policy, policy_now, waiting_for
from graph.run import Approval, approvals_of, with_remarks
from graph.settings import Settings, load_settings


@plainly
def pending(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many to list.")] = 50,
    after: Annotated[str | None, typer.Option(metavar="APPROVAL", help="Go on behind this one.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only this tool.")] = None,
    requested_by: Annotated[str | None, typer.Option("--asked-by", metavar="USER", help="Only from this user.")] = None,
    hours: Annotated[int | None, typer.Option("--older-than", metavar="HOURS", min=0, help="Only older ones.")] = None,
    amount: Annotated[
        str | None, typer.Option("--at-least", metavar="AMOUNT", help="Only from this amount on.")
    ] = None,
    person: Annotated[
        str | None, typer.Option("--for", metavar="WHO", help="Only what this person's signature brings on.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List what waits for a decision, over all threads, oldest first."""
    settings = load_settings()
    with open_ledger(settings) as ledger:
        now = ledger.clock()
        before = None if hours is None else now - timedelta(hours=hours)
        only = InboxFilter(tool, requested_by, before, None if amount is None else read_amount(amount))
        ledger.expire_due()
        behind = None if after is None else place_of(ledger, after)
        if person is None:
            rows = ledger.pending(limit=limit + 1, after=behind, only=only)
        else:
            policy = policy_now(open_policy(settings.policy))
            rows = waiting_for(policy, ledger, person, limit=limit + 1, after=behind, only=only)
        asked_before = ledger.get_all([row.supersedes for row in rows if row.supersedes])
    approvals = with_remarks(approvals_of(rows[:limit], asked_before), partial(why_gone, settings))
    if as_json:
        screen.say_json([approval.as_json() for approval in approvals])
    elif approvals:
        screen.show(views.inbox_view(approvals, now, settings.zone))
    else:
        screen.say("Nothing waits for a decision.")
    if len(rows) > limit:
        screen.remark(f"More wait. Go on with: countersign pending --after {approvals[-1].approval_id}")
    return Exit.DONE


@plainly
def show(
    approval: Approved,
    as_json: AsJson = False,
) -> int:
    """Show one approval whole: what would be done, who asked, and what changed since you looked."""
    settings = load_settings()
    with open_ledger(settings) as ledger:
        row = find_approval(ledger, approval)
        if row is None:
            return unknown(approval, as_json)
        if as_json:
            screen.say_json(_whole_json(ledger, row))
        else:
            screen.show(whole_view(ledger, row, settings.zone))
    return Exit.DONE


def whole_view(ledger: Ledger, row: ApprovalRow, zone: ZoneInfo) -> RenderableType:
    """One approval as an approver has to see it.

    Args:
        ledger: for the one that it asks again for.
        row: the approval.
        zone: for times.
    """
    return views.approval_view(_remarked(ledger, row), Terms.from_json(row.policy).in_words(), zone)


def _remarked(ledger: Ledger, row: ApprovalRow) -> Approval:
    before = ledger.get(row.supersedes) if row.supersedes else None
    (approval,) = with_remarks([Approval.of(row, before)], partial(why_unfit, load_settings()))
    return approval


def _whole_json(ledger: Ledger, row: ApprovalRow) -> dict[str, Any]:
    more = {
        "request": row.request, "outcome": row.outcome, "policy": row.policy, "assurance": row.assurance,
        "decided_at": row.decided_at.isoformat() if row.decided_at else None,
    }  # fmt: skip
    return _remarked(ledger, row).as_json() | more


@plainly
def audit(
    order: Annotated[str | None, typer.Option(metavar="ID", help="Only this order: its number in any form.")] = None,
    since: Annotated[str | None, typer.Option(metavar="DAY", help="Only what happened since (YYYY-MM-DD).")] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check that neither record was changed afterwards.")] = False,
    as_json: AsJson = False,
) -> int:
    """Tell who asked, who approved, what they saw and what was done."""
    settings = load_settings()
    if verify:
        return _verify(settings, as_json)
    start = None if since is None else read_since(since, settings.zone)
    entries = read_audit(settings, order=order, since=start)
    if as_json:
        screen.say_json([entry.as_json() for entry in entries])
    elif entries:
        for number, entry in enumerate(entries):
            screen.show(*([""] if number else []), views.audit_view(entry, settings.zone))
    else:
        screen.say("Nothing was decided or done that fits." if order or since else "Nothing was decided or done yet.")
    return Exit.DONE


def _verify(settings: Settings, as_json: bool) -> Exit:
    problems = verify_records(settings)
    if as_json:
        screen.say_json({"whole": not problems, "problems": problems})
    elif problems:
        screen.complain(
            "The records were tampered with:", "Compare with a backup; the rows named are not to be trusted."
        )
        for problem in problems:
            screen.say(problem)
    else:
        screen.say("Both records are whole: every entry follows the one before it, and every effect stands in both.")
    return Exit.FAILED if problems else Exit.DONE


def unknown(approval: str, as_json: bool) -> Exit:
    """Says that there is no such approval, as a typed outcome."""
    if as_json:
        screen.say_json(
            {
                "thread_id": "", "status": "done", "answer": "", "pending": [], "receipts": [], "outcome": "unknown",
                "outcomes": {approval: "unknown"}, "note": f"There is no approval {approval!r}.",
            }
        )  # fmt: skip
    else:
        screen.complain(f"There is no approval {approval!r}.", "List what waits with: countersign pending")
    return Exit.REFUSED
