"""The policy's commands: check, show, diff, and the inbox of one person."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import graph.policy
from tests.integration.cli.conftest import Cli

PEOPLE = '[people.andrew]\nroles = ["manager"]\n[people.steven]\n[people.nancy]\n'
MANAGERS = '[[rules]]\nname = "managers"\napprovers = ["manager"]\n'


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A policy in force."""
    file = tmp_path / "policy.toml"
    file.write_text(PEOPLE + MANAGERS)
    monkeypatch.setenv("COUNTERSIGN_POLICY", str(file))
    return file


def test_check_says_whether_a_file_can_be_used(cli: Cli, tmp_path: Path) -> None:
    """Exit code 0 and a summary, or 2 with line and column, as text and as JSON; it needs no database."""
    example = Path(graph.policy.__file__).with_name("policy.example.toml")
    done = cli("policy", "check", str(example))
    assert (done.code, "4 people, 5 rules" in done.out, done.err) == (0, True, "")
    bad = tmp_path / "bad.toml"
    bad.write_text(PEOPLE + MANAGERS + "count = 2\n")
    said = f"{bad}:8:1: nobody can satisfy rule managers"
    done = cli("policy", "check", str(bad))
    assert (done.code, done.out, said in done.err.replace("\n", "")) == (2, "", True)
    error = cli("policy", "check", str(bad), "--json").json()["error"]
    assert (error["code"], error["line"], error["column"]) == ("bad_policy", 8, 1)
    assert said in error["message"]
    assert cli("policy", "check", str(tmp_path / "none.toml")).code == 2


def test_check_remarks_whose_own_requests_nobody_could_approve(cli: Cli, policy: Path) -> None:
    """That is no contradiction, since others may ask as well, but its author should know."""
    done = cli("policy", "check", str(policy), "--json")
    assert (done.code, done.json()["status"]) == (0, "ok")
    assert "requests of andrew can be approved by nobody" in done.json()["remarks"][0]


def test_show_names_the_people_behind_each_rule(cli: Cli, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Roles are resolved, so that one sees who may approve."""
    done = cli("policy", "show", "--json")
    assert done.json()["people"] == {"andrew": ["manager"], "steven": [], "nancy": []}
    (rule,) = done.json()["rules"]
    assert (rule["name"], rule["people"]) == ("managers", ["andrew"])
    assert "1 of andrew; not the requester" in cli("policy", "show").out
    monkeypatch.delenv("COUNTERSIGN_POLICY")
    assert "any named person may approve" in cli("policy", "show").out


def test_an_unusable_policy_stops_every_command_that_decides(
    cli: Cli, policy: Path, adjusted: Callable[..., str]
) -> None:
    """Nothing is asked, listed for somebody or approved under it; the message says where to mend it."""
    waiting = adjusted()
    policy.write_text(PEOPLE + MANAGERS + "coutn = 2\n")
    for command in (
        ("approve", waiting, "--by", "andrew"),
        ("pending", "--for", "andrew"),
        ("policy", "show"),
        ("call", "get_stock", "--args", '{"sku": "NW-011"}'),
    ):
        done = cli(*command)
        assert (done.code, done.out) == (1, ""), command
        assert "policy.toml:8:1" in done.err.replace("\n", ""), command
        assert "Did you mean count?" in done.err, command


def test_the_inbox_of_one_person_lists_what_they_may_decide(
    cli: Cli, policy: Path, adjusted: Callable[..., str]
) -> None:
    """Under the policy of today, whatever held when it was asked."""
    waiting = adjusted()
    assert [one["approval_id"] for one in cli("pending", "--for", "Andrew", "--json").json()] == [waiting]
    assert cli("pending", "--for", "steven", "--json").json() == []
    refused = cli("approve", waiting, "--by", "steven", "--json")
    assert (refused.code, refused.json()["outcome"]) == (4, "forbidden")
    policy.write_text(PEOPLE.replace("[people.steven]", '[people.steven]\nroles = ["manager"]') + MANAGERS)
    assert [one["approval_id"] for one in cli("pending", "--for", "steven", "--json").json()] == [waiting]
    assert cli("approve", waiting, "--by", "steven").code == 0


def test_diff_tells_what_would_have_been_asked_of_whom(cli: Cli, policy: Path, adjusted: Callable[..., str]) -> None:
    """Over the approvals of the past, whatever became of them."""
    done, waiting = adjusted(), adjusted(delta=7)
    assert cli("approve", done, "--by", "andrew").code == 0
    new = policy.with_name("new.toml")
    new.write_text(
        PEOPLE
        + MANAGERS
        + '[[rules]]\nname = "busy"\nwhen = "day_count > 1"\napprovers = ["steven", "andrew"]\ncount = 2\n'
    )
    found = cli("policy", "diff", str(policy), str(new), "--json").json()
    assert found["approvals"] == 2
    (changed,) = found["changed"]
    assert (changed["approval_id"], changed["requested_by"]) == (waiting, "nancy")
    assert changed["before"]["people"] == [["andrew"]]
    assert changed["after"]["people"] == [["andrew"], ["andrew", "steven"]]
    text = cli("policy", "diff", "-", str(policy)).out
    assert "2 of 2 approvals would have been asked differently" in text
    assert "any named person" in text
    assert cli("policy", "diff", str(policy), str(policy)).out.startswith("0 of 2")
    assert cli("policy", "diff", str(policy), "none.toml").code == 2


def test_the_policys_commands_load_no_framework() -> None:
    """They are run in editors and hooks, on every save."""
    code = (
        "import sys; from graph.cli import main; import graph.cli.policy;"
        "main(['policy', 'check', sys.argv[1]]);"
        "print([name for name in ('langgraph', 'fastmcp', 'langchain_core', 'mcp') if name in sys.modules])"
    )
    example = str(Path(graph.policy.__file__).with_name("policy.example.toml"))
    done = subprocess.run([sys.executable, "-c", code, example], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
