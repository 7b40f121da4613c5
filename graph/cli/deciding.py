"""Commands that decide: approve, reject, edit. The decision goes to the ledger first, then the thread goes on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import typer

from checkpoints.records import ApprovalRow
from graph.books import open_ledger
from graph.cli.arguments import find_approval, read_object
from graph.cli.asking import tell
from graph.cli.failures import Exit, plainly, refuse_usage
from graph.cli.looking import unknown
from graph.cli.options import Approved, AsJson, By, Digest
from graph.decisions import Answer, Shown
from graph.decisions import approve as approve_answer
from graph.decisions import edit as edit_answer
from graph.decisions import reject as reject_answer
from graph.rights import open_policy
from graph.run import Approval, Run
from graph.settings import load_settings


@plainly
def approve(approval: Approved, by: By, digest: Digest = None, as_json: AsJson = False) -> int:
    """Approve what `show` shows, then carry it out."""
    return _decide(approval, by, digest, as_json, lambda shown: approve_answer(shown, by=by))


@plainly
def reject(
    approval: Approved,
    by: By,
    reason: Annotated[str, typer.Option(help="Why; the model hears it and does not try again.")] = "",
    digest: Digest = None,
    as_json: AsJson = False,
) -> int:
    """Reject it: nothing is done."""
    return _decide(approval, by, digest, as_json, lambda shown: reject_answer(shown, by=by, reason=reason))


@plainly
def edit(
    approval: Approved,
    by: By,
    args: Annotated[str, typer.Option("--args", metavar="JSON", help="The new arguments, whole: a JSON object.")],
    digest: Digest = None,
    as_json: AsJson = False,
) -> int:
    """Change its arguments: a fresh preview waits for approval."""
    arguments = read_object(args)
    return _decide(approval, by, digest, as_json, lambda shown: edit_answer(shown, arguments, by=by))


def _decide(typed: str, by: str, digest: str | None, as_json: bool, answer: Callable[[Shown], Answer]) -> int:
    if not by.strip():
        refuse_usage("unnamed_approver", "--by is empty.", "Say who decides: --by NAME")
    row = _row(typed)
    if row is None:
        return unknown(typed, as_json)
    from graph.cli.door import open_door

    said = answer(Approval.of(row))
    with open_door() as door:
        run = door.decide(row.thread_id, said if digest is None else replace(said, digest=digest))
    after = _row(row.id)
    tell(run, as_json)
    person = open_policy(load_settings().policy).current().person(by)  # as the ledger knows whoever typed an alias
    return _exit_of(replace(said, by=person), row, after or row, run)


def _row(typed: str) -> ApprovalRow | None:
    with open_ledger(load_settings()) as ledger:
        return find_approval(ledger, typed)


def _exit_of(said: Answer, before: ApprovalRow, after: ApprovalRow, run: Run) -> Exit:
    """Done where the decision had its effect, pending where others have to decide, refused where it did not count."""
    if run.outcome in {"executed", "already_executed"}:
        return Exit.DONE
    if said.kind == "reject":
        counted = before.status == "pending" and after.status == "rejected" and run.outcome in {"rejected", "recorded"}
        return Exit.DONE if counted else Exit.REFUSED
    if run.outcome == "recorded":
        return Exit.PENDING
    edited = (
        said.kind == "edit" and before.status == "pending" and (after.reason, after.decided_by) == ("edited", said.by)
    )
    return Exit.PENDING if edited else Exit.REFUSED
