"""``python -m erp_mcp`` as real processes: stopping while calls run, and what keeps it from starting."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from erp_mcp.auth.tokens import TokenFile
from erp_mcp.web.serving import GRACE_SECONDS
from tests.integration.http_fixtures import bearer
from tests.integration.small_erp import OPEN, make_small_erp, send
from tests.served import serving

INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    },
}  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream"}

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]

SLOW_SKILL = """---
name: take_a_while
description: Answers after some time; for tests.
risk: read
exposure: public
scopes: [slow:read]
rest: GET /slow/{note}
triggers:
  en: [one, two, three]
  zh: [一, 二, 三]
---
Patience.
"""
SLOW_TOOL = """
import os
import pathlib
import time
from pydantic import BaseModel
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import Query

class Note(BaseModel):
    note: str

def take_a_while(tx: Tx, note: Query) -> Note:
    pathlib.Path(os.environ["COUNTERSIGN_HOME"], note).touch()
    time.sleep(1.5)
    return Note(note="done")
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A small ERP, a token, and a further tool that takes a while."""
    make_small_erp(f"sqlite:///{tmp_path / 'erp.db'}")
    folder = tmp_path / "skills" / "take_a_while"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SLOW_SKILL, encoding="utf-8")
    (folder / "tool.py").write_text(SLOW_TOOL, encoding="utf-8")
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    """Where the process finds everything."""
    return {"COUNTERSIGN_HOME": str(home), "COUNTERSIGN_SKILLS": str(home / "skills")}


@pytest.mark.guarantee("D4")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_lets_what_is_under_way_finish(home: Path, number: signal.Signals) -> None:
    """Calls over REST and MCP get their answers, an open stream does not hold it up, and the exit code is 0."""
    token = TokenFile(home / "tokens.json").add("desk", ["*"])
    answers: list[httpx.Response] = []
    with (
        serving(["erp_mcp", "serve", "--http"], environment(home), home / "log") as server,
        httpx.Client(base_url=server.url, headers=ACCEPT | bearer(token), timeout=30) as client,
    ):
        session = {"mcp-session-id": client.post("/mcp", json=INITIALIZE).headers["mcp-session-id"]}
        params = {"name": "take_a_while", "arguments": {"note": "over-mcp"}}
        message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        work = [
            threading.Thread(target=lambda: answers.append(client.post("/mcp", json=message, headers=session))),
            threading.Thread(target=lambda: answers.append(client.get("/api/slow/over-rest"))),
        ]
        with client.stream("GET", "/mcp", headers=session | {"Accept": "text/event-stream"}) as stream:
            assert stream.status_code == 200
            for thread in work:
                thread.start()
            _wait_for(home / "over-mcp", home / "over-rest")
            stopping = time.monotonic()
            server.stop(number)
            for thread in work:
                thread.join(30)
            with suppress(httpx.RemoteProtocolError):  # a stream without an end is cut off, which hosts know
                assert stream.read() == b""
        took = time.monotonic() - stopping
    assert [answer.status_code for answer in answers] == [200, 200]
    assert all("done" in answer.text for answer in answers)
    assert took < GRACE_SECONDS  # at whose end they would have been cut off
    assert "Traceback" not in (home / "log").read_text()


def _wait_for(*paths: Path) -> None:
    until = time.monotonic() + 20
    while not all(path.exists() for path in paths):
        assert time.monotonic() < until, "the calls did not begin"
        time.sleep(0.01)


async def test_stdio_is_trusted_and_gets_what_the_operator_offers(home: Path) -> None:
    """No token, personal data shown, a third party's tool served; private reads when they are asked for."""
    for options, sees in (([], False), (["--private"], True)):
        command = ["-m", "erp_mcp", "serve", *options]
        async with Client(StdioTransport(sys.executable, command, env=environment(home))) as client:
            names = {tool.name for tool in await client.list_tools()}
            _, order = await send(client, "get_order", {"order_id": OPEN}, {})
            _, slow = await send(client, "take_a_while", {"note": "over-stdio"}, {})
        assert order["customer_name"] == "Acme Ltd"
        assert slow == {"note": "done"}
        assert ("get_customer" in names) == sees
        assert "cancel_order" not in names


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--http"], "there are no tokens"),
        (["--http", "--open", "--host", "0.0.0.0"], "loopback only"),
        (["--http", "--open", "--jwt-issuer", "x"], "belong together"),
        (["--http", "--open", "--jwt-issuer", "x", "--jwt-key", "none.pem"], "none.pem"),
        (["--http", "--open", "--host", "192.0.2.1"], "loopback only"),
        (["--db", "sqlite:///none.db"], "countersign init"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(home: Path, options: list[str], said: str) -> None:
    """Exit code 1, what is wrong, and what to do; no traceback."""
    ended = _run(home, *options)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_one_line(home: Path) -> None:
    """Not uvicorn's own exit."""
    with serving(["erp_mcp", "serve", "--http", "--open"], environment(home), home / "log") as server:
        ended = _run(home, "--http", "--open", "--port", server.url.rsplit(":", 1)[1])
    assert ended.returncode == 1
    assert "cannot be used" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_faulty_skill_stops_the_start_with_file_and_line(home: Path) -> None:
    """A third party's mistake is told to whoever starts the server, and to nobody later."""
    skill = home / "skills" / "take_a_while" / "SKILL.md"
    skill.write_text(SLOW_SKILL.replace("exposure: public", "exposure: everybody"), encoding="utf-8")
    ended = _run(home)
    assert ended.returncode == 1
    assert f"{skill}:5: exposure 'everybody' is none of public, private" in ended.stderr
    assert ended.stderr.count("\n") == 1


def _run(home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "erp_mcp", "serve", *options],
        env=os.environ | environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        check=False,
    )
