"""The ERP behind a real HTTP server on a loopback port, in a thread, and clients that call it."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import uvicorn
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from starlette.types import ASGIApp

from erp_mcp.contract import JsonObject

STARTED_WITHIN: Final = 20.0


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """Serve an application while the block runs; gives its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=2))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        deadline = time.monotonic() + STARTED_WITHIN
        while not server.started and thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.started
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(STARTED_WITHIN)


def bearer(token: str | None) -> dict[str, str]:
    """The header of a token; none without one."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def mcp_client(address: str, token: str | None = None) -> Client[Any]:
    """An MCP client over Streamable HTTP."""
    return Client(StreamableHttpTransport(f"{address}/mcp", headers=bearer(token)))


def rest_client(address: str, token: str | None = None) -> httpx.AsyncClient:
    """A REST client."""
    return httpx.AsyncClient(base_url=address, headers=bearer(token), timeout=20)


def error_of(response: httpx.Response) -> JsonObject:
    """The error of a refusal; it has code, message and hint, and nothing of the machinery shows."""
    assert response.headers["content-type"] == "application/json"
    body: JsonObject = json.loads(response.content)
    assert set(body) == {"error"}
    error: JsonObject = body["error"]
    assert all(isinstance(error[name], str) and error[name] for name in ("code", "message", "hint"))
    assert "Traceback" not in response.text
    return error
