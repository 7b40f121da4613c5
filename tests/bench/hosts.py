"""Outside hosts' reads: our MCP server beside a bare FastMCP server with the same query in a plain function."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any, Final

import httpx
from fastmcp import Client

from erp_mcp.auth.tokens import FILE, TokenFile
from erp_mcp.principal import PERSONAL
from erp_mcp.store.engine import open_store
from graph.settings import Settings
from tests.bench.bare_server import bare_server
from tests.bench.harness import Cycle, Opener
from tests.bench.ours import ORDER, prepare
from tests.served import serving

CLIENTS: Final = 16
CALLS_EACH: Final = 4
"""Calls that each client makes in one cycle."""
PROTOCOL: Final = "2025-11-25"
ENDS: Final = (0, -signal.SIGTERM)
"""A bare server dies of the signal that stops it."""

Serve = Callable[[Path], tuple[Sequence[str], dict[str, str]]]
"""Given a folder with an ERP, the module to run with its arguments, and the headers that a client sends."""


def bare_client(*, typed: bool) -> Opener:
    """A bare server in this process, with a FastMCP client that holds its session.

    Args:
        typed: as for ``bare_server``.
    """

    @asynccontextmanager
    async def opened(folder: Path) -> AsyncIterator[Cycle]:
        with closing(open_store(prepare(folder).erp_database)) as store:
            async with Client(bare_server(store, typed=typed)) as client:

                async def cycle() -> None:
                    answer = await client.call_tool("get_order", {"order_id": ORDER})
                    if (answer.structured_content or {}).get("order_id") != ORDER:
                        raise RuntimeError("another order came back")

                yield cycle

    return opened


def over_http(server: Serve) -> Opener:
    """A server in a process of its own, and clients that call it at once, each with a session of its own.

    Args:
        server: which.
    """

    @asynccontextmanager
    async def opened(folder: Path) -> AsyncIterator[Cycle]:
        async with server_with_clients(server, folder) as (_, cycle):
            yield cycle

    return opened


@asynccontextmanager
async def server_with_clients(server: Serve, folder: Path) -> AsyncIterator[tuple[int, Cycle]]:
    """A server's process, and a cycle in which all clients call it.

    The clients write their requests themselves: a whole MCP client needs more time than the server, and would hide it.

    Args:
        server: which.
        folder: empty.
    """
    prepare(folder)
    command, headers = server(folder)
    with serving(command, {"COUNTERSIGN_HOME": str(folder)}, folder / "server.log", ends=ENDS) as running:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(_client(running.url, headers)) for _ in range(CLIENTS)]

            async def cycle() -> None:
                await asyncio.gather(*(_read(client, CALLS_EACH) for client in clients))

            yield running.process.pid, cycle


@asynccontextmanager
async def _client(url: str, headers: dict[str, str]) -> AsyncIterator[httpx.AsyncClient]:
    accepted = {"Accept": "application/json, text/event-stream"}
    async with httpx.AsyncClient(base_url=url, headers=accepted | headers, timeout=30) as client:
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        answer = await _post(client, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        client.headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        client.headers["MCP-Protocol-Version"] = PROTOCOL
        await _post(client, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield client


async def _read(client: httpx.AsyncClient, times: int) -> None:
    for number in range(times):
        params = {"name": "get_order", "arguments": {"order_id": ORDER}}
        answer = await _post(client, {"jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": params})
        if f'"order_id":"{ORDER}"' not in answer.text.replace(" ", ""):
            raise RuntimeError(f"another order came back: {answer.text[:200]}")


async def _post(client: httpx.AsyncClient, message: dict[str, Any]) -> httpx.Response:
    answer = await client.post("/mcp", json=message)
    answer.raise_for_status()
    return answer


def countersign_server(folder: Path) -> tuple[Sequence[str], dict[str, str]]:
    """Our server, as it is started for other hosts, and a token that may read orders with their addresses."""
    token = TokenFile(folder / FILE).add("bench", ["orders:read", PERSONAL])
    return ["erp_mcp", "serve", "--http", "--private"], {"Authorization": f"Bearer {token}"}


def bare_http_server(folder: Path) -> tuple[Sequence[str], dict[str, str]]:
    """The bare one, on the same kind of database; it asks nobody who they are."""
    return ["tests.bench.bare_server", Settings(home=folder).erp_database], {}
