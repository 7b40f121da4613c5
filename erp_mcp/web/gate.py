"""The gate before everything that is served over HTTP: host, origin, token and size, in this order.

Plain ASGI, because it stands before MCP's streams as well, which a wrapped response would hold back.
"""

import json
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from erp_mcp.auth.doorkeeper import Doorkeeper
from erp_mcp.errors import ErpError
from erp_mcp.server import PRINCIPAL
from erp_mcp.web.replies import error_reply

MCP_PATH: Final = "/mcp"
MAX_BODY_BYTES: Final = 1024 * 1024
BODY_SECONDS: Final = 30.0
_MAX_DRAINED_BYTES: Final = 16 * MAX_BODY_BYTES
"""What is read and thrown away of a request that is too large: a client that still sends would not see the answer."""
_MANY_BRACKETS: Final = 400
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_UNSPECIFIED: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared with, not bound to


class Gate:
    """Lets a request through with its principal in the scope, or answers it.

    Args:
        app: what stands behind it.
        doorkeeper: knows who asks.
        hosts: names by which this server may be addressed, besides loopback's.
        origins: web origins (``https://erp.example``) that may call, besides the server's own.
        open_paths: paths that need no token here, since they show nothing or ask for a login of their own; one that
            ends with ``/`` stands for all below it.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        doorkeeper: Doorkeeper,
        hosts: Collection[str] = (),
        origins: Collection[str] = (),
        open_paths: Collection[str] = (),
    ) -> None:
        self._app = app
        self._doorkeeper = doorkeeper
        self._hosts = LOOPBACK | ({host.lower() for host in hosts} - _UNSPECIFIED)
        self._origins = frozenset(origin.lower() for origin in origins)
        self._open = frozenset(path for path in open_paths if not path.endswith("/"))
        self._open_below = tuple(path for path in open_paths if path.endswith("/"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})  # nothing here speaks it
        else:
            await self._request(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        try:
            self._refuse_rebinding(headers)
            if not self._is_open(scope["path"]):
                scope[PRINCIPAL] = self._doorkeeper.principal(headers.get("authorization"))
            receive = await _whole_body(receive)
        except ErpError as error:
            challenge = {"www-authenticate": _challenge(headers)} if error.code == "unauthorized" else {}
            await error_reply(error, challenge | {"connection": "close"})(scope, receive, send)
            return
        if scope["path"] == MCP_PATH:  # the mount would redirect, and clients lose body or token on the way
            scope["path"] = MCP_PATH + "/"
        await self._app(scope, receive, send)

    def _is_open(self, path: str) -> bool:
        return path in self._open or path.startswith(self._open_below)

    def _refuse_rebinding(self, headers: Headers) -> None:
        """A page of another site can have a browser call this port: by its address, or by a name that it rebinds."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if _hostname("//" + host) not in self._hosts:
            raise ErpError(
                "misdirected", "This server is not known by the name in the Host header.",
                "Whoever runs it can allow the name: --allow-host.",
            )  # fmt: skip
        own = origin is not None and origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")
        if origin is not None and not own and origin.lower() not in self._origins:
            raise ErpError(
                "forbidden", "Pages of this origin may not call this server.",
                "Whoever runs it can allow the origin: --allow-origin.",
            )  # fmt: skip


def _hostname(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def _challenge(headers: Headers) -> str:
    return 'Bearer error="invalid_token"' if "authorization" in headers else "Bearer"


async def _whole_body(receive: Receive) -> Receive:
    """Read the body up to a limit of bytes and seconds, and hand it on as one message.

    Raises:
        ErpError: ``request_too_large``, ``request_too_slow``.
    """
    whole: Message | None = None
    with anyio.move_on_after(BODY_SECONDS):
        whole = await _read(receive)
    if whole is None:
        raise ErpError("request_too_slow", "The request did not come in whole.", "Send it again.")
    first = whole

    async def replay() -> Message:
        nonlocal whole
        message, whole = whole, None
        return await receive() if message is None else message

    return receive if first["type"] != "http.request" else replay


async def _read(receive: Receive) -> Message:
    body, size = bytearray(), 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return message  # the client went away
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size <= MAX_BODY_BYTES:
            body += chunk
        ended = not message.get("more_body", False)
        if size > _MAX_DRAINED_BYTES or (ended and size > MAX_BODY_BYTES):
            raise ErpError(
                "request_too_large", f"A request has at most {MAX_BODY_BYTES} bytes.", "Send less, in several requests."
            )
        if ended:
            _refuse_unreadable(body)
            return {"type": "http.request", "body": bytes(body), "more_body": False}


def _refuse_unreadable(body: bytearray) -> None:
    """What would break JSON's reader rather than be refused by it: text that is none, and endless nesting.

    Nobody here takes anything but JSON. Only a body with very many brackets is read a second time for it.
    """
    try:
        text = body.decode()
        if body.count(b"[") + body.count(b"{") > _MANY_BRACKETS:
            json.loads(text)
    except (UnicodeDecodeError, RecursionError):
        raise ErpError("invalid_json", "The body is not JSON.", "Send UTF-8, nested less deeply.") from None
    except ValueError:
        return  # whoever it is for says what is wrong with it
