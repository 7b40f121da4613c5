"""``approve``, ``reject`` and ``edit``: each answers with a typed outcome and the exit code that belongs to it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli

Ask = Callable[..., str]


def _on_hand(cli: Cli, sku: str = "NW-011") -> int:
    return int(cli("call", "get_stock", "--args", f'{{"sku": "{sku}"}}', "--json").json()["result"]["on_hand"])


@pytest.mark.guarantee("never-silent", "once")
def test_approving_executes_once_and_says_so(cli: Cli, adjusted: Ask) -> None:
    """Exit 0 with the receipt; a second approval gets the same receipt and changes nothing."""
    approval, before = adjusted(), _on_hand(cli)
    first = cli("approve", approval, "--by", "andrew", "--json")
    assert (first.code, first.json()["outcome"]) == (0, "executed")
    again = cli("approve", approval, "--by", "steven", "--json")
    assert (again.code, again.json()["outcome"]) == (0, "already_executed")
    assert again.json()["receipts"] == first.json()["receipts"]
    receipt = first.json()["receipts"][0]
    assert receipt.keys() >= {"approval_id", "tool", "status", "result"}
    assert _on_hand(cli) == before + 5


def test_the_outcome_is_told_in_words(cli: Cli, adjusted: Ask) -> None:
    """Outcome, receipt and answer on stdout."""
    said = cli("approve", adjusted(), "--by", "andrew").out
    assert said.startswith("executed: ")
    assert "Receipt apr_" in said


def test_an_approval_can_be_named_by_its_beginning(cli: Cli, adjusted: Ask) -> None:
    """With or without ``apr_``, as long as it is the only one."""
    approval = adjusted()
    assert cli("show", approval[:10], "--json").json()["approval_id"] == approval
    assert cli("show", approval[4:12], "--json").json()["approval_id"] == approval
    assert cli("approve", approval[:12], "--by", "andrew").code == 0


@pytest.mark.guarantee("first-decision-wins")
def test_rejecting_does_nothing_and_stands(cli: Cli, adjusted: Ask) -> None:
    """Exit 0 for the one that counts; who comes later is told who was first, with exit 4."""
    approval, before = adjusted(), _on_hand(cli)
    done = cli("reject", approval, "--by", "andrew", "--reason", "count again", "--json")
    assert (done.code, done.json()["outcome"]) == (0, "rejected")
    for words in (("approve",), ("reject",), ("edit", "--args", "{}")):
        late = cli(words[0], approval, "--by", "steven", *words[1:], "--json")
        assert (late.code, late.json()["outcome"]) == (4, "already_decided")
        assert "andrew" in late.json()["note"]
    assert _on_hand(cli) == before


def test_rejecting_what_was_done_does_not_count(cli: Cli, adjusted: Ask) -> None:
    """Exit 4: it was done."""
    approval = adjusted()
    cli("approve", approval, "--by", "andrew")
    late = cli("reject", approval, "--by", "steven", "--json")
    assert (late.code, late.json()["outcome"]) == (4, "already_decided")


@pytest.mark.guarantee("edit-asks-again")
def test_an_edit_asks_again(cli: Cli, adjusted: Ask) -> None:
    """Exit 3: the fresh preview waits with the difference, and approving it does what it shows."""
    approval, before = adjusted(), _on_hand(cli)
    changed = '{"sku": "NW-011", "delta": 7, "reason": "recount"}'
    done = cli("edit", approval, "--by", "andrew", "--args", changed, "--json")
    assert done.code == 3
    fresh = done.json()["pending"][0]
    assert fresh["supersedes"] == approval
    assert any("5 → 7" in line for line in cli("show", fresh["approval_id"], "--json").json()["difference"])
    assert cli("approve", approval, "--by", "andrew", "--json").json()["outcome"] == "superseded"
    assert cli("edit", approval, "--by", "andrew", "--args", changed).code == 4
    assert _on_hand(cli) == before
    assert fresh["difference"] == cli("pending", "--json").json()[0]["difference"]
    assert cli("approve", fresh["approval_id"], "--by", "andrew").code == 0
    assert _on_hand(cli) == before + 7


def test_whoever_types_a_login_has_decided_under_their_name(
    cli: Cli, adjusted: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger has the person, and the exit code is that of a decision that counts."""
    policy = tmp_path / "policy.toml"
    policy.write_text('[people.andrew]\nlogins = ["andrew@example.com"]\n')
    monkeypatch.setenv("COUNTERSIGN_POLICY", str(policy))
    changed = '{"sku": "NW-011", "delta": 7, "reason": "recount"}'
    done = cli("edit", adjusted(), "--by", "andrew@example.com", "--args", changed, "--json")
    assert (done.code, done.json()["outcome"]) == (3, "superseded")
    refused = cli("reject", done.json()["pending"][0]["approval_id"], "--by", "andrew@example.com", "--json")
    assert (refused.code, refused.json()["outcome"]) == (0, "rejected")


@pytest.mark.parametrize(
    "changed", ['{"sku": "NW-011", "delta": "x", "reason": "r"}', '{"sku": "NO", "delta": 1, "reason": "r"}']
)
def test_an_edit_that_cannot_be_planned_is_refused_and_the_approval_waits(
    cli: Cli, adjusted: Ask, changed: str
) -> None:
    """Exit 4 with the reason; the good decision still works."""
    approval = adjusted()
    done = cli("edit", approval, "--by", "andrew", "--args", changed, "--json")
    assert (done.code, done.json()["outcome"]) == (4, "invalid")
    assert cli("approve", approval, "--by", "andrew").code == 0


@pytest.mark.guarantee("stale-asks-again")
def test_a_stale_approval_asks_again_with_the_difference(cli: Cli, adjusted: Ask) -> None:
    """Exit 4, nothing done; a fresh preview waits, and approving that executes."""
    approval, before = adjusted(delta=5), _on_hand(cli)
    assert cli("approve", adjusted(delta=-3), "--by", "steven").code == 0
    done = cli("approve", approval, "--by", "andrew", "--json")
    assert (done.code, done.json()["outcome"]) == (4, "stale")
    fresh = done.json()["pending"][0]["approval_id"]
    assert fresh in done.json()["note"]
    shown = cli("show", fresh).out
    assert "Changed since you looked" in shown
    assert f"{before} → {before - 3}" in shown
    assert _on_hand(cli) == before - 3
    assert cli("approve", fresh, "--by", "andrew").code == 0
    assert _on_hand(cli) == before + 2


@pytest.mark.guarantee("what-you-saw")
def test_a_digest_from_the_screen_binds_the_decision(cli: Cli, adjusted: Ask) -> None:
    """Another digest than the one on record decides nothing."""
    approval, before = adjusted(), _on_hand(cli)
    digest = cli("show", approval, "--json").json()["digest"]
    done = cli("approve", approval, "--by", "andrew", "--digest", "0" * 64, "--json")
    assert (done.code, done.json()["outcome"]) == (4, "superseded")
    assert _on_hand(cli) == before
    assert cli("approve", approval, "--by", "andrew", "--digest", digest).code == 0


@pytest.mark.parametrize(
    "words", [("approve", "--by", "a"), ("reject", "--by", "a"), ("edit", "--by", "a", "--args", "{}"), ("show",)]
)
def test_an_unknown_approval_is_a_typed_outcome(home: Path, cli: Cli, words: tuple[str, ...]) -> None:
    """Exit 4, named as it was typed, with the command that lists what there is."""
    done = cli(words[0], "apr_ffffffffffff", *words[1:])
    assert done.code == 4
    assert "apr_ffffffffffff" in done.err
    assert "countersign pending" in done.err
    assert cli(words[0], "apr_ffffffffffff", *words[1:], "--json").json()["outcome"] == "unknown"


def test_a_beginning_that_fits_several_lists_them(cli: Cli, adjusted: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 2: nobody decides the wrong one by a short id."""
    monkeypatch.setattr("graph.cli.arguments.SHORTEST", 0)
    ids = [adjusted(delta=number) for number in (1, 2)]
    done = cli("approve", "apr_", "--by", "andrew")
    assert done.code == 2
    assert all(one in done.err for one in ids)


@pytest.mark.parametrize("typed", ["apr_12345", "1", "", "%"])
def test_an_id_that_is_too_short_names_nothing(home: Path, cli: Cli, typed: str) -> None:
    """Exit 2."""
    done = cli("show", typed)
    assert done.code == 2
    assert "too short" in done.err


def test_nobody_decides_without_a_name(cli: Cli, adjusted: Ask) -> None:
    """Exit 2; it still waits."""
    approval = adjusted()
    assert cli("approve", approval).code == 2
    assert cli("approve", approval, "--by", " ").code == 2
    assert cli("show", approval, "--json").json()["status"] == "pending"
