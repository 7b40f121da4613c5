"""The chat model of the benchmarks: no thinking time, the same for every contestant."""

import json
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable


class ScriptedModel(BaseChatModel):
    """Calls one tool with the JSON object that the person typed, and says ``done`` once it has the tool's answer.

    Args:
        tool: the name of the tool to call.
    """

    tool: str

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, AIMessage]:
        """The model itself: it knows its one tool."""
        return self

    def _answer(self, messages: list[BaseMessage]) -> ChatResult:
        last = messages[-1]
        if isinstance(last, HumanMessage):
            call = {"name": self.tool, "args": json.loads(str(last.content)), "id": uuid4().hex}
            message = AIMessage(content="", tool_calls=[call], id=uuid4().hex)
        else:
            message = AIMessage(content="done", id=uuid4().hex)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._answer(messages)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._answer(messages)
