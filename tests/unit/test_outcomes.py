"""Resuming always says what came of it, and the outcome that a person has to hear of first names the whole."""

from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.records import ApprovalRow, Status
from graph.desk import Decided
from graph.outcomes import after_run, whole_outcome
from graph.run import Outcome

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def row(name: str = "apr_1", status: Status = "executed", supersedes: str | None = None) -> ApprovalRow:
    """An approval of message ``m``."""
    return ApprovalRow(
        thread_id="t", message_id="m", call_id="c", call="k", tool="adjust_stock", proposed={}, arguments={},
        preview={}, digest="d", policy={}, requested_by="nancy", request="words", expires_at=NOW, id=name, round=1,
        status=status, created_at=NOW, decided_by="andrew", assurance="asserted", decided_at=NOW, reason=None,
        settled_at=NOW, outcome=None, supersedes=supersedes,
    )  # fmt: skip


@pytest.mark.guarantee("never-silent")
@given(st.lists(st.sampled_from(get_args(Outcome)), min_size=1))
def test_an_answer_always_has_an_outcome(outcomes: list[Outcome]) -> None:
    """One of those of its decisions, whichever they are."""
    assert whole_outcome([Decided(str(place), one, "") for place, one in enumerate(outcomes)]) in outcomes


def test_without_a_decision_there_is_none() -> None:
    """Looking at a thread decides nothing."""
    assert whole_outcome([]) is None


@pytest.mark.parametrize(
    ("outcomes", "whole"),
    [
        (["executed", "rejected"], "executed"),
        (["executed", "stale"], "stale"),
        (["rejected", "recorded"], "recorded"),
        (["executed", "forbidden"], "forbidden"),
        (["executed", "failed"], "failed"),
    ],
)
def test_the_worst_news_names_the_whole(outcomes: list[Outcome], whole: Outcome) -> None:
    """Whatever keeps something from being done comes before what was done."""
    assert whole_outcome([Decided(str(place), one, "") for place, one in enumerate(outcomes)]) == whole


@pytest.mark.parametrize(
    ("status", "repeated", "outcome"),
    [
        ("executed", False, "executed"),
        ("executed", True, "already_executed"),
        ("stale", False, "stale"),
        ("failed", False, "failed"),
        ("approved", False, "recorded"),
    ],
)
def test_what_the_books_say_afterwards_is_the_outcome(status: Status, *, repeated: bool, outcome: Outcome) -> None:
    """Not what was hoped when the decision was recorded."""
    decided = Decided("apr_1", "recorded", "Approved.", row(), recorded=not repeated)
    told = after_run(decided, {"apr_1": row(status=status)}, repeated)
    assert told.outcome == outcome
    assert told.note


def test_a_stale_one_names_the_fresh_preview() -> None:
    """So that the person can look at it and decide that."""
    rows = {"apr_1": row(status="stale"), "apr_2": row("apr_2", "pending", supersedes="apr_1")}
    assert "apr_2" in after_run(Decided("apr_1", "recorded", "", row(), recorded=True), rows, repeated=False).note


def test_a_decision_waits_for_the_others_of_its_message() -> None:
    """Recorded, with how many are still open."""
    rows = {"apr_1": row(status="approved"), "apr_2": row("apr_2", "pending")}
    told = after_run(Decided("apr_1", "recorded", "", row(), recorded=True), rows, repeated=False)
    assert told.outcome == "recorded"
    assert "1 of the same message" in told.note


@pytest.mark.parametrize(
    "outcome", ["unknown", "wrong_thread", "already_decided", "forbidden", "invalid", "superseded"]
)
def test_what_did_not_count_stays_what_it_was(outcome: Outcome) -> None:
    """Whatever became of the approval by other hands."""
    decided = Decided("apr_1", outcome, "why", row())
    assert after_run(decided, {"apr_1": row(status="executed")}, repeated=False) == decided
