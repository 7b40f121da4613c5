"""``pending``, ``show`` and ``audit``: whole, plain, and true."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from checkpoints.tables import approvals
from tests.integration.cli.conftest import Cli

Ask = Callable[..., str]

HIDDEN = "[bold red]paid[/] \u202eevil\u202c :smile: \x1b[31m[link=https://x.example]x"


def test_an_empty_inbox_says_so(home: Path, cli: Cli) -> None:
    """Silence would look like a fault."""
    assert cli("pending").out == "Nothing waits for a decision.\n"
    assert cli("pending", "--json").json() == []


def test_the_inbox_lists_what_waits_oldest_first(cli: Cli, adjusted: Ask) -> None:
    """With whole ids, so that they can be copied; ``--limit`` says that more wait."""
    ids = [adjusted(delta=number) for number in (1, 2, 3)]
    listed = cli("pending")
    assert [listed.out.index(one) for one in ids] == sorted(listed.out.index(one) for one in ids)
    assert "nancy" in listed.out
    assert [one["approval_id"] for one in cli("pending", "--json").json()] == ids
    short = cli("pending", "--limit", "2")
    assert ids[2] not in short.out
    assert "More wait" in short.err


@pytest.mark.guarantee("shown-whole")
@pytest.mark.parametrize("width", ["24", "40", "80", "300"])
def test_an_approval_is_shown_whole_at_any_width(
    cli: Cli, adjusted: Ask, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    """Every fact is there, however narrow the terminal; lines are folded, never cut."""
    reason = "because the whole shelf was counted again, twice, " * 8 + "and the last word is pumpernickel"
    approval = adjusted(reason=reason)
    monkeypatch.setenv("COLUMNS", width)
    preview = cli("show", approval, "--json").json()["preview"]
    shown = "".join(cli("show", approval).out.split())
    facts = [preview["summary"], preview["digest"], preview["reversibility"]["kind"], approval, "nancy"]
    facts += [change[part] for change in preview["changes"] for part in ("target", "field", "before", "after")]
    for fact in facts:
        assert fact.replace(" ", "") in shown or _in_columns(fact, shown), fact


def _in_columns(fact: str, shown: str) -> bool:
    """Folded beside another column, a cell's letters are still all there, in their order."""
    letters = iter(shown)
    return all(letter in letters for letter in fact.replace(" ", ""))


@pytest.mark.guarantee("shown-whole")
def test_data_is_never_read_as_markup(cli: Cli, adjusted: Ask) -> None:
    """Brackets stay brackets, and what could hide is spelled out, in every command that shows it."""
    approval = adjusted(reason=HIDDEN)
    cli("reject", adjusted(reason=HIDDEN), "--by", "[red]andrew[/]", "--reason", HIDDEN)
    for words in (("show", approval), ("audit",)):
        said = "".join(cli(*words).out.split())
        assert "[boldred]paid[/]" in said
        assert "⟨U+202E⟩" in said
        assert "⟨U+001B⟩" in said
        assert ":smile:" in said
        assert not {"\u202e", "\x1b"} & set(said)


def test_show_tells_who_asked_in_which_words(home: Path, cli: Cli) -> None:
    """The requester's words stand beside what would be done."""
    run = cli("ask", "Cancel order 11074, ordered by mistake", "--as", "nancy", "--json").json()
    approval = run["pending"][0]["approval_id"]
    said = cli("show", approval).out
    for part in ("nancy", "Cancel order 11074, ordered by mistake", "pending", "Simons bistro", "232.09", "expires"):
        assert part in said
    assert cli("show", approval, "--json").json()["request"] == "Cancel order 11074, ordered by mistake"


@pytest.mark.guarantee("accountable")
def test_the_audit_tells_the_whole_story(home: Path, cli: Cli) -> None:
    """Who asked, in which words, who approved and how surely, what they saw, what was done."""
    run = cli("ask", "Cancel order 11074, ordered by mistake", "--as", "nancy", "--json").json()
    approval = run["pending"][0]["approval_id"]
    assert cli("audit").out == "Nothing was decided or done yet.\n"
    receipt = cli("approve", approval, "--by", "andrew", "--json").json()["receipts"][0]
    said = cli("audit").out
    for part in ("nancy", "ordered by mistake", "andrew", "by their word", "confirmed → cancelled", "released"):
        assert part in said
    (entry,) = cli("audit", "--json").json()
    assert (entry["requested_by"], entry["decided_by"], entry["assurance"]) == ("nancy", "andrew", "asserted")
    assert entry["request"] == "Cancel order 11074, ordered by mistake"
    assert entry["preview"] == run["pending"][0]["preview"]
    assert entry["receipt"]["result"] == receipt["result"]
    assert entry["executed_at"]
    assert entry["note"] == ""


@pytest.mark.parametrize("number", ["11074", "SO19980506-11074", "so19980506-11074 "])
def test_the_audit_finds_an_order_by_any_form_of_its_number(home: Path, cli: Cli, number: str) -> None:
    """What was done to it and what was refused about it; other orders stay out."""
    for order, word in (("11074", "reject"), ("11073", "approve"), ("11074", "approve")):
        run = cli("ask", f"Cancel order {order}", "--json").json()
        cli(word, run["pending"][0]["approval_id"], "--by", "andrew")
    entries = cli("audit", "--order", number, "--json").json()
    assert [entry["status"] for entry in entries] == ["rejected", "executed"]


def test_a_new_order_is_found_by_the_number_that_it_got(home: Path, cli: Cli) -> None:
    """It had none when it was approved; its receipt has."""
    arguments = json.dumps({"customer": "ALFKI", "lines": [{"sku": "NW-011", "quantity": 1}]})
    run = cli("call", "create_order", "--args", arguments, "--json").json()
    approval = run["pending"][0]["approval_id"]
    number = cli("approve", approval, "--by", "andrew", "--json").json()["receipts"][0]["result"]["order_id"]
    assert [entry["approval_id"] for entry in cli("audit", "--order", number, "--json").json()] == [approval]


def test_an_unknown_order_is_named(home: Path, cli: Cli) -> None:
    """An empty audit would mean that nothing happened to it."""
    done = cli("audit", "--order", "99999")
    assert done.code == 1
    assert "99999" in done.err


def test_the_audit_can_begin_at_a_day(cli: Cli, adjusted: Ask) -> None:
    """What happened before it stays out."""
    cli("reject", adjusted(), "--by", "andrew")
    assert len(cli("audit", "--since", "2020-01-01", "--json").json()) == 1
    assert cli("audit", "--since", "2999-01-01", "--json").json() == []


@pytest.mark.parametrize("day", ["yesterday", "2026-02-30", "", "20:15", "31.01.2026"])
def test_a_day_that_is_none_is_wrong_usage(home: Path, cli: Cli, day: str) -> None:
    """Exit 2, with the form to write it in."""
    done = cli("audit", "--since", day)
    assert done.code == 2
    assert "YYYY-MM-DD" in done.err


def _in_ledger(home: Path, **values: object) -> None:
    engine = sa.create_engine(f"sqlite:///{home / 'checkpoints.db'}")
    with engine.begin() as connection:
        connection.execute(sa.update(approvals).values(**values))
    engine.dispose()


@pytest.mark.guarantee("accountable")
def test_what_the_erp_did_but_the_ledger_did_not_record_is_told(home: Path, cli: Cli, adjusted: Ask) -> None:
    """As after a crash between the effect and its record; ``recover`` then records it, and does nothing twice."""
    approval = adjusted()
    receipt = cli("approve", approval, "--by", "andrew", "--json").json()["receipts"][0]
    _in_ledger(home, status="approved", outcome=None, settled_at=None)
    (entry,) = cli("audit", "--json").json()
    assert entry["receipt"]["result"] == receipt["result"]
    assert "countersign recover" in entry["note"]
    assert "not yet recorded" in cli("audit").out.replace("\n", " ")
    assert cli("recover").code == 0
    (entry,) = cli("audit", "--json").json()
    assert (entry["status"], entry["note"]) == ("executed", "")


@pytest.mark.guarantee("accountable")
@pytest.mark.parametrize("forged", [{"status": "rejected"}, {"decided_by": "mallory"}, {"digest": "0" * 64}])
def test_a_ledger_that_does_not_agree_with_the_erp_is_called_out(
    home: Path, cli: Cli, adjusted: Ask, forged: dict[str, str]
) -> None:
    """The two records are kept apart, so that one cannot be altered alone without a trace."""
    cli("approve", adjusted(), "--by", "andrew")
    _in_ledger(home, **forged)
    assert "WARNING" in cli("audit", "--json").json()[0]["note"]


def test_an_effect_that_the_ledger_does_not_know_is_called_out(home: Path, cli: Cli, adjusted: Ask) -> None:
    """Somebody with the key signed past the ledger, or the ledger was replaced."""
    approval = adjusted()
    cli("approve", approval, "--by", "andrew")
    _in_ledger(home, id="apr_another")
    entries = {entry["approval_id"]: entry for entry in cli("audit", "--json").json()}
    assert "WARNING" in entries[approval]["note"]
    assert entries[approval]["status"] == "unknown"
    assert "WARNING" in entries["apr_another"]["note"]
    assert cli("audit").code == 0
