"""read: every read call of the message, side by side."""

import asyncio
import json
from typing import Any

from langchain_core.messages import AIMessage, ToolCall, ToolMessage

from erp_mcp.errors import ErpError
from graph.messages import open_calls, result_message
from graph.results import error_text
from graph.services import Services
from graph.state import State
from graph.turn import Turn


async def read(state: State, turn: Turn) -> dict[str, Any]:
    """Answers the calls that need nobody's signature; unknown tools get an error that the model can act on."""
    message, calls = open_calls(state["messages"])
    if message is None:
        return {"step": "model"}
    free = [call for call in calls if not turn.services.bridge.is_gated(call["name"])]
    results = await asyncio.gather(*(_result(message, call, turn.services) for call in free))
    return {"messages": list(results), "step": "propose" if len(free) < len(calls) else "model"}


async def _result(message: AIMessage, call: ToolCall, services: Services) -> ToolMessage:
    try:
        services.bridge.check(call["name"], call["args"])
        body = await services.bridge.read(call["name"], call["args"])
    except ErpError as error:
        return result_message(message, call, error_text(error), error=True)
    return result_message(message, call, json.dumps(body, ensure_ascii=False))
