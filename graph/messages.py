"""The conversation: how it is merged, which calls are still open, and the whole view that a model gets of it."""

import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolCall, ToolMessage, convert_to_messages
from langgraph.graph.message import add_messages

_NAMESPACE: Final = uuid.UUID("6d0d2f63-27f4-4a8e-8a94-5d2a2a3a1c0e")

NOT_ANSWERED: Final = '{"outcome": "open", "message": "This call has no result: nothing was done."}'
"""What a model is told about a call that never got an answer, so that a broken thread can always go on."""


def merge_messages(state: list[AnyMessage] | None, writes: Sequence[Any]) -> list[AnyMessage]:
    """The reducer of a delta channel: the same list comes out however the writes are batched.

    One write after the other goes through LangGraph's own reducer (a single flattened call is not the same). A message
    that came without an id gets one from its place and content, because raw writes are read again with every replay.
    """
    merged = list(state or [])
    for write in writes:
        merged = cast("list[AnyMessage]", add_messages(cast("Any", merged), cast("Any", _named(merged, write))))
    return merged


def _named(before: Sequence[BaseMessage], write: Any) -> list[BaseMessage]:
    given = convert_to_messages(write if isinstance(write, list) else [write])
    taken = {message.id for message in before}
    named: list[BaseMessage] = []
    for message in given:
        if message.type == "remove":
            if message.id in taken or message.id == "__remove_all__":
                named.append(message)
            continue
        if not message.id:
            message = message.model_copy(update={"id": _free_id(len(before) + len(named), message, taken)})
        taken.add(message.id)
        named.append(message)
    return named


def _free_id(place: int, message: BaseMessage, taken: set[str | None]) -> str:
    while (name := str(uuid.uuid5(_NAMESPACE, f"{place}:{message.type}:{message.content!r}"))) in taken:
        place += 1
    return name


def open_calls(messages: Iterable[BaseMessage]) -> tuple[AIMessage | None, list[ToolCall]]:
    """The newest message with tool calls, and those of its calls that have no result yet, in the message's order."""
    listed = list(messages)
    for index in range(len(listed) - 1, -1, -1):
        message = listed[index]
        if isinstance(message, AIMessage) and message.tool_calls:
            answered = {later.tool_call_id for later in listed[index:] if isinstance(later, ToolMessage)}
            return message, [call for call in message.tool_calls if call["id"] not in answered]
    return None, []


def result_message(message: AIMessage, call: ToolCall, content: str, *, error: bool = False) -> ToolMessage:
    """The one result of one call. Its id comes from the call, so that a step that runs again replaces it."""
    name = uuid.uuid5(_NAMESPACE, f"{message.id}\x1f{call['id']}")
    return ToolMessage(
        content=content, tool_call_id=call["id"] or "", name=call["name"], id=str(name),
        status="error" if error else "success",
    )  # fmt: skip


def whole_view(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The history as a model may be given it: every call is followed at once by its result, or by word that none came.

    Providers refuse anything else, and one refused history would brick the thread.
    """
    results = _results(messages)
    view: list[BaseMessage] = []
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            continue
        view.append(message)
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                found = results.get((index, call["id"]))
                view.append(found or result_message(message, call, NOT_ANSWERED))
    return view


def _results(messages: Sequence[BaseMessage]) -> dict[tuple[int, str | None], ToolMessage]:
    """Each result, by the place of the message that called it: models reuse call ids, so the nearest before counts."""
    found: dict[tuple[int, str | None], ToolMessage] = {}
    caller: dict[str | None, int] = {}
    for index, message in enumerate(messages):
        if isinstance(message, AIMessage):
            caller.update({call["id"]: index for call in message.tool_calls})
        elif isinstance(message, ToolMessage) and message.tool_call_id in caller:
            found[caller[message.tool_call_id], message.tool_call_id] = message
    return found
