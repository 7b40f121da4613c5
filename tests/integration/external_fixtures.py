"""Other MCP servers as real processes, and an agent that is connected to them."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from graph.app import open_agent
from graph.run import Run
from graph.servers.hub import Servers
from graph.settings import Settings
from graph.threads import Agent
from tests.integration.agent_fixtures import Script, heard

Json = dict[str, Any]

SCRIPT: Final = Path(__file__).with_name("external_server.py")
TICKET: Final[Json] = {"order_id": "SO19980506-11074", "subject": "late"}


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Elsewhere:
    """Somebody else's server over HTTP, which a test can kill and start again at the same address.

    Args:
        folder: where it notes its effects, and where its mood is read from.
    """

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[str] | None = None

    def start(self, mood: str = "") -> None:
        """Starts it, and comes back once it listens."""
        (self.folder / "mood").write_text(mood)
        command = [sys.executable, str(SCRIPT), f"http:{self.port}", str(self.folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        """Kills it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None

    def restart(self, mood: str = "") -> None:
        """Kills it, and starts it again."""
        self.kill()
        self.start(mood)

    def config(self, **more: Any) -> Json:
        """Its entry in the setting."""
        return {"name": "tickets", "url": f"http://127.0.0.1:{self.port}/mcp"} | more

    def effects(self) -> list[str]:
        """What it did, in order."""
        return effects_in(self.folder)


@contextmanager
def elsewhere(folder: Path) -> Iterator[Elsewhere]:
    """A server that is gone afterwards, whatever happens."""
    server = Elsewhere(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def effects_in(folder: Path) -> list[str]:
    """What a server with this folder did."""
    file = folder / "effects"
    return file.read_text().splitlines() if file.exists() else []


def over_stdio(folder: Path, **more: Any) -> Json:
    """The same server as a process over stdio: its entry in the setting."""
    return {"name": "tickets", "command": sys.executable, "args": [str(SCRIPT), "stdio", str(folder)]} | more


def with_servers(settings: Settings, *configs: Json) -> Settings:
    """The settings with these servers."""
    return settings.model_copy(update={"mcp_servers": json.dumps(configs)})


@asynccontextmanager
async def agent_with(settings: Settings, *configs: Json, script: Script | None = None) -> AsyncIterator[Agent]:
    """An agent that is connected to these servers."""
    async with open_agent(with_servers(settings, *configs), chat=script or Script()) as agent:
        yield agent


def servers_of(agent: Agent) -> Servers:
    """The agent's other servers."""
    assert agent.services.bridge.servers is not None
    return agent.services.bridge.servers


def told(run: Run, tool: str) -> Json:
    """What the model, or the caller, was told of the last call of a tool."""
    return heard(run.messages, tool)[-1]


@dataclass
class PlainHttp:
    """A plain HTTP address that keeps what is posted to it."""

    url: str
    posted: list[tuple[str | None, Json]] = field(default_factory=list)


@contextmanager
def plain_http(status: int = 200, body: str = '{"by": "http"}') -> Iterator[PlainHttp]:
    """A plain HTTP server that answers every post in the same way."""
    kept: list[tuple[str | None, Json]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            kept.append((self.headers["Authorization"], json.loads(self.rfile.read(length))))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_arguments: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield PlainHttp(f"http://127.0.0.1:{server.server_address[1]}/tool", kept)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
