"""Conditions: exact about money, typed when they are loaded, and on the safe side where they have no answer."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.policy import Day, Policy, Rule, Subject
from graph.policy.conditions import Condition, ConditionError

Json = dict[str, Any]


def preview(*money: tuple[str, str], reversibility: str = "reversible") -> Json:
    """A preview with amounts: amount and currency."""
    listed = [{"label": "total", "amount": amount, "currency": currency} for amount, currency in money]
    return {"money": listed, "reversibility": {"kind": reversibility}, "arguments": {"customer": "ALFKI"}}


def subject(*money: tuple[str, str], by: str = "nancy", day: Day | None = None, **more: str) -> Subject:
    """A create_order for these amounts."""
    return Subject.of("create_order", {}, preview(*money, **more), by, day)


def applies(when: str, asked: Subject, *, automatic: bool = False) -> bool:
    """Whether a rule with this condition applies."""
    return Rule("rule", when=Condition.compile(when), automatic=automatic).match(asked, [])[0]


@pytest.mark.parametrize(
    ("amount", "above"),
    [("5000.00", False), ("5000.01", True), ("4999.99", False), ("5000.0001", True), ("-5000.01", True), ("0", False),
     ("1000000000000000", True), ("0.00", False)],
)  # fmt: skip
@pytest.mark.parametrize("when", ["total > 5000", "5000 < total", "!(total <= 5000)"])
def test_a_limit_is_exact_to_the_smallest_coin(amount: str, above: bool, when: str) -> None:
    """One cent above the limit is above, the limit itself is not, and nothing is a float on the way."""
    assert applies(when, subject((amount, "USD"))) is above


@given(units=st.integers(0, 10**13), parts=st.integers(0, 9999), limit=st.integers(0, 10**13))
def test_both_ways_to_write_a_limit_agree_with_decimal_arithmetic(units: int, parts: int, limit: int) -> None:
    """Whole units rounded up and exact ten-thousandths say the same as Decimal does."""
    amount = Decimal(units) + Decimal(parts) / 10_000
    asked = subject((f"{amount:.4f}", "USD"))
    assert applies(f"total > {limit}", asked) is (amount > limit)
    assert applies(f'total_exact > money("{limit}")', asked) is (amount > limit)
    assert applies(f'total_exact >= money("{units}.{parts:04}")', asked)


def test_a_quadrillion_is_compared_to_the_unit() -> None:
    """A float would lose the cents of it, and then the limit."""
    assert not applies("total > 1000000000000000", subject(("1000000000000000.00", "USD")))
    assert applies("total > 1000000000000000", subject(("1000000000000000.01", "USD")))


@pytest.mark.parametrize(
    ("when", "line", "column", "said"),
    [
        ("totl > 5", 1, 1, "undeclared"),
        ("total > 5000.5", 1, 7, "never a float"),
        ("total >= 5000", 1, 1, "rounded up"),
        ("total == 5000", 1, 1, "rounded up"),
        ("total < 5000", 1, 1, "rounded up"),
        ("tool == 'x' &&\n  2 * total > 5", 2, 7, "rounded up"),
        ("total * 2 > 5", 1, 1, "rounded up"),
        ("day_total + 1 > 5", 1, 1, "rounded up"),
        ("total", 1, 1, "yes or no"),
        ("args.customer", 1, 1, "yes or no"),
        ("total >\n && 3", 2, 2, "Syntax"),
        ("total_exact > money('1e5')", 1, 21, "not an amount"),
        ("total_exact > money('1.00001')", 1, 21, "not an amount"),
        ("tool > 3", 1, 6, "overload"),
        ("", 1, 1, "Syntax|mismatched|error"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(when: str, line: int, column: int, said: str) -> None:
    """Types, names and inexact uses of money are found when the policy is loaded, not when somebody waits."""
    with pytest.raises(ConditionError, match=said) as caught:
        Condition.compile(when)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "when", ["'total >= 3' == tool || total > 3", "// total >= 3\n total > 3", "preview.total == 3"]
)
def test_words_in_texts_and_comments_are_not_taken_for_money(when: str) -> None:
    """Only the variables themselves are restricted."""
    assert Condition.compile(when)


@pytest.mark.parametrize(
    "when", ["args.nothing > 3", "args.customer > 3", "1 / 0 > 3", "money(tool) > 3", "preview.money[7].amount == '1'"]
)
def test_a_condition_without_an_answer_counts_on_the_safe_side(when: str) -> None:
    """CEL gives errors back as truthy texts: they must neither let a restriction slip nor start an automatic rule."""
    asked = subject(("1", "USD"))
    assert applies(when, asked)
    assert not applies(when, asked, automatic=True)
    _, _, (note,) = Rule("rule", when=Condition.compile(when)).match(asked, [])
    assert "rule: the condition has no answer" in note


def test_each_currency_is_measured_on_its_own() -> None:
    """Amounts of two currencies are never added or compared; a rule may name the one that it means."""
    mixed = subject(("4000.00", "USD"), ("4000.00", "EUR"), ("900000", "JPY"))
    assert not applies("currency != 'JPY' && total > 5000", mixed)
    assert applies("currency == 'JPY' && total > 5000", mixed)
    assert not applies("currency == 'USD' && total > 4000", mixed)
    assert applies("total > 5000", mixed)


def test_an_automatic_rule_has_to_fit_every_currency() -> None:
    """Small in one currency is not small in all."""
    assert applies("total <= 100", subject(("100.00", "USD")), automatic=True)
    assert not applies("total <= 100", subject(("100.00", "USD"), ("101", "EUR")), automatic=True)


def test_an_amount_that_nobody_knows_is_not_nothing() -> None:
    """A tool of another server has no preview: a limit applies to it, and no automatic rule waves it through."""
    outside = Subject.of("pay", {"amount": 10**6}, {"reversibility": {"kind": "unknown"}}, "nancy")
    assert applies("total > 5000", outside)
    assert not applies("total <= 5000", outside, automatic=True)
    assert not applies("total > 5000", subject())


def test_the_days_figures_count_this_call_as_well() -> None:
    """So a limit per day reads as it is meant: with this one the day comes to that much."""
    day = Day().plus([preview(("3000.00", "USD")), preview(("9000", "EUR"))])
    asked = subject(("2000.01", "USD"), day=day)
    assert applies("day_total > 5000 && day_count == 3", asked)
    assert not applies("day_total > 5001", asked)


def test_the_requesters_roles_are_known_by_any_of_their_names() -> None:
    """An entrance may spell the name in its own way; the roles are the same."""
    from graph.policy import parse_policy

    policy = parse_policy(
        '[people.nancy]\nroles = ["sales"]\nlogins = ["nancy@example.com"]\n[people.andrew]\n'
        '[[rules]]\nname = "look"\nwhen = \'"sales" in requester_roles\'\nautomatic = true\n'
    )
    for name in ("nancy", " Nancy ", "NANCY@EXAMPLE.COM", "ｎａｎｃｙ"):
        assert policy.asks(subject(by=name)).automatic == "look", name
    assert policy.asks(subject(by="andrew")).automatic is None
    assert Policy().asks(subject()).automatic is None
