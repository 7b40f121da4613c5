"""The conversation's reducer is deterministic and does not depend on how writes are batched, as a delta channel needs;
open calls and the whole view hold for every history that somebody may write."""

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from graph.messages import NOT_ANSWERED, merge_messages, open_calls, whole_view

IDS = st.sampled_from(["a", "b", "c", "d"])
SOME_ID = st.none() | IDS
TEXT = st.sampled_from(["", "one", "two"])
CALL_IDS = st.sampled_from(["call_0", "call_1", "call_2"])


@st.composite
def spoken(draw: st.DrawFn) -> AIMessage:
    """A model's message, perhaps with calls whose ids other messages use too."""
    calls = [
        {"name": "get_order", "args": {}, "id": name} for name in draw(st.lists(CALL_IDS, max_size=2, unique=True))
    ]
    return AIMessage(draw(TEXT), id=draw(SOME_ID), tool_calls=calls)


MESSAGES: st.SearchStrategy[Any] = st.one_of(
    st.builds(HumanMessage, TEXT, id=SOME_ID),
    spoken(),
    st.builds(ToolMessage, TEXT, tool_call_id=CALL_IDS, id=SOME_ID),
)
RAW: st.SearchStrategy[Any] = st.one_of(
    MESSAGES,
    st.sampled_from(["a", "b", "c", "unknown", REMOVE_ALL_MESSAGES]).map(lambda name: RemoveMessage(id=name)),
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": TEXT}),
    st.fixed_dictionaries({"role": st.just("user"), "content": TEXT, "id": IDS}),
    st.tuples(st.sampled_from(["user", "ai"]), TEXT),
    TEXT,
)
WRITES: st.SearchStrategy[list[Any]] = st.lists(RAW | st.lists(RAW, max_size=4), max_size=8)


def same(one: list[AnyMessage], other: list[AnyMessage]) -> bool:
    """Whether two histories are the same in type, id and content."""
    return [message.model_dump() for message in one] == [message.model_dump() for message in other]


@given(writes=WRITES, cuts=st.sets(st.integers(0, 8)))
def test_batching_changes_nothing(writes: list[Any], cuts: set[int]) -> None:
    """Replayed at once, one by one, or cut anywhere: the same messages with the same ids."""
    whole = merge_messages(None, writes)
    places = [0, *sorted(cut for cut in cuts if cut < len(writes)), len(writes)]
    cut: list[AnyMessage] = []
    for start, end in pairwise(places):
        cut = merge_messages(cut, writes[start:end])
    assert same(whole, cut)
    assert same(whole, merge_messages(None, writes))


@given(writes=WRITES)
def test_every_message_has_an_id_of_its_own(writes: list[Any]) -> None:
    """Whoever wrote it without one: updates, removals and approvals need it."""
    ids = [message.id for message in merge_messages(None, writes)]
    assert all(ids)
    assert len(set(ids)) == len(ids)


@given(writes=WRITES, more=WRITES)
def test_what_was_there_is_not_changed_in_place(writes: list[Any], more: list[Any]) -> None:
    """A checkpoint's list is read again by the next replay."""
    before = merge_messages(None, writes)
    kept = [message.model_copy(deep=True) for message in before]
    merge_messages(before, more)
    assert same(before, kept)


def test_a_removal_of_what_is_not_there_is_passed_over() -> None:
    """LangGraph's own reducer would raise, in every replay for ever."""
    assert merge_messages([HumanMessage("x", id="a")], [RemoveMessage(id="b")])[0].id == "a"


def test_a_message_with_a_known_id_takes_its_place() -> None:
    """An update, not a second message."""
    (message,) = merge_messages([HumanMessage("x", id="a")], [[HumanMessage("y", id="a")]])
    assert message.content == "y"


HISTORIES = st.lists(MESSAGES, max_size=10).map(lambda writes: merge_messages(None, [writes]))


@given(HISTORIES)
def test_a_model_gets_every_call_with_its_one_result(history: list[AnyMessage]) -> None:
    """Right after its message and in its order; results without a call are left out, all else is kept in order."""
    view = whole_view(history)
    place = 0
    while place < len(view):
        message = view[place]
        place += 1
        assert not isinstance(message, ToolMessage), "a result without its call"
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                result = view[place]
                place += 1
                assert isinstance(result, ToolMessage)
                assert result.tool_call_id == call["id"]
    spoken_by_all = [message for message in history if not isinstance(message, ToolMessage)]
    assert [message for message in view if not isinstance(message, ToolMessage)] == spoken_by_all


@given(HISTORIES)
def test_an_open_call_is_one_without_a_result_after_it(history: list[AnyMessage]) -> None:
    """Of the newest message with calls, and of no other."""
    message, calls = open_calls(history)
    asked = [one for one in history if isinstance(one, AIMessage) and one.tool_calls]
    assert message is (asked[-1] if asked else None)
    if message is None:
        assert calls == []
        return
    later = history[history.index(message) :]
    answered = {one.tool_call_id for one in later if isinstance(one, ToolMessage)}
    assert [call["id"] for call in calls] == [call["id"] for call in message.tool_calls if call["id"] not in answered]


def test_a_reused_call_id_gets_the_result_of_its_own_message() -> None:
    """Models number their calls anew in each message."""
    call = {"name": "get_order", "args": {}, "id": "call_0"}
    history = [AIMessage("", id="1", tool_calls=[call]), ToolMessage("first", tool_call_id="call_0", id="2"),
               AIMessage("", id="3", tool_calls=[call])]  # fmt: skip
    assert [str(m.text) for m in whole_view(history) if isinstance(m, ToolMessage)] == ["first", NOT_ANSWERED]
    assert open_calls(history)[0] is history[2]
