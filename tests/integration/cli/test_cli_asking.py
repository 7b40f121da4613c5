"""``ask``, ``call`` and ``recover``: what they print, and what their exit codes say."""

from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli

RUN = {"thread_id", "status", "answer", "pending", "receipts"}
APPROVAL = {
    "approval_id", "thread_id", "tool", "args", "digest", "preview", "status", "requested_by", "created_at",
    "expires_at",
}  # fmt: skip


def test_a_question_is_answered(home: Path, cli: Cli) -> None:
    """A read needs nobody: exit 0, and the answer on stdout."""
    done = cli("ask", "What is in order 11074?")
    assert done.code == 0
    assert "SO19980506-11074" in done.out
    assert done.err == ""


def test_a_change_waits_for_a_person(home: Path, cli: Cli) -> None:
    """Exit 3, and JSON of the documented shape with the requester in it."""
    done = cli("ask", "Cancel order 11074, ordered by mistake", "--as", "nancy", "--json")
    assert done.code == 3
    run = done.json()
    assert run.keys() >= RUN
    assert run["status"] == "pending"
    assert run["receipts"] == []
    approval = run["pending"][0]
    assert approval.keys() >= APPROVAL
    assert (approval["tool"], approval["requested_by"], approval["status"]) == ("cancel_order", "nancy", "pending")
    assert approval["preview"]["digest"] == approval["digest"]


def test_a_change_that_waits_is_told_with_its_next_commands(home: Path, cli: Cli) -> None:
    """A person sees what would be done, and which commands look and decide."""
    said = cli("ask", "Cancel order 11074, ordered by mistake").out
    assert "Cancel order SO19980506-11074" in said
    assert "countersign show apr_" in said
    assert "countersign approve apr_" in said


def test_an_unknown_order_is_refused_and_nobody_is_asked(home: Path, cli: Cli) -> None:
    """What cannot be done is not put to anyone: exit 4, and the number as it was typed."""
    done = cli("ask", "Cancel order 99999")
    assert done.code == 4
    assert "99999" in done.out
    assert cli("pending", "--json").json() == []


def test_a_conversation_goes_on(home: Path, cli: Cli) -> None:
    """``--thread`` continues the same thread."""
    thread = cli("ask", "What is in order 11074?", "--json").json()["thread_id"]
    assert cli("ask", "How much of NW-011 is in stock?", "--thread", thread, "--json").json()["thread_id"] == thread


@pytest.mark.parametrize("words", [("ask", "hello"), ("call", "get_order", "--args", '{"order_id": "11074"}')])
def test_an_unknown_thread_is_refused(home: Path, cli: Cli, words: tuple[str, ...]) -> None:
    """A mistyped id does not quietly begin a new conversation."""
    done = cli(*words, "--thread", "no-such-thread", "--json")
    assert done.code == 1
    assert done.json()["error"]["code"] == "unknown_thread"
    assert "no-such-thread" in done.json()["error"]["message"]


@pytest.mark.guarantee("A6")
def test_a_new_message_while_one_waits_is_refused_or_supersedes_it(home: Path, cli: Cli) -> None:
    """Exit 3 with what waits, and the option that withdraws it; with that it is superseded."""
    first = cli("ask", "Cancel order 11074", "--json").json()
    refused = cli("ask", "What is in order 11073?", "--thread", first["thread_id"], "--json")
    assert refused.code == 3
    assert refused.json()["error"]["code"] == "approval_pending"
    assert refused.json()["pending"][0]["approval_id"] == first["pending"][0]["approval_id"]
    text = cli("ask", "What is in order 11073?", "--thread", first["thread_id"])
    assert "--supersede" in text.err
    assert first["pending"][0]["approval_id"] in text.err
    taken = cli("ask", "What is in order 11073?", "--thread", first["thread_id"], "--supersede", "--json")
    assert taken.code == 0
    assert cli("show", first["pending"][0]["approval_id"], "--json").json()["status"] == "superseded"


def test_an_empty_message_is_wrong_usage(home: Path, cli: Cli) -> None:
    """There is nothing to do."""
    done = cli("ask", "  ")
    assert done.code == 2
    assert "empty" in done.err


def test_a_called_read_prints_its_result(home: Path, cli: Cli) -> None:
    """As JSON in both forms; ``--json`` wraps it in the run."""
    words = ("call", "get_stock", "--args", '{"sku": "NW-011"}')
    assert '"sku": "NW-011"' in cli(*words).out
    assert cli(*words, "--json").json()["result"]["sku"] == "NW-011"


def test_a_called_read_that_finds_nothing_is_refused(home: Path, cli: Cli) -> None:
    """One line and a hint on stderr, exit 4."""
    done = cli("call", "get_order", "--args", '{"order_id": "nope"}')
    assert (done.code, done.out) == (4, "")
    assert "'nope'" in done.err
    assert "hint: " in done.err
    assert cli("call", "get_order", "--args", '{"order_id": "nope"}', "--json").json()["result"]["error"]["code"] == (
        "order_not_found"
    )


def test_a_called_write_waits_like_any_other(home: Path, cli: Cli) -> None:
    """No model is needed, but a person is."""
    done = cli("call", "cancel_order", "--args", '{"order_id": "11074", "reason": "by mistake"}', "--json")
    assert done.code == 3
    assert done.json()["pending"][0]["tool"] == "cancel_order"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"order_id":', "line 1, column 13"),
        ("", "line 1, column 1"),
        ("[1]", "object"),
        ('"x"', "object"),
        ("null", "object"),
        ('{"delta": NaN}', "NaN"),
        ('{"a": 1, "a": 2}', "twice"),
        ("[" * 100_000, "nested"),
    ],
)
def test_malformed_json_is_one_line_with_its_place(home: Path, cli: Cli, text: str, says: str) -> None:
    """Exit 2; nothing is called."""
    done = cli("call", "get_order", "--args", text)
    assert done.code == 2
    assert says in done.err
    assert len(done.err.strip().splitlines()) == 2
    assert cli("call", "get_order", "--args", text, "--json").json()["error"]["code"] == "bad_json"


@pytest.mark.parametrize("text", ['{"sku": "NW-011", "delta": 1e400, "reason": "x"}', '{"delta": true}', "{}"])
def test_arguments_that_the_tool_does_not_take_are_refused(home: Path, cli: Cli, text: str) -> None:
    """Exit 4, with the tool's own words; nobody is asked."""
    done = cli("call", "adjust_stock", "--args", text)
    assert done.code == 4
    assert done.err.startswith("error: ")
    assert cli("pending", "--json").json() == []


def test_an_unknown_tool_names_those_that_there_are(home: Path, cli: Cli) -> None:
    """Exit 2."""
    done = cli("call", "drop_tables")
    assert done.code == 2
    assert "drop_tables" in done.err
    assert "cancel_order" in done.err


def test_recover_with_nothing_to_do_says_so(home: Path, cli: Cli) -> None:
    """It is safe at any time."""
    assert cli("recover").out == "Nothing was left in the middle.\n"
    assert cli("recover", "--json").json() == []
