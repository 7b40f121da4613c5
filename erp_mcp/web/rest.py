"""REST, from the skills: each tool that has a route is served there by the same call that MCP makes."""

import json
from typing import Any, Final

import anyio.to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from erp_mcp.calls import Calls, Served
from erp_mcp.contract import META_GRANT, META_KEY, JsonObject
from erp_mcp.errors import ErpError
from erp_mcp.server import PRINCIPAL
from erp_mcp.skill import Route
from erp_mcp.web.replies import error_reply, json_reply, status_of

META_HEADERS: Final = {"countersign-grant": META_GRANT, "idempotency-key": META_KEY}
"""REST's place for what MCP carries in ``_meta``."""
_FLAGS: Final = {"true": True, "false": False}
_ERROR: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint"],
            "properties": {name: {"type": "string"} for name in ("code", "message", "hint")},
        }
    },
}


def rest_router(calls: Calls) -> APIRouter:
    """The routes of all tools that name one in their skill."""
    router = APIRouter()
    for tool in calls.served.values():
        if tool.route is not None:
            _add(router, calls, tool, tool.route)
    return router


def _add(router: APIRouter, calls: Calls, tool: Served, route: Route) -> None:
    async def endpoint(request: Request) -> Response:
        try:
            arguments = await _arguments(request, tool, route)
        except ErpError as error:
            return error_reply(error)
        meta = {key: request.headers[name] for name, key in META_HEADERS.items() if name in request.headers}
        body, is_error = await anyio.to_thread.run_sync(
            calls.answer, request.scope[PRINCIPAL], tool.name, arguments, meta
        )
        return json_reply(body, status_of(json.loads(body)["error"]["code"]) if is_error else 200)

    router.add_api_route(
        route.path,
        endpoint,
        methods=[route.method],
        operation_id=tool.name,
        summary=tool.name,
        description=tool.description,
        response_class=Response,
        openapi_extra=_described(tool, route),
    )


async def _arguments(request: Request, tool: Served, route: Route) -> JsonObject:
    given = _query(request, tool.input_schema) if route.method == "GET" else await _body(request)
    twice = sorted(set(given) & set(request.path_params))
    if twice:
        raise ErpError(
            "invalid_argument", f"{', '.join(twice)} stands in the path already.", "Leave it out of the rest."
        )
    return given | request.path_params


def _query(request: Request, schema: JsonObject) -> JsonObject:
    """Query parameters as a tool takes them: a list may be repeated, a flag is ``true`` or ``false``."""
    given: JsonObject = {}
    for name in request.query_params:
        values = request.query_params.getlist(name)
        kind = schema.get("properties", {}).get(name, {}).get("type")
        if kind == "array" or len(values) > 1:
            given[name] = values
        else:
            given[name] = _FLAGS.get(values[0], values[0]) if kind == "boolean" else values[0]
    return given


async def _body(request: Request) -> JsonObject:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ErpError("unsupported_media_type", "The body is not declared as JSON.", "Content-Type: application/json.")
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        raise ErpError("invalid_json", "The body is not JSON.", "Send one JSON object.") from None
    if not isinstance(body, dict):
        raise ErpError("invalid_json", "The body is JSON, but not an object.", "Send one JSON object.")
    return body


def _described(tool: Served, route: Route) -> dict[str, Any]:
    """What OpenAPI says of it: the tool's own schemas."""
    schema = tool.input_schema
    properties: JsonObject = schema.get("properties", {})
    required: list[str] = schema.get("required", [])
    in_query = route.method == "GET"
    described: dict[str, Any] = {
        "parameters": [
            {
                "name": name, "in": "path" if name in route.parameters else "query",
                "required": name in required, "schema": part,
            }
            for name, part in properties.items() if in_query or name in route.parameters
        ],
        "responses": {
            "200": {"description": "the answer", "content": {"application/json": {"schema": tool.output_schema}}},
            "default": {"description": "a refusal", "content": {"application/json": {"schema": _ERROR}}},
        },
    }  # fmt: skip
    if not in_query:
        rest = {name: part for name, part in properties.items() if name not in route.parameters}
        needed = [name for name in required if name in rest]
        body = {"type": "object", "properties": rest, "additionalProperties": False} | (
            {"required": needed} if needed else {}
        )
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return described
