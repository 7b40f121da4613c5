"""From a TOML file to a policy. What is unreadable, unknown or contradictory is refused with its line."""

import difflib
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from graph.policy.conditions import Condition, ConditionError
from graph.policy.contradictions import check_rules
from graph.policy.document import Document
from graph.policy.problems import PolicyError
from graph.policy.rules import BY_RULE, DEFAULT, Person, Policy, Rule
from graph.policy.terms import EVERYBODY

PERSON_KEYS: Final = ("roles", "logins")
RULE_KEYS: Final = (
    "name", "tools", "when", "approvers", "count", "requester_may_approve", "assurance", "expires", "automatic",
)  # fmt: skip
AUTOMATIC_KEYS: Final = ("name", "tools", "when", "automatic")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}
LONGEST_DAYS: Final = 3650
"""As long as the settings allow."""


def read_policy(path: Path) -> Policy:
    """The policy of a file.

    Raises:
        PolicyError: what is wrong, with line and column.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        hint = "Set COUNTERSIGN_POLICY to a TOML file that can be read."
        raise PolicyError(f"the policy cannot be read: {error.strerror}.", hint, str(path)) from None
    except UnicodeDecodeError as error:
        hint = "Save the file as UTF-8."
        raise PolicyError(f"the policy is not UTF-8: {error.reason}.", hint, str(path)) from None
    return parse_policy(text.replace("\r\n", "\n"), str(path))


def parse_policy(text: str, file: str = "policy.toml") -> Policy:
    """The policy of a text.

    Args:
        text: TOML.
        file: its name, for messages.

    Raises:
        PolicyError: what is wrong, with line and column.
    """
    document = Document.parse(text, file)
    _only_known(document, document.values, ("people", "rules"), ())
    people = _people(document)
    rules = tuple(_rules(document, people))
    policy = Policy(rules, people, file)
    check_rules(policy, document)
    return policy


def _people(document: Document) -> dict[str, Person]:
    listed = document.values.get("people", {})
    if not isinstance(listed, dict) or not listed:
        raise document.error(
            "there are no people, so nobody could approve.", 'Add [people.NAME] roles = ["…"].', "people"
        )
    people = {}
    for name, values in listed.items():
        path = ("people", name)
        if not isinstance(values, dict):
            raise document.error(f"people.{name} is not a table.", f'Write [people.{name}] roles = ["…"].', *path)
        if not name.strip() or name != name.strip() or name.startswith(BY_RULE) or name == EVERYBODY:
            raise document.error(f"{name!r} cannot be a person's name.", "Give them another name.", *path)
        _only_known(document, values, PERSON_KEYS, path)
        roles, logins = (_texts(document, values, key, path) for key in PERSON_KEYS)
        people[name] = Person(name, frozenset(roles), frozenset(logins))
    _check_names(document, people)
    return people


def _check_names(document: Document, people: Mapping[str, Person]) -> None:
    """One name means one person, and no name is a role as well: otherwise one could sign twice, or as another."""
    alone = Policy(people=people)
    for one in people.values():
        for alias in (one.name, *sorted(one.logins)):
            if alone.person(alias) != one.name:
                other = alone.person(alias)
                raise document.error(
                    f"{alias!r} means {one.name} and {other}.",
                    "Give each person names of their own.",
                    "people",
                    one.name,
                )
        if one.name in {role for other in people.values() for role in other.roles}:
            raise document.error(
                f"{one.name!r} is a person and a role.", "Call one of them otherwise.", "people", one.name
            )


def _rules(document: Document, people: Mapping[str, Person]) -> Iterable[Rule]:
    listed = document.values.get("rules", [])
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise document.error("rules is not a list of tables.", "Begin each rule with [[rules]].", "rules")
    names = set[str]()
    for number, values in enumerate(listed):
        rule = _rule(document, values, ("rules", number), people)
        if rule.name in names:
            raise document.error(
                f"there are two rules named {rule.name!r}.",
                "Give each rule a name of its own.",
                "rules",
                number,
                "name",
            )
        names.add(rule.name)
        yield rule


def _rule(document: Document, values: dict[str, Any], path: tuple[str, int], people: Mapping[str, Person]) -> Rule:
    _only_known(document, values, RULE_KEYS, path)
    read = _Reader(document, values, path)
    name = read.one("name", str, "a text")
    if not name or not name.strip() or name == DEFAULT:
        what = "has no name" if not name else f"cannot be named {name!r}"
        raise document.error(f"the rule {what}.", 'Give it a name: name = "big-orders".', *path, "name")
    automatic = bool(read.one("automatic", bool, "true or false"))
    for key in values if automatic else ():
        if key not in AUTOMATIC_KEYS:
            raise document.error(
                f"rule {name} is automatic and has {key}: no person is asked.",
                f"Leave out {key} or automatic.",
                *path,
                key,
            )
    count = read.one("count", int, "a whole number")
    if count is not None and count < 1:
        raise document.error(f"count is {count}.", "Write how many people have to sign: 1 or more.", *path, "count")
    assurance = read.one("assurance", str, "a text") or "asserted"
    if assurance not in {"asserted", "token"}:
        raise document.error(
            f"there is no assurance {assurance!r}.", 'Write "asserted" or "token".', *path, "assurance"
        )
    return Rule(
        name=name, tools=_patterns(read), when=_condition(read), approvers=_approvers(read, people),
        count=1 if count is None else count, automatic=automatic, expires=_expiry(read),
        requester_may_approve=bool(read.one("requester_may_approve", bool, "true or false")),
        assurance="token" if assurance == "token" else "asserted",
    )  # fmt: skip


class _Reader:
    """The values of one rule, with the type that each has to have."""

    def __init__(self, document: Document, values: dict[str, Any], path: tuple[str, int]) -> None:
        self.document, self.values, self.path = document, values, path

    def one(self, key: str, kind: type[Any], words: str) -> Any:
        value = self.values.get(key)
        if value is not None and type(value) is not kind:  # a bool is an int to isinstance
            raise self.error(key, f"{key} is {value!r}, not {words}.", f"Write {words} for {key}.")
        return value

    def texts(self, key: str) -> list[str]:
        return _texts(self.document, self.values, key, self.path)

    def error(self, key: str, message: str, hint: str) -> PolicyError:
        return self.document.error(message, hint, *self.path, key)


def _patterns(read: _Reader) -> tuple[str, ...]:
    if "tools" not in read.values:
        return ("*",)
    patterns = read.texts("tools")
    if not patterns:
        raise read.error("tools", "tools is empty, so the rule never applies.", 'Name tools, such as ["*_order"].')
    return tuple(patterns)


def _condition(read: _Reader) -> Condition | None:
    text = read.one("when", str, "a condition in quotes")
    if text is None:
        return None
    try:
        return Condition.compile(text)
    except ConditionError as error:
        path = (*read.path, "when")
        place = read.document.inside(path, error.line, error.column)
        hint = "Correct the condition; it is CEL, and README lists what it can name."
        raise PolicyError(f"in the condition: {error}.", hint, read.document.file, place) from None


def _approvers(read: _Reader, people: Mapping[str, Person]) -> tuple[str, ...]:
    if "approvers" not in read.values:
        return (EVERYBODY,)
    named = read.texts("approvers")
    if not named:
        raise read.error("approvers", "approvers is empty, so nobody could sign.", "Name roles or people.")
    known = sorted({EVERYBODY, *people, *(role for one in people.values() for role in one.roles)})
    for name in named:
        if name not in known:
            raise read.error(
                "approvers", f"{name!r} is neither a person nor a role that somebody has.", _did_you_mean(name, known)
            )
    return tuple(named)


def _expiry(read: _Reader) -> timedelta | None:
    text = read.one("expires", str, "a duration in quotes")
    if text is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,6})([mhd])", text)
    length = timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else timedelta()
    if not timedelta() < length <= timedelta(days=LONGEST_DAYS):
        hint = f'Write minutes, hours or days, at most {LONGEST_DAYS} days: "30m", "72h", "30d".'
        raise read.error("expires", f"{text!r} is not a duration.", hint)
    return length


def _texts(document: Document, values: dict[str, Any], key: str, path: tuple[str | int, ...]) -> list[str]:
    found = values.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, str) and one.strip() for one in found):
        raise document.error(f"{key} is {found!r}, not a list of names.", f'Write {key} = ["…"].', *path, key)
    return found


def _only_known(
    document: Document, values: dict[str, Any], known: tuple[str, ...], path: tuple[str | int, ...]
) -> None:
    for key in values:
        if key not in known:
            where = "at the top" if not path else "here"
            raise document.error(f"there is no key {key!r} {where}.", _did_you_mean(key, known), *path, key)


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = difflib.get_close_matches(name, names, 1)
    return f"Did you mean {close[0]}?" if close else f"Use one of: {', '.join(names)}."
