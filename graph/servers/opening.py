"""How an MCP session is opened: in this process, over Streamable HTTP, or to a process over stdio.

With ``graph.servers.connection`` the only place of the agent's that knows MCP's client libraries.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import httpx
import mcp.types as mcp
from fastmcp import Client
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.session import LoggingFnT, MessageHandlerFnT
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client

from graph.servers.config import ServerConfig

CONNECT_SECONDS: Final = 10.0
"""How long a server may take until its session stands, and as long again until its tools are listed."""
READ_SECONDS: Final = 600.0
"""Between two pieces of an HTTP answer; how long a call may take is its server's setting."""

Session = ClientSession
Opener = Callable[[MessageHandlerFnT, LoggingFnT], AbstractAsyncContextManager[Session]]


def in_process(server: Any) -> Opener:
    """A server in this process, or whatever else FastMCP's client connects to."""

    @asynccontextmanager
    async def opened(on_message: MessageHandlerFnT, on_log: LoggingFnT) -> AsyncIterator[Session]:
        async with Client(server, message_handler=on_message, log_handler=on_log) as client:
            yield client.session

    return opened


def over_network(config: ServerConfig, logs: Path) -> Opener:
    """A server of the settings, over Streamable HTTP or as a process over stdio.

    Args:
        config: where it is.
        logs: the folder that takes what such a process writes to its standard error.
    """

    @asynccontextmanager
    async def opened(on_message: MessageHandlerFnT, on_log: LoggingFnT) -> AsyncIterator[Session]:
        streams = _http(config) if config.url else _process(config, logs)
        async with (
            streams as (read, write),
            ClientSession(read, write, message_handler=on_message, logging_callback=on_log) as session,
        ):
            with anyio.fail_after(CONNECT_SECONDS):
                await session.initialize()
            yield session

    return opened


@asynccontextmanager
async def _http(config: ServerConfig) -> AsyncIterator[tuple[Any, Any]]:
    # Redirects are not followed: a token must not wander to where a server points.
    client = httpx.AsyncClient(headers=config.headers(), timeout=httpx.Timeout(CONNECT_SECONDS, read=READ_SECONDS))
    async with client, streamable_http_client(config.url, http_client=client) as (read, write, _session_id):
        yield read, write


@asynccontextmanager
async def _process(config: ServerConfig, logs: Path) -> AsyncIterator[tuple[Any, Any]]:
    """Its standard error goes to a file: a terminal on which somebody approves is no place for a server's words."""
    seen = {name: os.environ[name] for name in config.env if name in os.environ}
    started = StdioServerParameters(
        command=config.command, args=list(config.args), env=get_default_environment() | seen
    )
    errors = await asyncio.to_thread(_log_file, logs / f"{config.name}.log")
    try:
        async with stdio_client(started, errlog=errors) as (read, write):
            yield read, write
    finally:
        errors.close()


def _log_file(path: Path) -> Any:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path.open("w", encoding="utf-8")  # one run's worth: a chatty server must not fill the disk


async def adapted_tools(session: Session) -> dict[str, BaseTool]:
    """A server's tools as LangChain has them, by name."""
    return {tool.name: tool for tool in await load_mcp_tools(session)}


async def listed_tools(session: Session) -> list[mcp.Tool]:
    """A server's tools as MCP has them, with their ``meta``."""
    return (await session.list_tools()).tools
