"""The ERP as an MCP server; the only module here that knows FastMCP and MCP. What is answered stands in ``calls``."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio.to_thread
from fastmcp import FastMCP
from fastmcp.exceptions import NotFoundError, PromptError
from fastmcp.prompts import Prompt as McpPrompt
from fastmcp.prompts import PromptArgument
from fastmcp.resources import TextResource
from fastmcp.server.dependencies import get_context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool as McpTool
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel.server import request_ctx
from mcp.types import (
    CallToolRequest,
    CallToolResult,
    ServerResult,
    TextContent,
    ToolAnnotations,
)
from pydantic import AnyUrl, ConfigDict, Field
from starlette.types import Receive, Scope, Send

from erp_mcp.calls import Calls, Served
from erp_mcp.contract import META_RISK, JsonObject
from erp_mcp.instance import read_instance
from erp_mcp.principal import TRUSTED, Principal
from erp_mcp.prompt import Prompt
from erp_mcp.registry import PLANNED
from erp_mcp.store.engine import Store

INSTANCE_URI: Final = "erp://instance"
SKILL_URI: Final = "skill://"
INSTRUCTIONS: Final = (
    "An ERP: orders, products, stock, customers. Reads answer at once. A write answers approval_required with a "
    "preview; a person approves it through the host, and only then does it happen, exactly as previewed. "
    "Errors are JSON with code, message and hint: follow the hint."
)

PRINCIPAL: Final = "countersign.principal"
"""Key of an ASGI request's scope under which its gate puts who asks."""


class McpServer(FastMCP[Any]):
    """The framework's server, whose tool calls are answered by ``Calls`` alone.

    The framework's own way from a request to a tool (providers, transforms, a session's visibility rules, spans,
    middlewares) took longer than the rest of a call, and ends in the same place; tools are listed by it as ever.
    """

    def answer_by(self, calls: Calls, *, in_place: bool) -> None:
        """Let each ``tools/call`` be answered so, in a worker thread unless a write may be answered in place; every
        failure is a result with ``isError``."""
        quick = frozenset(tool.name for tool in calls.served.values() if in_place and tool.risk in PLANNED)

        async def answer(request: CallToolRequest) -> ServerResult:
            name, arguments = request.params.name, request.params.arguments or {}
            if name in quick:
                return _result(calls.answer(_asker(), name, arguments, _meta(request)))
            return _result(await anyio.to_thread.run_sync(calls.answer, _asker(), name, arguments, _meta(request)))

        self._mcp_server.request_handlers[CallToolRequest] = answer


class Task(McpPrompt):
    """A prompt of ours."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    prompt: Prompt = Field(exclude=True)

    async def render(self, arguments: dict[str, Any] | None = None) -> str:
        """The text, filled in.

        Raises:
            PromptError: an argument is missing.
        """
        given = arguments or {}
        missing = [name for name in self.prompt.arguments if not str(given.get(name, "")).strip()]
        if missing:
            raise PromptError(f"{self.name} needs {', '.join(missing)}.")
        return self.prompt.filled({name: str(given[name]) for name in self.prompt.arguments})


class ByPrincipal(Middleware):
    """Shows each principal what is their own."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def on_list_tools(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Only what the principal may call."""
        return [tool for tool in await call_next(context) if self._shows(tool.name)]

    async def on_list_resources(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """The skills of those tools, and the instance."""
        return [found for found in await call_next(context) if self._shows_resource(str(found.uri))]

    async def on_read_resource(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """As listed."""
        uri = str(context.message.uri)
        if not self._shows_resource(uri):
            raise NotFoundError(f"There is no resource {uri}.")
        return await call_next(context)

    async def on_list_prompts(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """The tasks whose tools the principal may all call."""
        return [found for found in await call_next(context) if self._shows(*found.prompt.tools)]

    async def on_get_prompt(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """As listed."""
        name = context.message.name
        if name not in [found.name for found in await get_context().fastmcp.list_prompts()]:
            raise NotFoundError(f"There is no prompt {name}.")
        return await call_next(context)

    def _shows_resource(self, uri: str) -> bool:
        return not uri.startswith(SKILL_URI) or self._shows(uri.removeprefix(SKILL_URI))

    def _shows(self, *names: str) -> bool:
        principal = _asker()
        return principal.inside or {*names} <= {tool.name for tool in self._calls.offered(principal)}


def build_server(store: Store, calls: Calls, prompts: Iterable[Prompt] = (), *, in_place: bool = False) -> McpServer:
    """The MCP server of one ERP.

    Args:
        store: its database.
        calls: what is served; what a tool means is a resource, ``skill://<tool>``.
        prompts: the common tasks; one whose tools are not all served is left out.
        in_place: plan and execute on the event loop's own thread; reads, which may take long, never are.
    """
    server = McpServer("countersign-erp", instructions=INSTRUCTIONS, mask_error_details=True, dereference_schemas=False)
    for tool in calls.served.values():
        server.add_tool(_mcp_tool(tool))
        if tool.body:
            uri = AnyUrl(f"{SKILL_URI}{tool.name}")
            described = f"What {tool.name} means, and when to use it."
            server.add_resource(
                TextResource(uri=uri, name=tool.name, description=described, mime_type="text/markdown", text=tool.body)
            )
    for prompt in prompts:
        if set(prompt.tools) <= set(calls.served):
            server.add_prompt(_mcp_prompt(prompt))
    server.answer_by(calls, in_place=in_place)
    _add_instance(server, store)
    server.add_middleware(ByPrincipal(calls))
    return server


def serve_stdio(server: McpServer) -> None:
    """Serve the process's own standard input and output until they close."""
    server.run("stdio", show_banner=False)


class HttpApp:
    """A server as an ASGI application, to be mounted behind a gate that says who asks.

    Args:
        server: the MCP server.
    """

    def __init__(self, server: McpServer) -> None:
        # An answer is one JSON body: nothing is told while a call runs, and a stop does not cut it off like a stream.
        self._app = server.http_app(path="/", json_response=True, host_origin_protection=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        principal: Principal = scope[PRINCIPAL]
        # By this user the session manager knows whose a session is, and answers 404 to everybody else.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=principal.name, scopes=[]))
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """What has to be entered before the first request, and left after the last."""
        async with self._app.lifespan(self._app):
            yield


def _add_instance(server: McpServer, store: Store) -> None:
    @server.resource(INSTANCE_URI, mime_type="application/json")
    def instance() -> str:
        """Which ERP this is: the audience of its grants, its data set and its currency."""
        return read_instance(store).model_dump_json()


def _mcp_tool(tool: Served) -> McpTool:
    return McpTool(
        name=tool.name,
        description=tool.description,
        parameters=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=_annotations(reads=tool.risk in ("read", "sensitive")),
        meta={META_RISK: tool.risk},
    )


def _mcp_prompt(prompt: Prompt) -> Task:
    arguments = [
        PromptArgument(name=name, description=meaning, required=True) for name, meaning in prompt.arguments.items()
    ]
    return Task(name=prompt.name, description=prompt.description, arguments=arguments, prompt=prompt)


def _annotations(*, reads: bool) -> ToolAnnotations:
    """A write can overwrite, and is idempotent: the same grant has one effect however often it is sent."""
    return ToolAnnotations(readOnlyHint=reads, destructiveHint=not reads, idempotentHint=True, openWorldHint=False)


def _asker() -> Principal:
    """Who asks. A message that came in by HTTP carries its own request: a session's first one says nothing about those
    after it."""
    context = request_ctx.get(None)
    return TRUSTED if context is None or context.request is None else context.request.scope[PRINCIPAL]


def _meta(request: CallToolRequest) -> JsonObject:
    """The request's ``_meta``, which no tool schema shows and no model can write."""
    meta = request.params.meta
    return (meta.model_extra or {}) if meta is not None else {}


def _result(answer: tuple[bytes, bool]) -> ServerResult:
    # Nothing checks it against the tool's output schema again: pydantic built it, and tests check each tool.
    # An error stands in the text alone: strict clients hold structured content to the tool's output schema even with
    # isError, and would show their own complaint in place of the error.
    body, is_error = answer
    text = TextContent(type="text", text=body.decode())
    return ServerResult(
        CallToolResult(content=[text], structuredContent=None if is_error else json.loads(body), isError=is_error)
    )
