"""The embedded planner as a LangChain chat model: no key, no network, the same answer every time."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from graph.planner.schema import Toolbox
from graph.planner.turn import step


def _now() -> datetime:
    return datetime.now(UTC)


class PlannerModel(BaseChatModel):
    """Reads English and Chinese with a small grammar, and calls the tools that are bound.

    It only ever calls a bound tool, with the argument names of its live schema. All but the ids (of the message and of
    the tool calls) is a function of the messages, the tools and ``clock``.

    Args:
        clock: the time now, in the business time zone; "yesterday" and 上个月 count from its day. UTC by default.
    """

    clock: Callable[[], datetime] = Field(default=_now, exclude=True)

    @property
    def _llm_type(self) -> str:
        return "countersign-planner"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": "planner"}

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with these tools: LangChain tools, functions, or OpenAI-format dictionaries.

        ``tool_choice="none"`` makes it answer without calls; other choices are left to the planner.
        """
        chosen = {} if tool_choice is None else {"tool_choice": tool_choice}
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **chosen, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        tools = [] if kwargs.get("tool_choice") == "none" else kwargs.get("tools") or []
        planned = step(messages, Toolbox.of(tools), self.clock().date())
        calls = [] if isinstance(planned, str) else planned
        message = AIMessage(
            content=planned if isinstance(planned, str) else "",
            tool_calls=[ToolCall(name=c.tool, args=c.arguments, id=f"call_{uuid4().hex}") for c in calls],
            id=f"planner-{uuid4()}",
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """The same, in the event loop: it is pure computation of under a millisecond, not worth a thread."""
        return self._generate(messages, stop, None, **kwargs)
