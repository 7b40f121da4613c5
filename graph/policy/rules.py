"""The policy itself: people with roles, and rules. Every matching rule applies, and all of them have to be met."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Final

from checkpoints.records import Assurance, Need
from graph.policy.conditions import Condition
from graph.policy.subject import Subject
from graph.policy.terms import EVERYBODY, Ask, Json, Terms, merged

BY_RULE: Final = "policy:"
"""Begins the name under which a rule signs; no person is called so."""

DEFAULT: Final = "default"
"""The rule that applies where no other does. It cannot be written down."""


@dataclass(frozen=True)
class Person:
    """Somebody whom the policy knows.

    Args:
        name: as it is recorded.
        roles: what they are.
        logins: other names by which entrances know the same person.
    """

    name: str
    roles: frozenset[str] = frozenset()
    logins: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Rule:
    """One rule.

    Args:
        name: kept with the approvals that it asks for.
        tools: patterns of tool names, such as ``*_order``.
        when: the condition; None for always.
        approvers: roles and people; everybody in the policy if left out.
        count: how many distinct people have to sign.
        requester_may_approve: whether who asks counts as an approver.
        assurance: how surely an approver has to be known.
        expires: how long it may wait.
        automatic: whether this rule signs by itself, where no other asks for a person.
    """

    name: str
    tools: tuple[str, ...] = ("*",)
    when: Condition | None = None
    approvers: tuple[str, ...] = (EVERYBODY,)
    count: int = 1
    requester_may_approve: bool = False
    assurance: Assurance = "asserted"
    expires: timedelta | None = None
    automatic: bool = False

    def match(self, subject: Subject, roles: Sequence[str]) -> tuple[bool, str, tuple[str, ...]]:
        """Whether the rule applies, why, and what could not be evaluated.

        It is asked once per currency. A restricting rule applies where any answer is yes, an automatic one where all
        are; where there is no answer (an argument that is not there, a figure that nobody knows), a restricting rule
        applies and an automatic one does not.
        """
        if not any(fnmatchcase(subject.tool, pattern) for pattern in self.tools):
            return False, "", ()
        if self.when is None:
            return True, "always", ()
        answers = {currency: self.when.ask(subject, roles, currency) for currency in subject.currencies}
        odd = [answer for answer in answers.values() if not isinstance(answer, bool)]
        applies = (
            all(answer is True for answer in answers.values())
            if self.automatic
            else any(answer is not False for answer in answers.values())
        )
        made = "does not apply" if self.automatic else "applies"
        notes = tuple(f"{self.name}: the condition has no answer ({reason}), so the rule {made}" for reason in odd)
        met = " ".join(self.when.text.split())
        return applies, met, notes

    def terms(self, why: str) -> Terms:
        """What the rule asks for where it applies."""
        ask = Ask(self.name, self.approvers, self.count, why)
        return Terms((ask,), None, self.requester_may_approve, self.assurance, self.expires)


@dataclass(frozen=True)
class Policy:
    """Who may approve what.

    Args:
        rules: in any order.
        people: by name; None where there is no policy file, and any named person may sign.
        file: where it comes from, for messages.
    """

    rules: tuple[Rule, ...] = ()
    people: Mapping[str, Person] | None = None
    file: str = ""
    known: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        names = {_plain(alias): one.name for one in (self.people or {}).values() for alias in (one.name, *one.logins)}
        object.__setattr__(self, "known", names)

    @property
    def is_daily(self) -> bool:
        """Whether any rule looks at what else a requester asked for, so that the ledger has to be read for it."""
        return any(rule.when is not None and rule.when.is_daily for rule in self.rules)

    def person(self, name: str) -> str:
        """The one name of a person, however an entrance spells it; a stranger's own name without spaces around."""
        return self.known.get(_plain(name), name.strip())

    def roles(self, name: str) -> list[str]:
        """A person's roles, in order; none for a stranger."""
        known = (self.people or {}).get(self.person(name))
        return sorted(known.roles) if known else []

    def asks(self, subject: Subject) -> Terms:
        """What a call needs: every matching rule together; what the default asks where none matches."""
        roles = self.roles(subject.requested_by)
        matched = [(rule, *rule.match(subject, roles)) for rule in self.rules]
        notes = tuple(note for *_, found in matched for note in found)
        restricting = [rule.terms(why) for rule, applies, why, _ in matched if applies and not rule.automatic]
        automatic = next((rule.name for rule, applies, *_ in matched if applies and rule.automatic), None)
        whole = merged(restricting) if restricting else self.default
        return Terms(
            whole.asks, None if restricting else automatic, whole.requester_may_approve, whole.assurance,
            whole.expires, notes,
        )  # fmt: skip

    @property
    def default(self) -> Terms:
        """Without a file any named person may sign; with one, somebody whom it knows and who did not ask."""
        if self.people is None:
            return Terms((Ask(DEFAULT),), None, True)
        return Terms((Ask(DEFAULT, (EVERYBODY,)),))

    def asks_now(self, kept: Json, subject: Subject) -> Terms:
        """What a waiting approval needs: the stricter of what was asked when it was opened and what is asked now."""
        return Terms.from_json(kept).and_also(self.asks(subject))

    def demands(self, terms: Terms, requested_by: str) -> list[tuple[Ask, Need]]:
        """The demands with the people of today: who lost a role no longer counts, who got it does.

        A demand that another one includes is left out: whoever counts for it alone would sign in vain. So where a
        manager is needed a clerk may not sign, although some other rule would take one.
        """
        barred = frozenset() if terms.requester_may_approve else frozenset({self.person(requested_by)})
        found = [(ask, self._need(ask, barred, terms.assurance)) for ask in terms.asks]
        kept: list[tuple[Ask, Need]] = []
        for place, (ask, need) in enumerate(found):
            others = [other for _, other in kept] + [other for _, other in found[place + 1 :] if other != need]
            if not any(other.includes(need) for other in others):
                kept.append((ask, need))
        return kept

    def needs(self, terms: Terms, requested_by: str) -> tuple[Need, ...]:
        """What ``demands`` says, for the ledger."""
        return tuple(need for _, need in self.demands(terms, requested_by))

    def _need(self, ask: Ask, barred: frozenset[str], assurance: Assurance) -> Need:
        people = None if ask.approvers is None else self.eligible(ask.approvers) - barred
        if ask.approvers is None and self.people is not None:
            people = frozenset(self.people) - barred
        return Need(ask.count, people, barred, assurance)

    def eligible(self, approvers: Sequence[str]) -> frozenset[str]:
        """The people behind roles and names, as of today."""
        wanted = set(approvers)
        return frozenset(
            one.name
            for one in (self.people or {}).values()
            if EVERYBODY in wanted or one.name in wanted or one.roles & wanted
        )


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip().casefold()
