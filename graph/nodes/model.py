"""model: the chat model speaks; its calls are tidied so that everything after it can rely on them."""

import json
import uuid
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolCall

from checkpoints.faults import point
from erp_mcp.contract import canonical_json
from erp_mcp.errors import ErpError
from graph.messages import open_calls, result_message, whole_view
from graph.prompts import SYSTEM
from graph.results import error_text
from graph.services import Services
from graph.state import State
from graph.turn import Turn

CALL_TOOL = "call_tool"
"""Name of a message that a person wrote with ``call_tool``: no model speaks before or after it."""

WITHDRAWN = '{"outcome": "superseded", "message": "Never put to anybody; nothing was done."}'


async def model(state: State, turn: Turn) -> dict[str, Any]:
    """Lets the chat model answer, unless calls are open: then those come first."""
    services, messages = turn.services, state.get("messages", [])
    asked, calls = open_calls(messages)
    if asked is not None and calls:
        if messages[-1].id == asked.id:
            return {"step": _next_step(asked, services)}
        if (waiting := await _unsettled(state, asked, turn)) is not None:
            return waiting
    elif asked is not None and asked.name == CALL_TOOL and not _spoken_since(messages, asked):
        return {"step": "done"}
    withdrawn: list[AnyMessage] = [result_message(asked, call, WITHDRAWN) for call in calls] if asked else []
    view = whole_view([*messages, *withdrawn])
    spoken = await (await services.model()).ainvoke([SystemMessage(SYSTEM), *view])
    point("agent.spoke")
    answer, refused = _tidy(spoken)
    return {
        "messages": [*withdrawn, answer, *refused],
        "step": _next_step(answer, services) if answer.tool_calls else "done",
    }


def _spoken_since(messages: list[AnyMessage], asked: AIMessage) -> bool:
    """Whether a person said something after this message; results of its calls may stand behind their words."""
    return any(isinstance(message, HumanMessage) for message in messages[messages.index(asked) + 1 :])


def _next_step(message: AIMessage, services: Services) -> str:
    gated = [services.bridge.is_gated(call["name"]) for call in message.tool_calls]
    return "propose" if all(gated) else "read"


async def _unsettled(state: State, asked: AIMessage, turn: Turn) -> dict[str, Any] | None:
    """A new message came while calls of an older one are open (a chat UI sends it without asking us).

    What is decided is carried out first; what waits is shown again, and the new message is not taken. None: nothing of
    it was ever put to a person.
    """
    services, messages = turn.services, state["messages"]
    calls = [call for call in open_calls(messages)[1] if services.bridge.is_gated(call["name"])]
    rows = await services.look_up(services.ledger.latest, [turn.key(asked, call) for call in calls])
    if not rows:
        return None
    waiting = [row.id for row in rows.values() if row.status == "pending"]
    if not waiting:
        return {"step": "propose"}
    new = messages[messages.index(asked) + 1 :]
    dropped = [RemoveMessage(id=message.id) for message in new if isinstance(message, HumanMessage) and message.id]
    said = (
        f"Your message was not taken: {', '.join(waiting)} waits for a decision. Decide it first, then send it again."
    )
    return {"messages": [*dropped, AIMessage(said, id=str(uuid.uuid4()))], "step": "propose"}


def _tidy(spoken: AIMessage) -> tuple[AIMessage, list[AnyMessage]]:
    """The model's message with an id, distinct call ids, and arguments that JSON can carry exactly.

    Returns:
        The message, and the results of calls that cannot be made at all.
    """
    calls: list[ToolCall] = []
    broken: list[tuple[ToolCall, str]] = []
    seen: set[str | None] = set()
    for call in spoken.tool_calls:
        name = call["id"] if call["id"] and call["id"] not in seen else _call_id()
        seen.add(name)
        arguments, problem = _exact(call["args"])
        calls.append(ToolCall(name=call["name"], args=arguments, id=name, type="tool_call"))
        broken += [(calls[-1], problem)] if problem else []
    for invalid in spoken.invalid_tool_calls:
        calls.append(ToolCall(name=invalid["name"] or "unknown", args={}, id=_call_id(), type="tool_call"))
        broken.append((calls[-1], f"not valid JSON ({invalid.get('error') or 'malformed'})"))
    message = AIMessage(
        content=spoken.content, tool_calls=calls, id=spoken.id or str(uuid.uuid4()), name=spoken.name,
        response_metadata=spoken.response_metadata, usage_metadata=spoken.usage_metadata,
    )  # fmt: skip
    return message, [
        result_message(message, call, error_text(_bad_arguments(call["name"], problem)), error=True)
        for call, problem in broken
    ]


def _call_id() -> str:
    return f"call_{uuid.uuid4().hex}"


def _exact(arguments: dict[str, Any]) -> tuple[dict[str, Any], str]:
    try:
        return json.loads(canonical_json(arguments)), ""
    except (ValueError, TypeError) as error:
        return {}, str(error)


def _bad_arguments(tool: str, problem: str) -> ErpError:
    return ErpError(
        "invalid_argument", f"The arguments of {tool} are {problem}.", f"Call {tool} again with plain JSON values."
    )
