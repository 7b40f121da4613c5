"""Strictness: whatever is added to a policy, a request never becomes easier to approve."""

from dataclasses import replace
from itertools import combinations
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from checkpoints.records import Assurance
from graph.policy import Person, Policy, Rule, Subject, Terms
from graph.policy.conditions import Condition

NAMES: Final = ("ann", "bob", "cem", "dan")
ROLES: Final = ("clerk", "manager")
ASSURANCES: Final[tuple[Assurance, ...]] = ("asserted", "token")
CONDITIONS: Final = {
    text: Condition.compile(text)
    for text in ("total > 100", "total > 1000", "args.nothing > 1", 'requested_by == "ann"', "day_count > 3")
}
PEOPLE: Final = {
    "ann": Person("ann", frozenset({"clerk"})),
    "bob": Person("bob", frozenset({"clerk", "manager"})),
    "cem": Person("cem", frozenset({"manager"})),
    "dan": Person("dan"),
}

restricting = st.builds(
    Rule,
    name=st.sampled_from("abcdef"),
    tools=st.sampled_from([("*",), ("create_*",), ("adjust_stock",)]),
    when=st.sampled_from([None, *CONDITIONS.values()]),
    approvers=st.sampled_from([("*",), ("clerk",), ("manager",), ("clerk", "dan"), ("cem",)]),
    count=st.integers(1, 3),
    assurance=st.sampled_from(ASSURANCES),
)
lenient = st.builds(
    Rule,
    name=st.sampled_from("uvw"),
    when=st.sampled_from([None, *CONDITIONS.values()]),
    requester_may_approve=st.just(True),
)
automatic = st.builds(
    Rule, name=st.sampled_from("xyz"), when=st.sampled_from(list(CONDITIONS.values())), automatic=st.just(True)
)
rules = st.lists(st.one_of(restricting, lenient, automatic), max_size=4)


def asked(amount: int, by: str) -> Subject:
    """A new order of this many whole dollars."""
    preview: dict[str, Any] = {
        "money": [{"label": "total", "amount": f"{amount}.00", "currency": "USD"}],
        "reversibility": {"kind": "reversible"},
    }
    return Subject.of("create_order", {}, preview, by)


subjects = st.builds(asked, st.integers(0, 2000), st.sampled_from([*NAMES, "stranger"]))


def enough(policy: Policy, terms: Terms, by: str) -> set[tuple[frozenset[str], Assurance]]:
    """Every group of people, known so surely, whose signatures are enough; nobody's where a rule signs by itself."""
    needs = policy.needs(terms, by)
    groups = [frozenset(group) for size in range(len(NAMES) + 1) for group in combinations(NAMES, size)]
    return {
        (group, assurance)
        for group in groups
        for assurance in ASSURANCES
        if terms.automatic or not any(need.lacks(dict.fromkeys(group, assurance)) for need in needs)
    }


def approving(found: tuple[Rule, ...], subject: Subject) -> set[tuple[frozenset[str], Assurance]]:
    """Who could approve under these rules."""
    policy = Policy(found, PEOPLE)
    return enough(policy, policy.asks(subject), subject.requested_by)


@given(rules, restricting, subjects, st.data())
def test_adding_a_rule_never_makes_a_request_easier(
    before: list[Rule], added: Rule, subject: Subject, data: st.DataObject
) -> None:
    """Wherever it is put, and whatever else there is: who suffices afterwards sufficed before."""
    place = data.draw(st.integers(0, len(before)))
    assert approving((*before[:place], added, *before[place:]), subject) <= approving(tuple(before), subject)


@given(rules, restricting, subjects)
def test_raising_a_rules_demands_never_makes_a_request_easier(others: list[Rule], rule: Rule, subject: Subject) -> None:
    """More people, surer people, or a condition that holds more often."""
    before = approving((*others, rule), subject)
    for stricter in (
        replace(rule, count=rule.count + 1),
        replace(rule, assurance="token"),
        replace(rule, when=CONDITIONS["total > 100"]) if rule.when is CONDITIONS["total > 1000"] else rule,
    ):
        assert approving((*others, stricter), subject) <= before


@given(st.lists(restricting, max_size=4), st.integers(0, 2000), st.integers(0, 2000), st.sampled_from(NAMES))
def test_a_larger_amount_is_never_easier_to_approve(found: list[Rule], one: int, other: int, by: str) -> None:
    """Limits only ever tighten upwards."""
    limits = tuple(rule for rule in found if rule.when is None or "total" in rule.when.names)
    small, large = sorted((one, other))
    whole = (*limits, Rule("base"))  # without a matching rule the default holds, which is the weakest there is
    assert approving(whole, asked(large, by)) <= approving(whole, asked(small, by))


@given(rules, rules, subjects)
def test_of_then_and_now_the_stricter_holds(then: list[Rule], now: list[Rule], subject: Subject) -> None:
    """Who suffices for a waiting approval suffices under both policies, and what was kept reads back the same."""
    old, new = Policy(tuple(then), PEOPLE), Policy(tuple(now), PEOPLE)
    kept = old.asks(subject)
    assert Terms.from_json(kept.as_json()) == kept
    both = enough(new, new.asks_now(kept.as_json(), subject), subject.requested_by)
    assert both <= approving(old.rules, subject) & approving(new.rules, subject)


@given(subjects)
def test_who_asks_does_not_approve_unless_every_rule_lets_them(subject: Subject) -> None:
    """One rule that forbids it is enough."""
    may = Rule("may", requester_may_approve=True)
    alone = (frozenset({subject.requested_by}), "token")
    assert (alone in approving((may,), subject)) is (subject.requested_by in NAMES)
    assert alone not in approving((may, Rule("may-not")), subject)
    assert alone not in approving((), subject)


@given(rules, subjects)
def test_leaving_out_what_another_demand_includes_changes_nothing(found: list[Rule], subject: Subject) -> None:
    """Whoever suffices for the demands that are kept suffices for every rule that applies."""
    policy = Policy(tuple(found), PEOPLE)
    terms = policy.asks(subject)
    one_by_one = [replace(terms, asks=(ask,)) for ask in terms.asks]
    every = [enough(policy, alone, subject.requested_by) for alone in one_by_one]
    assert enough(policy, terms, subject.requested_by) == set.intersection(*every)
