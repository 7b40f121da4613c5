"""Serving an application over HTTP until the process is told to stop; what is under way then still finishes."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from erp_mcp.errors import ErpError

GRACE_SECONDS: Final = 10
"""How long requests under way may take after a signal; a database transaction takes far less."""
_BACKLOG: Final = 256


def serve(app: ASGIApp, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT, then finish what is under way and return.

    Args:
        app: the application.
        host: address to listen on.
        port: port to listen on; 0 is any free one, which the log names.

    Raises:
        ErpError: ``address_unusable``.
    """
    listener = _listen(host, port)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = uvicorn.Server(config)
    with listener, _signals_spent():
        server.run(sockets=[listener])
    if not server.started:
        raise ErpError("start_failed", "The server did not start.", "The log says why.")


def _listen(host: str, port: int) -> socket.socket:
    """The socket, made here so that a port in use is an error of ours, and not an exit of uvicorn's."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        why = error.strerror or type(error).__name__
        raise ErpError("address_unusable", f"{host}:{port} cannot be used: {why}.", "Choose another --port.") from error
    return listener


@contextmanager
def _signals_spent() -> Iterator[None]:
    """uvicorn raises the signal that stopped it again once it is done, which would end the process as if killed."""

    def spent(number: int, frame: FrameType | None) -> None:
        pass

    before = {number: signal.signal(number, spent) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
