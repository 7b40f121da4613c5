"""Commands about the policy: check a file, show what one says, tell what another would have asked. They only read."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from graph.books import open_ledger
from graph.cli import screen
from graph.cli.failures import Exit, plainly
from graph.cli.options import AsJson
from graph.policy import Policy, PolicyError, Rule, read_policy
from graph.policy.comparing import Asked, Compared, compare
from graph.policy.contradictions import own_requests
from graph.rights import open_policy
from graph.settings import load_settings

app = typer.Typer(
    name="policy",
    help="Check and compare policies: who may approve what.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A policy in TOML.")]
Old = Annotated[Path, typer.Argument(metavar="OLD", help="A policy in TOML; - for none: any named person.")]
New = Annotated[Path, typer.Argument(metavar="NEW", help="A policy in TOML; - for none: any named person.")]


@app.command()
@plainly
def check(file: File, as_json: AsJson = False) -> int:
    """Check a policy file: exit code 0 where it can be used, else 2 with the line and column to mend."""
    policy = _read(file, as_json)
    if policy is None:
        return Exit.USAGE
    remarks = own_requests(policy)
    people = len(policy.people or {})
    if as_json:
        screen.say_json({"status": "ok", "people": people, "rules": len(policy.rules), "remarks": remarks})
    else:
        screen.say(f"{file}: {people} people, {len(policy.rules)} rules, nothing contradicts.")
        for remark in remarks:
            screen.remark(remark)
    return Exit.DONE


@app.command()
@plainly
def show(as_json: AsJson = False) -> int:
    """Show the policy that is in force: the people, and each rule with those who may approve under it."""
    policy = open_policy(load_settings().policy).current()
    if as_json:
        screen.say_json(
            {
                "file": policy.file or None,
                "people": {one.name: sorted(one.roles) for one in (policy.people or {}).values()},
                "rules": [_rule_json(policy, rule) for rule in policy.rules],
            }
        )
        return Exit.DONE
    if policy.people is None:
        screen.say("There is no policy: any named person may approve. COUNTERSIGN_POLICY names a file.")
        return Exit.DONE
    screen.say(f"Policy {policy.file}")
    for one in policy.people.values():
        screen.say(f"  {one.name}: {', '.join(sorted(one.roles)) or 'no role'}")
    for rule in policy.rules:
        screen.say(_rule_text(policy, rule))
    screen.say("Where no rule applies: anybody above but the requester.")
    return Exit.DONE


@app.command()
@plainly
def diff(old: Old, new: New, as_json: AsJson = False) -> int:
    """Tell, for the approvals of the past, what one policy would have asked and another not, and of whom."""
    policies = [Policy() if str(file) == "-" else _read(file, as_json) for file in (old, new)]
    before, after = policies
    if before is None or after is None:
        return Exit.USAGE
    with open_ledger(load_settings()) as ledger:
        compared = compare(before, after, ledger.history())
    changed = [one for one in compared if one.differs]
    if as_json:
        screen.say_json({"approvals": len(compared), "changed": [one.as_json() for one in changed]})
        return Exit.DONE
    for one in changed:
        screen.say(_compared_text(one))
    screen.say(f"{len(changed)} of {len(compared)} approvals would have been asked differently.")
    return Exit.DONE


def _read(file: Path, as_json: bool) -> Policy | None:
    """A file's policy, or None after saying what is wrong with it."""
    try:
        return read_policy(file)
    except PolicyError as error:
        place = {"line": error.place.line, "column": error.place.column} if error.place else {}
        body: dict[str, Any] = {"code": error.code, "message": error.message, "hint": error.hint, "file": error.file}
        if as_json:
            screen.say_json({"error": body | place})
        else:
            screen.complain(error.message, error.hint)
        return None


def _rule_json(policy: Policy, rule: Rule) -> dict[str, Any]:
    return {
        "name": rule.name, "tools": list(rule.tools), "when": rule.when.text if rule.when else None,
        "automatic": rule.automatic, "count": rule.count, "approvers": list(rule.approvers),
        "people": [] if rule.automatic else sorted(policy.eligible(rule.approvers)), "assurance": rule.assurance,
        "requester_may_approve": rule.requester_may_approve,
        "expires_seconds": None if rule.expires is None else int(rule.expires.total_seconds()),
    }  # fmt: skip


def _rule_text(policy: Policy, rule: Rule) -> str:
    when = f" when {' '.join(rule.when.text.split())}" if rule.when else ""
    head = f"Rule {rule.name}: {', '.join(rule.tools)}{when}"
    if rule.automatic:
        return f"{head}\n  signed by this rule, where no other asks a person"
    people = ", ".join(sorted(policy.eligible(rule.approvers)))
    more = [f"{rule.count} of {people}"]
    more += [] if rule.requester_may_approve else ["not the requester"]
    more += [] if rule.assurance == "asserted" else [f"known by {rule.assurance}"]
    more += [] if rule.expires is None else [f"within {_hours(rule.expires)}"]
    return f"{head}\n  {'; '.join(more)}"


def _hours(length: timedelta) -> str:
    hours, minutes = divmod(int(length.total_seconds()) // 60, 60)
    return f"{hours} h" if not minutes else f"{hours} h {minutes} min"


def _compared_text(one: Compared) -> str:
    head = f"{one.row.id}  {one.row.tool}, asked by {one.row.requested_by}: {one.row.preview.get('summary', '')}"
    return f"{head}\n  before: {_asked_text(one.before)}\n  after:  {_asked_text(one.after)}"


def _asked_text(asked: Asked) -> str:
    if asked.terms.automatic:
        return asked.terms.in_words()
    groups = ["any named person" if group is None else ", ".join(sorted(group)) or "nobody" for group in asked.people]
    return f"{asked.terms.in_words()} ({'; '.join(dict.fromkeys(groups))})"
