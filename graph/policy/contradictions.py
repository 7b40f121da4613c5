"""Rules that nobody could ever satisfy, or that never count. They stop the start: found later, they would lock up."""

from graph.policy.document import Document
from graph.policy.rules import Policy, Rule
from graph.policy.terms import EVERYBODY

STRANGER = "\x00somebody else"
"""A requester whom no condition can name."""


def check_rules(policy: Policy, document: Document) -> None:
    """Looks for contradictions.

    Raises:
        PolicyError: with the rule's name and line.
    """
    for number, rule in enumerate(policy.rules):
        if rule.automatic:
            _check_automatic(policy, document, number, rule)
        else:
            _check_people(policy, document, number, rule)


def _check_people(policy: Policy, document: Document, number: int, rule: Rule) -> None:
    eligible = policy.eligible(rule.approvers)
    whom = "everybody" if rule.approvers == (EVERYBODY,) else ", ".join(rule.approvers)
    key = "count" if rule.count > 1 else "approvers"
    if len(eligible) < rule.count:
        people = f"{len(eligible)} {'person' if len(eligible) == 1 else 'people'}"
        raise document.error(
            f"nobody can satisfy rule {rule.name}: it asks {rule.count} distinct people of {whom}, who are {people}.",
            "Lower count, or give more people the role.", "rules", number, key,
        )  # fmt: skip
    if rule.requester_may_approve:
        return
    requesters = _requesters(policy, rule)
    if requesters and all(len(eligible - {name}) < rule.count for name in requesters):
        only = ", ".join(sorted(requesters))
        raise document.error(
            f"nobody can satisfy rule {rule.name}: it is about requests of {only}, who may not approve their own, "
            f"and asks {rule.count} of {whom}.",
            "Name another approver, or write requester_may_approve = true.", "rules", number, key,
        )  # fmt: skip


def own_requests(policy: Policy) -> list[str]:
    """What an author should know, though it is no contradiction: whose own requests a rule leaves nobody to approve."""
    return [
        f"Rule {rule.name}: requests of {name} can be approved by nobody, since {name} is needed and does not count."
        for rule in policy.rules
        if not rule.automatic and not rule.requester_may_approve
        for name in sorted(policy.eligible(rule.approvers))
        if len(policy.eligible(rule.approvers) - {name}) < rule.count
    ]


def _requesters(policy: Policy, rule: Rule) -> frozenset[str]:
    """The people whose requests alone the rule can be about; empty where it can be about anybody's.

    The condition is asked with nothing known but the requester. CEL's ``false && unknown`` is false, so a plain no
    means that the rule can never be about that requester.
    """
    if rule.when is None or not rule.when.names & {"requested_by", "requester_roles"}:
        return frozenset()

    def possible(name: str) -> bool:
        known = {"requested_by": name, "requester_roles": policy.roles(name)}
        return rule.when is None or rule.when.ask_with(known) is not False

    if possible(STRANGER):
        return frozenset()
    return frozenset(name for name in policy.people or () if possible(name))


def _check_automatic(policy: Policy, document: Document, number: int, rule: Rule) -> None:
    for other in policy.rules:
        if other.automatic or other.when is not None:
            continue
        if all(pattern in other.tools or "*" in other.tools for pattern in rule.tools):
            raise document.error(
                f"rule {rule.name} never counts: rule {other.name} always asks a person about the same tools.",
                "Give one of them other tools, or a condition.", "rules", number, "automatic",
            )  # fmt: skip
