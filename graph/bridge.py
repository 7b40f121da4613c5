"""One face over the ERP and the other MCP servers: finds tools, checks arguments, plans, and carries grants."""

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import TracebackType
from typing import Any, Self

from langchain_core.tools import BaseTool

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
from graph.errors import LostAnswerError
from graph.servers.connection import Connection
from graph.servers.definitions import validator_of
from graph.servers.hub import Servers
from graph.servers.opening import Session, adapted_tools, in_process, listed_tools
from graph.servers.tool import check_arguments
from graph.servers.wire import Answer

Json = dict[str, Any]


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
    """A held session to the ERP's MCP server, and beside it the other servers of the settings.

    Args:
        server: what FastMCP's client connects to: a server in this process, a URL, or a command.
        servers: the others, if there are any.

    Use it as an async context manager, within one event loop.
    """

    def __init__(self, server: Any, servers: Servers | None = None) -> None:
        self._server = server
        self._known: dict[str, _Known] = {}
        self._erp_tools: list[BaseTool] = []
        self._erp = Connection("erp", in_process(server), self._discover)
        self._erp_version = 0
        self.servers = servers

    async def __aenter__(self) -> Self:
        if not await self._erp.start():
            await self._erp.stop()
            raise self._erp.failure or ErpError("erp_unreachable", "The ERP does not answer.", "Check its server.")
        if self.servers is not None:
            await self.servers.open(self._known.keys())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.servers is not None:
            await self.servers.close()
        await self._erp.stop()

    async def _discover(self, session: Session) -> None:
        self._erp.has_changed = False
        adapted, listed = await adapted_tools(session), await listed_tools(session)
        self._known = {
            tool.name: _Known(
                (tool.meta or {}).get(META_RISK, "write"), validator_of(tool.inputSchema), tool.inputSchema
            )
            for tool in listed
        }
        self._erp_tools = [adapted[tool.name] for tool in listed if self._known[tool.name].risk != "internal"]
        self._erp_version += 1

    # -- what there is ---------------------------------------------------------------------------------------------

    @property
    def model_tools(self) -> list[BaseTool | Json]:
        """What a model may be offered, as ``bind_tools`` takes it."""
        return [*self._erp_tools, *(self.servers.for_model() if self.servers else [])]

    @property
    def version(self) -> tuple[int, int]:
        """Changes whenever ``model_tools`` does."""
        return self._erp_version, self.servers.version if self.servers else 0

    async def refresh(self) -> None:
        """Takes note of tools that have changed on their servers, or were accepted by a person."""
        session = self._erp.session
        if self._erp.has_changed and session is not None:
            await self._discover(session)
        if self.servers is not None:
            await self.servers.refresh()

    def risk(self, tool: str) -> Risk | None:
        """How a tool is treated; None where there is no such tool for a model."""
        known = self._known.get(tool)
        if known is None:
            external = self.servers.get(tool) if self.servers else None
            return None if external is None else external.risk
        return None if known.risk == "internal" else known.risk

    def is_external(self, tool: str) -> bool:
        """Whether it is another server's tool."""
        return tool not in self._known and self.risk(tool) is not None

    def is_gated(self, tool: str) -> bool:
        """Whether a person has to sign this tool's calls."""
        return self.risk(tool) in {"write", "sensitive"}

    def has_writes(self) -> bool:
        """Whether there is anything that a person would have to sign."""
        return self.servers is not None or any(self.is_gated(tool) for tool in self._known)

    def check(self, tool: str, arguments: Json) -> None:
        """Checks arguments against the tool's full JSON Schema, before anything is sent.

        Raises:
            ErpError: ``unknown_tool`` or ``invalid_argument``, with the path of the fault.
        """
        if self.risk(tool) is None:
            others = [one.known.alias for one in self.servers.tools()] if self.servers else []
            names = ", ".join(sorted(name for name in [*self._known, *others] if self.risk(name)))
            raise ErpError("unknown_tool", f"There is no tool {tool!r}.", f"Use one of: {names}")
        try:
            canonical_json(arguments)
        except ValueError as error:
            raise ErpError(
                "invalid_argument", f"The arguments of {tool} are {error}.", "Send plain JSON values."
            ) from error
        external = self.servers.get(tool) if self.servers and tool not in self._known else None
        if external is not None:
            external.check(arguments)
        else:
            known = self._known[tool]
            check_arguments(tool, known.validator, _numbers_read(arguments, known.schema))

    # -- calls -----------------------------------------------------------------------------------------------------

    def why_not(self, tool: str, arguments: Json) -> str | None:
        """Why a call fits no tool that there is now; None where it does."""
        try:
            self.check(tool, arguments)
        except ErpError as error:
            return error.message
        return None

    async def read(self, tool: str, arguments: Json) -> Json:
        """Calls a read tool.

        Raises:
            ErpError: what the server refused; ``erp_unreachable``, ``server_unavailable``.
        """
        if self.servers is not None and self.is_external(tool):
            return await self.servers.read(tool, arguments)
        try:
            return await self._call(tool, arguments)
        except LostAnswerError as error:
            raise ErpError("erp_unreachable", "The ERP does not answer.", "Try again in a moment.") from error

    async def plan(self, calls: Sequence[Call]) -> list[Preview | ErpError]:
        """Previews for calls in their order, each seeing the effects of those before it; nothing is written.

        Where one call cannot be planned, all are planned one by one, so that its error does not hide the others. What
        another server's tool would do nobody knows: its arguments are its preview.
        """
        if self.servers is None:
            return await self._plan_in_erp(calls)
        own = [place for place, call in enumerate(calls) if not self.is_external(call.tool)]
        made = dict(zip(own, await self._plan_in_erp([calls[place] for place in own]), strict=True))
        for place, call in enumerate(calls):
            if place not in made:
                made[place] = await self.servers.plan(call.tool, call.arguments)
        return [made[place] for place in range(len(calls))]

    async def _plan_in_erp(self, calls: Sequence[Call]) -> list[Preview | ErpError]:
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
        session = self._erp.session or await self._erp.ensure()
        if session is None:
            raise LostAnswerError(tool)
        return _body(tool, await self._erp.call_held(session, tool, arguments, meta))


def _body(tool: str, answer: Answer) -> Json:
    """The JSON of an answer; an error's stands in the text, because adapters lose it elsewhere."""
    if not answer.is_error and answer.structured is not None:
        return answer.structured
    try:
        body = json.loads(answer.text)
    except ValueError:
        body = None
    if not answer.is_error and isinstance(body, dict):
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
