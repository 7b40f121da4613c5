"""A policy file: what it says is what holds; what is unreadable or contradictory is refused with line and column."""

import os
from pathlib import Path

import pytest

import graph.policy
from graph.policy import Policy, PolicyError, PolicySource, Subject, parse_policy, read_policy

PEOPLE = """[people.andrew]
roles = ["manager"]
[people.steven]
roles = ["stock"]
"""
RULE = '[[rules]]\nname = "r"\n'


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("people = [", "1:11", "not TOML"),
        (f"{PEOPLE}[[rules]\n", "5:", "not TOML"),
        ("", "1:1", "no people"),
        ("[people]\n", "1:1", "no people"),
        (f"{PEOPLE}[[rule]]\n", "5:1", "there is no key 'rule' at the top"),
        (f'{PEOPLE}{RULE}aprovers = ["manager"]\n', "7:1", "there is no key 'aprovers'"),
        (f'{PEOPLE}[people.x]\n# c\n  role = ["manager"]\n', "7:3", "there is no key 'role'"),
        (f'{PEOPLE}{RULE}approvers = ["manger"]\n', "7:1", "'manger' is neither a person nor a role"),
        (f"{PEOPLE}{RULE}approvers = []\n", "7:1", "nobody could sign"),
        (f'{PEOPLE}{RULE}approvers = "manager"\n', "7:1", "not a list"),
        (f"{PEOPLE}{RULE}tools = []\n", "7:1", "never applies"),
        (f"{PEOPLE}{RULE}count = 0\n", "7:1", "count is 0"),
        (f"{PEOPLE}{RULE}count = true\n", "7:1", "not a whole number"),
        (f"{PEOPLE}{RULE}count = 1.0\n", "7:1", "not a whole number"),
        (f'{PEOPLE}{RULE}assurance = "tokn"\n', "7:1", "no assurance"),
        (f'{PEOPLE}{RULE}assurance = "policy"\n', "7:1", "no assurance"),
        (f'{PEOPLE}{RULE}expires = "72"\n', "7:1", "not a duration"),
        (f'{PEOPLE}{RULE}expires = "0h"\n', "7:1", "not a duration"),
        (f'{PEOPLE}{RULE}expires = "9999999d"\n', "7:1", "not a duration"),
        (f"{PEOPLE}[[rules]]\ncount = 1\n", "5:1", "has no name"),
        (f'{PEOPLE}[[rules]]\nname = "default"\n', "6:1", "cannot be named"),
        (f"{PEOPLE}{RULE}\n{RULE}", "9:1", "two rules named 'r'"),
        (f"{PEOPLE}{RULE}when = 'totl > 5'\n", "7:9", "undeclared"),
        (f'{PEOPLE}{RULE}when  =  "tool == \\"x\\" && totl > 5"\n', "7:28", "undeclared"),
        (f'{PEOPLE}{RULE}when = """\n  total > 5\n  && totl > 5\n"""\n', "9:6", "undeclared"),
        (f"{PEOPLE}{RULE}when = true\n", "7:1", "not a condition"),
        (f"{PEOPLE}{RULE}automatic = true\ncount = 2\n", "8:1", "automatic and has count"),
        (f'{PEOPLE}{RULE}automatic = true\nexpires = "1h"\n', "8:1", "automatic and has expires"),
        (f'{PEOPLE}[people.manager]\nroles = ["x"]\n', "5:1", "a person and a role"),
        (f'{PEOPLE}[people.x]\nlogins = ["Andrew"]\n', "", "means"),
        (f'{PEOPLE}[people."policy:r"]\n', "5:1", "cannot be a person's name"),
        (f'{PEOPLE}[people.x]\nroles = ["a", 3]\n', "6:1", "not a list of names"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line_and_column(text: str, place: str, said: str) -> None:
    """A typo must not become a rule that never holds; the message leads to the place to mend."""
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, "p.toml")
    assert str(caught.value).startswith(f"p.toml:{place}"), str(caught.value)
    assert said in str(caught.value)
    assert caught.value.hint


@pytest.mark.guarantee("B4")
@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ('approvers = ["manager"]\ncount = 2', 8),
        ("count = 3", 7),
        ('approvers = ["andrew", "manager"]\ncount = 2', 8),
        ('approvers = ["andrew"]\nwhen = \'requested_by == "andrew" && total > 5\'', 7),
        ('approvers = ["manager"]\nwhen = \'"manager" in requester_roles\'', 7),
        ("count = 2\nwhen = 'requested_by == \"andrew\"'", 7),
    ],
)
def test_a_rule_that_nobody_can_satisfy_is_refused_by_name(rule: str, line: int) -> None:
    """Four eyes with one person, more people than there are, and approvers who could only ever approve their own."""
    with pytest.raises(PolicyError, match=rf":{line}:1: nobody can satisfy rule four-eyes:"):
        parse_policy(f'{PEOPLE}[[rules]]\nname = "four-eyes"\n{rule}\n')


@pytest.mark.parametrize(
    "rule",
    [
        "count = 2",
        'approvers = ["manager"]\nwhen = \'requested_by != "andrew"\'',
        'approvers = ["manager"]\nwhen = \'requested_by == "andrew" || total > 5\'',
        'approvers = ["manager"]\nwhen = \'requested_by == "andrew"\'\nrequester_may_approve = true',
        'approvers = ["manager"]\nwhen = \'requested_by == "robot"\'',
    ],
)
def test_a_rule_that_somebody_can_satisfy_is_taken(rule: str) -> None:
    """The search for contradictions refuses nothing that can work."""
    assert parse_policy(f"{PEOPLE}{RULE}{rule}\n").rules


def test_an_automatic_rule_that_a_person_always_overrules_is_refused() -> None:
    """It would never count, and its author believes that it does."""
    text = f'{PEOPLE}[[rules]]\nname = "all"\n[[rules]]\nname = "auto"\ntools = ["adjust_stock"]\nautomatic = true\n'
    with pytest.raises(PolicyError, match=r":10:1: rule auto never counts: rule all always asks a person"):
        parse_policy(text)
    assert parse_policy(text.replace('"all"', '"all"\nwhen = "total > 5"')).rules


def test_places_are_found_behind_everything_that_looks_like_a_key() -> None:
    """Texts over several lines, comments, nested lists and inline tables do not shift a line."""
    text = (
        '# [[rules]]\npeople.andrew = { roles = [\n  "manager", # x = 1\n  "a]"\n] }\n'
        "[[rules]]\nname = '''[[rules]]\nname'''\nwhen = \"\"\"tool != '[x]' // \\\"\n\"\"\"\n"
        "[[rules]]\nname='b'\ncont = 1\n"
    )
    with pytest.raises(PolicyError, match=r"p:13:1: there is no key 'cont'"):
        parse_policy(text, "p")


def test_the_shipped_example_can_be_used() -> None:
    """It is what people begin with."""
    policy = read_policy(Path(graph.policy.__file__).with_name("policy.example.toml"))
    assert [rule.name for rule in policy.rules if rule.automatic] == ["sales-may-look"]
    balance = Subject.of("check_balance", {}, {"reversibility": {"kind": "irreversible"}}, "margaret")
    assert policy.asks(balance).automatic == "sales-may-look"


def test_a_file_that_is_missing_or_not_text_says_so(tmp_path: Path) -> None:
    """No policy at all is not the same as any policy."""
    with pytest.raises(PolicyError, match="cannot be read"):
        PolicySource(tmp_path / "none.toml")
    (tmp_path / "p.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(PolicyError, match="not UTF-8"):
        PolicySource(tmp_path / "p.toml")


def test_a_changed_file_counts_from_the_next_look_on(tmp_path: Path) -> None:
    """A broken one leaves no policy in force: the one from before may name people whose right was taken away."""
    file = tmp_path / "p.toml"
    file.write_text(PEOPLE)
    source = PolicySource(file)
    assert source.current() is source.current()
    file.write_text("[people.andrew]\n")
    os.utime(file, ns=(1, 1))
    assert set(source.current().people or {}) == {"andrew"}
    file.write_text("nonsense")
    for _ in range(2):
        with pytest.raises(PolicyError):
            source.current()
    file.write_text(PEOPLE)
    assert set(source.current().people or {}) == {"andrew", "steven"}
    assert PolicySource().current() == Policy()
