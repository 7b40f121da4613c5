"""The ERP as an MCP server; the only module here that knows FastMCP and MCP.

Arguments are checked and errors are written by us, not by the framework: a refusal is a result with ``isError`` whose
text is the JSON of an ``ErpError``. Database work runs in worker threads. Nothing here logs arguments or grants.
"""

import json
import logging
import secrets
from collections.abc import Callable
from typing import Any, Final

import anyio.to_thread
from fastmcp import FastMCP
from fastmcp.exceptions import NotFoundError
from fastmcp.server.dependencies import get_context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool as McpTool
from fastmcp.tools.base import ToolResult
from mcp.types import CallToolRequestParams, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from erp_mcp.contract import META_GRANT, META_GRANTS, META_RISK, BatchAnswer, BatchCall, JsonObject, WriteAnswer
from erp_mcp.errors import ErpError
from erp_mcp.grants import Verifier
from erp_mcp.instance import read_instance
from erp_mcp.operations.execute import batch
from erp_mcp.registry import PLANNED, Registry, Tool
from erp_mcp.schema import input_schema, output_schema, parse_arguments, shown
from erp_mcp.skill import Skill, SkillError
from erp_mcp.store.engine import Store
from erp_mcp.tools.arguments import MAX_LINES

log = logging.getLogger(__name__)

INSTANCE_URI: Final = "erp://instance"
BATCH: Final = "batch"
INSTRUCTIONS: Final = (
    "An ERP: orders, products, stock, customers. Reads answer at once. A write answers approval_required with a "
    "preview; a person approves it through the host, and only then does it happen, exactly as previewed. "
    "Errors are JSON with code, message and hint: follow the hint."
)

McpServer = FastMCP[Any]
"""The framework's server, by a name that the wiring can use without importing the framework."""

Handler = Callable[[JsonObject, JsonObject], BaseModel]
"""Arguments and the request's ``_meta`` in, answer out; runs in a worker thread and may raise ErpError."""


class BatchArguments(BaseModel):
    """The arguments of ``batch``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    calls: list[BatchCall] = Field(min_length=1, max_length=MAX_LINES, description="the calls, in order")


class ErpTool(McpTool):
    """A tool whose checks, errors and answers are the ERP's own."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    handler: Handler = Field(exclude=True)

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Answer one call; every failure becomes a result with ``isError``."""
        return await anyio.to_thread.run_sync(_answer, self.name, self.handler, arguments, _request_meta())


class UnknownTool(Middleware):
    """A name that is not served is refused like everything else: with a code, and the names that there are."""

    async def on_call_tool(
        self, context: MiddlewareContext[CallToolRequestParams], call_next: CallNext[CallToolRequestParams, ToolResult]
    ) -> ToolResult:
        """Pass the call on; only what the framework says about an unknown name is put in our words."""
        try:
            return await call_next(context)
        except NotFoundError:
            server = get_context().fastmcp
            names = ", ".join(sorted(tool.name for tool in await server.list_tools()))
            error = ErpError(
                "unknown_tool", f"There is no tool {shown(context.message.name)}.", f"Use one of: {names}."
            )
            return _result(to_json(error.as_json()), is_error=True)


def build_server(store: Store, registry: Registry, verifier: Verifier, *, writes: bool) -> McpServer:
    """The MCP server of one ERP.

    Args:
        store: its database.
        registry: its tools.
        verifier: checks the grants that hosts send in ``_meta``.
        writes: offer write tools, ``batch`` and reads that ask first; otherwise plain reads only.

    Raises:
        SkillError: an internal skill that the server has no work for.
    """
    server: McpServer = FastMCP(
        "countersign-erp", instructions=INSTRUCTIONS, mask_error_details=True, dereference_schemas=False
    )
    for tool in registry:
        if tool.risk in PLANNED and writes:
            server.add_tool(_mcp_tool(tool, _write_handler(store, registry, verifier, tool)))
        elif tool.risk == "read":
            server.add_tool(_mcp_tool(tool, _read_handler(store, tool)))
    for skill in registry.internal.values():
        if skill.name != BATCH:
            raise SkillError(skill.path, f"there is no internal tool {skill.name}")
        if writes:
            server.add_tool(_batch_tool(skill, store, registry, verifier))
    _add_instance(server, store)
    server.add_middleware(UnknownTool())
    return server


def serve_stdio(server: McpServer) -> None:
    """Serve the process's own standard input and output until they close."""
    server.run("stdio", show_banner=False)


def serve_http(server: McpServer, host: str, port: int) -> None:
    """Serve Streamable HTTP at ``/mcp``; requests that a web page of another host caused are refused."""
    server.run("http", show_banner=False, host=host, port=port, host_origin_protection=True)


def _add_instance(server: McpServer, store: Store) -> None:
    @server.resource(INSTANCE_URI, mime_type="application/json")
    def instance() -> str:
        """Which ERP this is: the audience of its grants, its data set and its currency."""
        return read_instance(store).model_dump_json()


def _mcp_tool(tool: Tool, handler: Handler) -> ErpTool:
    reads = tool.risk != "write"
    return ErpTool(
        name=tool.name,
        description=tool.skill.description,
        parameters=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=_annotations(reads),
        meta={META_RISK: tool.risk},
        handler=handler,
    )


def _batch_tool(skill: Skill, store: Store, registry: Registry, verifier: Verifier) -> ErpTool:
    def handle(raw: JsonObject, meta: JsonObject) -> BaseModel:
        arguments = parse_arguments(BatchArguments, raw)
        calls: list[BatchCall] = arguments.calls  # type: ignore[attr-defined]
        return BatchAnswer(answers=batch(store, verifier, registry, calls, _grants(meta)))

    return ErpTool(
        name=skill.name,
        description=skill.description,
        parameters=input_schema(BatchArguments),
        output_schema=output_schema(BatchAnswer),
        annotations=_annotations(reads=False),
        meta={META_RISK: skill.risk},
        handler=handle,
    )


def _annotations(reads: bool) -> ToolAnnotations:
    """A write can overwrite, and is idempotent: the same grant has one effect however often it is sent."""
    return ToolAnnotations(readOnlyHint=reads, destructiveHint=not reads, idempotentHint=True, openWorldHint=False)


def _read_handler(store: Store, tool: Tool) -> Handler:
    def handle(raw: JsonObject, meta: JsonObject) -> BaseModel:
        arguments = tool.parse(raw)
        with store.read() as tx:
            return tool.read(tx, arguments)

    return handle


def _write_handler(store: Store, registry: Registry, verifier: Verifier, tool: Tool) -> Handler:
    def handle(raw: JsonObject, meta: JsonObject) -> WriteAnswer:
        call = BatchCall(tool=tool.name, arguments=raw)
        return batch(store, verifier, registry, [call], _grant(meta))[0]

    return handle


def _grant(meta: JsonObject) -> list[str] | None:
    if META_GRANTS in meta:
        raise _malformed(f"{META_GRANTS} belongs to {BATCH}; a single call takes {META_GRANT}")
    token = meta.get(META_GRANT)
    if token is not None and not isinstance(token, str):
        raise _malformed(f"{META_GRANT} is not text")
    return None if token is None else [token]


def _grants(meta: JsonObject) -> list[str] | None:
    if META_GRANT in meta:
        raise _malformed(f"{META_GRANT} belongs to a single call; {BATCH} takes {META_GRANTS}")
    tokens = meta.get(META_GRANTS)
    if tokens is not None and not (isinstance(tokens, list) and all(isinstance(token, str) for token in tokens)):
        raise _malformed(f"{META_GRANTS} is not a list of texts")
    return tokens


def _malformed(why: str) -> ErpError:
    return ErpError("grant_invalid", f"The grant was not accepted: {why}.", "Send the grant that the host signed.")


def _request_meta() -> JsonObject:
    """The request's ``_meta``, which no tool schema shows and no model can write."""
    context = get_context().request_context
    return (context.meta.model_extra or {}) if context is not None and context.meta is not None else {}


def _answer(name: str, handler: Handler, arguments: JsonObject, meta: JsonObject) -> ToolResult:
    try:
        return _result(to_json(handler(arguments, meta), exclude_none=True), is_error=False)
    except ErpError as error:
        return _result(to_json(error.as_json()), is_error=True)
    except Exception as error:  # noqa: BLE001 - the last place where it can be told apart from an answer
        return _result(to_json(_incident(name, error).as_json()), is_error=True)


def _incident(name: str, error: Exception) -> ErpError:
    """An id that joins what the caller is told with the log. Exceptions' texts may repeat arguments: types only."""
    incident = secrets.token_hex(6)
    log.error("incident %s in %s: %s at %s", incident, name, type(error).__name__, _place(error))
    return ErpError(
        "internal_error",
        f"Something went wrong inside the ERP (incident {incident}).",
        "Tell the user the incident's id; the server's log has the rest. To send the same call again is safe: "
        "one grant has one effect.",
        incident=incident,
    )


def _place(error: Exception) -> str:
    trace = error.__traceback__
    steps = []
    while trace is not None:
        code = trace.tb_frame.f_code
        steps.append(f"{code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return " > ".join(steps)


def _result(body: bytes, *, is_error: bool) -> ToolResult:
    # An empty meta makes FastMCP send the result as it is. Without it the SDK checks every answer again with
    # jsonschema, which costs more than the query; pydantic built it, and tests check each tool against its schema.
    # An error stands in the text alone: strict clients hold structured content to the tool's output schema even with
    # isError, and would show their own complaint in place of the error.
    return ToolResult(
        content=[TextContent(type="text", text=body.decode())],
        structured_content=None if is_error else json.loads(body),
        meta={},
        is_error=is_error,
    )
