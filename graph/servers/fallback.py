"""A tool's plain HTTP address, for when its MCP server does not answer: the arguments are posted as JSON."""

import asyncio
from typing import Any

import httpx

from erp_mcp.errors import ErpError
from graph.errors import LostAnswerError
from graph.servers.answers import refusal, text_as_data
from graph.servers.config import ServerConfig

Json = dict[str, Any]

CONNECT_SECONDS = 5.0


async def post(config: ServerConfig, tool: str, arguments: Json) -> Any:
    """The answer's JSON, or its text.

    Raises:
        ErpError: ``server_unavailable`` where nothing was sent; the server's own refusal (status 4xx).
        LostAnswerError: it was sent, and no answer came that says what was done.
    """
    try:
        async with asyncio.timeout(config.timeout_seconds):
            status, text = await _exchange(config, config.http[tool], arguments)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise ErpError(
            "server_unavailable", f"The server {config.name} answers neither over MCP nor over HTTP; nothing was sent.",
            "Try again later, or tell the user.",
        ) from error  # fmt: skip
    except TimeoutError as error:
        why = f"{config.name} did not answer within {config.timeout_seconds} s over HTTP"
        raise LostAnswerError(tool, why, late=True) from error
    except httpx.HTTPError as error:
        raise LostAnswerError(tool, f"the HTTP connection to {config.name} broke") from error
    if status >= 500 or 300 <= status < 400:
        raise LostAnswerError(tool, f"{config.name} answered HTTP {status}")
    if status >= 400:
        raise refusal(config.name, tool, text or f"HTTP {status}")
    return text_as_data(text)


async def _exchange(config: ServerConfig, url: str, arguments: Json) -> tuple[int, str]:
    """Status and text. Reading stops a little behind the limit: what is longer is not passed on anyway."""
    limits = httpx.Timeout(config.timeout_seconds, connect=CONNECT_SECONDS)
    async with (
        httpx.AsyncClient(headers=config.headers(), timeout=limits) as client,
        client.stream("POST", url, json=arguments) as response,
    ):
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > 4 * config.max_chars:  # UTF-8 takes at most four bytes for a character
                break
        return response.status_code, body.decode("utf-8", "replace")
