"""The one module that speaks MCP for the agent: it finds the ERP's tools, checks arguments, and carries grants.

It holds one session, owned by one task, because a client must be entered and left in the same task.
"""

import asyncio
import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import TracebackType
from typing import Any, Final, Self

import anyio
import jsonschema_rs
import mcp.types as mcp
from fastmcp import Client
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import ClientSession, McpError

from erp_mcp.contract import (
    META_GRANT,
    META_GRANTS,
    META_RISK,
    BatchAnswer,
    Preview,
    Receipt,
    Risk,
    WriteAnswer,
    canonical_json,
)
from erp_mcp.errors import ErpError

Json = dict[str, Any]

_LOST: Final = (McpError, anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, ConnectionError)


class LostAnswerError(Exception):
    """The request went out, and no answer came: what it did is not known."""


@dataclass(frozen=True)
class Call:
    """One tool call to plan."""

    tool: str
    arguments: Json


@dataclass(frozen=True)
class _Known:
    risk: Risk
    validator: Any
    schema: Json


class Bridge:
    """A held session to the ERP's MCP server.

    Args:
        server: what FastMCP's client connects to: a server in this process, a URL, or a command.

    Use it as an async context manager, within one event loop.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._known: dict[str, _Known] = {}
        self.model_tools: list[BaseTool] = []
        self._session: ClientSession | None = None
        self._owner: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def __aenter__(self) -> Self:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(ready), name="countersign-mcp-session")
        await ready
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        if self._owner is not None:
            await self._owner

    async def _own(self, ready: asyncio.Future[None]) -> None:
        try:
            async with Client(self._server) as client:
                await self._discover(client.session)
                self._session = client.session
                ready.set_result(None)
                await self._closing.wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)
        finally:
            self._session = None

    async def _discover(self, session: ClientSession) -> None:
        adapted = {tool.name: tool for tool in await load_mcp_tools(session)}
        listed = (await session.list_tools()).tools
        self._known = {tool.name: _known(tool) for tool in listed}
        self.model_tools = [adapted[tool.name] for tool in listed if self._known[tool.name].risk != "internal"]

    # -- what there is ---------------------------------------------------------------------------------------------

    def risk(self, tool: str) -> Risk | None:
        """How a tool is treated; None where there is no such tool for a model."""
        known = self._known.get(tool)
        return None if known is None or known.risk == "internal" else known.risk

    def is_gated(self, tool: str) -> bool:
        """Whether a person has to sign this tool's calls."""
        return self.risk(tool) in {"write", "sensitive"}

    def has_writes(self) -> bool:
        """Whether there is anything that a person would have to sign."""
        return any(self.is_gated(tool) for tool in self._known)

    def check(self, tool: str, arguments: Json) -> None:
        """Checks arguments against the tool's full JSON Schema, before anything is sent.

        Raises:
            ErpError: ``unknown_tool`` or ``invalid_argument``, with the path of the fault.
        """
        if self.risk(tool) is None:
            names = ", ".join(sorted(name for name in self._known if self.risk(name)))
            raise ErpError("unknown_tool", f"There is no tool {tool!r}.", f"Use one of: {names}")
        try:
            canonical_json(arguments)
        except ValueError as error:
            raise ErpError(
                "invalid_argument", f"The arguments of {tool} are {error}.", "Send plain JSON values."
            ) from error
        known = self._known[tool]
        fault = next(known.validator.iter_errors(_numbers_read(arguments, known.schema)), None)
        if fault is not None:
            path = ".".join(str(part) for part in fault.instance_path) or "arguments"
            raise ErpError("invalid_argument", f"{path}: {fault.message}", f"Correct {path} and call {tool} again.")

    # -- calls -----------------------------------------------------------------------------------------------------

    async def read(self, tool: str, arguments: Json) -> Json:
        """Calls a read tool.

        Raises:
            ErpError: what the ERP refused, or ``erp_unreachable``.
        """
        try:
            return await self._call(tool, arguments)
        except LostAnswerError as error:
            raise ErpError("erp_unreachable", "The ERP does not answer.", "Try again in a moment.") from error

    async def plan(self, calls: Sequence[Call]) -> list[Preview | ErpError]:
        """Previews for calls in their order, each seeing the effects of those before it; nothing is written.

        Where one call cannot be planned, all are planned one by one, so that its error does not hide the others.
        """
        if len(calls) > 1:
            try:
                body = [{"tool": call.tool, "arguments": call.arguments} for call in calls]
                answers = BatchAnswer.model_validate(await self._call("batch", {"calls": body})).answers
                return [_preview(answer) for answer in answers]
            except (ErpError, LostAnswerError):
                pass  # planned one by one below, which names each call's own error
        return [await self._plan_one(call) for call in calls]

    async def _plan_one(self, call: Call) -> Preview | ErpError:
        try:
            return _preview(WriteAnswer.model_validate(await self._call(call.tool, call.arguments)))
        except ErpError as error:
            return error
        except LostAnswerError:
            return ErpError("erp_unreachable", "The ERP does not answer; nothing was done.", "Try again in a moment.")

    async def execute(self, tool: str, arguments: Json, grant: str) -> Receipt:
        """Carries out a signed call; the ERP itself makes sure that it happens once.

        Raises:
            ErpError: what the ERP refused.
            LostAnswerError: no answer came; the same grant may be sent again.
        """
        answer = WriteAnswer.model_validate(await self._call(tool, arguments, {META_GRANT: grant}))
        if answer.receipt is None:
            raise ErpError("grant_invalid", f"The ERP did not see the grant for {tool}.", "Check the ERP's server.")
        return answer.receipt

    async def execute_together(self, calls: Sequence[tuple[Call, str]]) -> list[Receipt]:
        """Carries out signed calls in one transaction of the ERP: all of them or none.

        Args:
            calls: each with its grant, in order.

        Raises:
            ErpError, LostAnswerError: as ``execute``; nothing was done.
        """
        body = {"calls": [{"tool": call.tool, "arguments": call.arguments} for call, _grant in calls]}
        answer = BatchAnswer.model_validate(
            await self._call("batch", body, {META_GRANTS: [grant for _call, grant in calls]})
        )
        receipts = [one.receipt for one in answer.answers if one.receipt is not None]
        if len(receipts) != len(calls):
            raise ErpError("grant_invalid", "The ERP did not see the grants.", "Check the ERP's server.")
        return receipts

    async def _call(self, tool: str, arguments: Json, meta: Json | None = None) -> Json:
        session = self._session
        if session is None:
            raise LostAnswerError(tool)
        # Not session.call_tool: that checks every answer against its schema in slow Python, which our tests do once.
        parameters = mcp.CallToolRequestParams(
            name=tool, arguments=arguments, _meta=None if meta is None else mcp.RequestParams.Meta(**meta)
        )
        request = mcp.ClientRequest(mcp.CallToolRequest(params=parameters))
        try:
            result = await session.send_request(request, mcp.CallToolResult)
        except _LOST as error:
            raise LostAnswerError(tool) from error
        return _body(tool, result)


def _known(tool: mcp.Tool) -> _Known:
    risk = (tool.meta or {}).get(META_RISK, "write")
    return _Known(risk, jsonschema_rs.validator_for(tool.inputSchema), tool.inputSchema)


def _body(tool: str, result: mcp.CallToolResult) -> Json:
    """The JSON of an answer; an error's stands in the text, because adapters lose it elsewhere."""
    if not result.isError and result.structuredContent is not None:
        return result.structuredContent
    text = "".join(block.text for block in result.content if isinstance(block, mcp.TextContent))
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    if not result.isError and isinstance(body, dict):
        return body
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        raise ErpError("bad_answer", f"{tool} answered something unreadable.", "Tell the person who runs the ERP.")
    known = {"code", "message", "hint", "retryable"}
    details = {key: value for key, value in error.items() if key not in known}
    raise ErpError(str(error.get("code")), str(error.get("message")), str(error.get("hint", "")), **details)


def _preview(answer: WriteAnswer) -> Preview | ErpError:
    if answer.preview is None or not answer.preview.is_whole():
        return ErpError("bad_answer", "The ERP's preview is not whole.", "Tell the person who runs the ERP.")
    return answer.preview


def _numbers_read(value: Any, schema: Any) -> Any:
    """The value with decimal strings as numbers where the schema wants a number: tools take both (DESIGN section 7)."""
    if not isinstance(schema, dict):
        return value
    if isinstance(value, str) and schema.get("type") in {"number", "integer"}:
        return _number(value)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        return {name: _numbers_read(item, properties.get(name)) for name, item in value.items()}
    if isinstance(value, list):
        return [_numbers_read(item, schema.get("items")) for item in value]
    return copy.copy(value)


def _number(text: str) -> Any:
    try:
        number = Decimal(text.strip())
    except ArithmeticError:
        return text
    return number if number.is_finite() else text
