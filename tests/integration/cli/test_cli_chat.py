"""``chat``: approvals are decided inline, and a piped conversation works like a typed one."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli, Done

Talk = Callable[..., Done]


@pytest.fixture
def talk(home: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """Holds a conversation over a pipe: each line is one answer, and then the input ends."""

    def run(*lines: str, words: tuple[str, ...] = ()) -> Done:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return cli("chat", *words)

    return run


def test_an_approval_is_shown_and_decided_inline(talk: Talk, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole preview, who decides, and the outcome."""
    monkeypatch.setenv("COUNTERSIGN_APPROVER", "andrew")
    done = talk("Cancel order 11074, ordered by mistake", "y", words=("--as", "nancy"))
    assert done.code == 0
    for part in ("decided as andrew", "confirmed  →  cancelled", "andrew, approve this?", "executed: "):
        assert part in done.out
    (entry,) = cli("audit", "--json").json()
    assert (entry["requested_by"], entry["decided_by"]) == ("nancy", "andrew")


def test_no_rejects_with_a_reason(talk: Talk, cli: Cli) -> None:
    """The reason is kept."""
    talk("Cancel order 11074", "n", "the wrong one")
    (entry,) = cli("audit", "--json").json()
    assert (entry["status"], entry["reason"]) == ("rejected", "the wrong one")


def test_an_edit_is_asked_again_inline(talk: Talk, cli: Cli) -> None:
    """Malformed JSON is said and asked again; the fresh preview is put to the approver in its turn."""
    done = talk(
        "Add 5 to the stock of NW-011, recount", "e", "{", "e", '{"sku": "NW-011", "delta": 7, "reason": "r"}', "y"
    )  # fmt: skip
    assert "not JSON" in done.err
    assert "Changed since you looked" in done.out
    assert "executed: " in done.out
    executed = [entry for entry in cli("audit", "--json").json() if entry["status"] == "executed"]
    assert [entry["args"]["delta"] for entry in executed] == [7]


def test_later_leaves_it_waiting(talk: Talk, cli: Cli) -> None:
    """A new message is not taken until it is decided or withdrawn on request."""
    done = talk("Cancel order 11074", "l", "What is in order 11073?", "n", "What is in order 11073?", "y")
    assert "It waits: countersign approve apr_" in done.out
    assert "waits for a decision" in done.err
    assert done.out.count("Order SO19980505-11073") == 1
    assert cli("pending", "--json").json() == []


def test_the_input_may_end_anywhere(talk: Talk, cli: Cli) -> None:
    """At the first prompt, or while an approval is put: it waits, and the thread to go on with is named."""
    assert talk().code == 0
    done = talk("Cancel order 11074")
    assert done.code == 0
    assert "countersign chat --thread" in done.out
    assert len(cli("pending", "--json").json()) == 1


def test_a_conversation_goes_on_where_it_waits(talk: Talk, cli: Cli) -> None:
    """``--thread`` first puts what waits there; an unknown one is refused."""
    thread = cli("ask", "Cancel order 11074", "--json").json()["thread_id"]
    assert "executed: " in talk("y", words=("--thread", thread)).out
    refused = talk("hello", words=("--thread", "no-such-thread"))
    assert refused.code == 1
    assert "no-such-thread" in refused.err


def test_nonsense_at_the_prompt_is_asked_again(talk: Talk, cli: Cli) -> None:
    """Only a clear yes approves."""
    done = talk("Cancel order 11074", "maybe", "", "yess", "n", "")
    assert done.out.count("approve this?") == 4
    assert [entry["status"] for entry in cli("audit", "--json").json()] == ["rejected"]
