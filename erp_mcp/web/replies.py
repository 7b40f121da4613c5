"""Answers over HTTP: one shape for every error, and the status that fits its code."""

from typing import Final

from pydantic_core import to_json
from starlette.responses import Response

from erp_mcp.errors import ErpError

_STATUS: Final = {
    "unauthorized": 401,
    "forbidden": 403,
    "unknown_tool": 404,
    "unknown_route": 404,
    "method_not_allowed": 405,
    "request_too_slow": 408,
    "request_too_large": 413,
    "unsupported_media_type": 415,
    "misdirected": 421,
    "internal_error": 500,
    "tokens_unusable": 503,
}


def status_of(code: str) -> int:
    """The HTTP status of an error's code; what the business refuses is a conflict (409)."""
    if code in _STATUS:
        return _STATUS[code]
    if code.endswith("_not_found"):
        return 404
    if code.startswith("invalid_"):
        return 400
    if code.startswith("grant_"):
        return 403
    return 503 if code.startswith("database_") else 409


def json_reply(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON that is ready, and is nobody else's: no cache keeps it."""
    return Response(body, status, {"cache-control": "no-store"} | (headers or {}), "application/json")


def error_reply(error: ErpError, headers: dict[str, str] | None = None) -> Response:
    """``{"error": {code, message, hint, …}}`` with the status of its code."""
    return json_reply(to_json(error.as_json()), status_of(error.code), headers)
