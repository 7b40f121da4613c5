"""Every shape in which clients answer is read into the same thing, and whatever else comes is refused with a reason."""

from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graph.decisions import ANSWER_SCHEMA, KINDS, Answer, BadAnswerError, approve, edit, read_answer, reject

REQUESTS: Final = [
    {"name": "adjust_stock", "args": {"sku": "NW-011", "delta": -1, "reason": "counted"}, "approval_id": "apr_1"},
    {"name": "cancel_order", "args": {"order_id": "1", "reason": "x"}, "approval_id": "apr_2"},
]
FIRST: Final = REQUESTS[:1]
ARGS: Final = {"sku": "NW-011", "delta": -2, "reason": "counted"}


class Seen:
    """What was on somebody's screen."""

    approval_id = "apr_1"
    digest = "d" * 64


def test_the_three_answers_carry_what_was_seen() -> None:
    """Whoever signs, signs the digest that was shown to them."""
    assert approve(Seen(), by="andrew") == Answer("apr_1", "approve", "andrew", Seen.digest)
    assert reject(Seen(), by="andrew", reason="no") == Answer("apr_1", "reject", "andrew", Seen.digest, reason="no")
    assert edit(Seen(), ARGS, by="andrew") == Answer("apr_1", "edit", "andrew", Seen.digest, ARGS)


@pytest.mark.parametrize(
    ("payload", "meant"),
    [
        ({"apr_1": {"decision": "approve", "digest": "d"}}, [Answer("apr_1", "approve", digest="d")]),
        ({"apr_2": {"decision": "reject", "reason": "no"}}, [Answer("apr_2", "reject", reason="no")]),
        ({"apr_1": {"decision": "edit", "args": ARGS}}, [Answer("apr_1", "edit", args=ARGS)]),
        ({"apr_1": {"decision": "edit", "args": ARGS, "name": "adjust_stock"}}, [Answer("apr_1", "edit", args=ARGS)]),
        (
            {"apr_2": {"decision": "approve"}, "apr_1": {"decision": "reject"}},
            [Answer("apr_2", "approve"), Answer("apr_1", "reject")],
        ),
        (
            {"decisions": [{"type": "approve"}, {"type": "reject", "message": "no"}]},
            [Answer("apr_1", "approve"), Answer("apr_2", "reject", reason="no")],
        ),
        (
            {"decisions": [{"type": "edit", "edited_action": {"name": "adjust_stock", "args": ARGS}},
                           {"type": "approve", "digest": "d"}]},
            [Answer("apr_1", "edit", args=ARGS), Answer("apr_2", "approve", digest="d")],
        ),
    ],
)  # fmt: skip
def test_ours_and_langchains_answers_are_read(payload: Any, meant: list[Answer]) -> None:
    """By approval id, or by position."""
    assert read_answer(payload, REQUESTS) == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"type": "accept", "args": None}, Answer("apr_1", "approve")),
        ({"type": "ignore", "args": None}, Answer("apr_1", "reject", reason="ignored in the inbox")),
        ({"type": "response", "args": "not now"}, Answer("apr_1", "reject", reason="not now")),
        (
            {
                "type": "edit",
                "args": {"action": "adjust_stock", "args": {"sku": "NW-011", "delta": "-2", "reason": "2"}},
            },
            Answer("apr_1", "edit", args={"sku": "NW-011", "delta": -2, "reason": "2"}),
        ),
    ],
)
def test_agent_inbox_answers_are_read(said: Any, meant: Answer) -> None:
    """A list of one, for the first request; values that it turned into text are what they were again."""
    assert read_answer([said], FIRST) == [meant]


@pytest.mark.guarantee("A8", "edit-asks-again")
@pytest.mark.parametrize(
    "payload",
    [
        {"apr_1": {"decision": "edit", "args": ARGS, "name": "cancel_order"}},
        {"apr_1": {"decision": "approve", "name": "cancel_order"}},
        {"decisions": [{"type": "edit", "edited_action": {"name": "cancel_order", "args": {}}}]},
        [{"type": "edit", "args": {"action": "cancel_order", "args": {}}}],
    ],
)
def test_no_answer_switches_tools(payload: Any) -> None:
    """In none of the shapes."""
    with pytest.raises(BadAnswerError, match="cannot switch tools"):
        read_answer(payload, FIRST)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["apr_1", "apr_2", "decision", "decisions", "type", "args", "edited_action", "name", "x"]),
            inner | st.sampled_from(["approve", "edit", "reject", "accept", "response"]),
            max_size=4,
        )
    ),
    max_leaves=8,
)


@pytest.mark.guarantee("A3")
@given(JSON)
@example([{"type": []}])
@example({"decisions": [{"type": {}}, {"type": []}]})
def test_whatever_comes_is_read_or_refused_with_a_reason(payload: Any) -> None:
    """Nothing else is raised: after LangGraph took an answer, an exception would stick to the thread."""
    try:
        assert_sound(read_answer(payload, REQUESTS))
    except BadAnswerError as error:
        reason = str(error)
    else:
        reason = "it was read"
    assert reason


def assert_sound(answers: list[Answer]) -> None:
    """One decision per approval that is asked for, with arguments only where it is an edit."""
    assert answers
    for answer in answers:
        assert answer.kind in KINDS
        assert answer.approval_id in {"apr_1", "apr_2"}
        assert answer.by == ""
        assert (answer.args is not None) == (answer.kind == "edit")
    assert len({answer.approval_id for answer in answers}) == len(answers)


@given(st.text(min_size=1))
def test_a_reason_shows_a_strange_key_without_its_hidden_characters(key: str) -> None:
    """What a client sent is quoted to the approver, so it must not be able to disguise itself."""
    payload = {"apr_1": {"decision": "approve", "z" + key: 1}}
    with pytest.raises(BadAnswerError) as refused:
        read_answer(payload, REQUESTS)
    assert str(refused.value).isprintable()


def test_the_schema_that_clients_see_names_the_three_decisions() -> None:
    """It is shown only; ``read_answer`` is what checks."""
    ours = ANSWER_SCHEMA["anyOf"][0]["additionalProperties"]
    assert ours["properties"]["decision"]["enum"] == list(KINDS)
