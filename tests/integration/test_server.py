"""The MCP server: what it lists, how it answers, and how it refuses, through real clients."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from erp_mcp.__main__ import main
from erp_mcp.app import build_erp
from erp_mcp.calls import READS
from erp_mcp.contract import META_RISK, JsonObject
from erp_mcp.registry import Registry, Tool, load_registry
from erp_mcp.skill import Skill, SkillError
from erp_mcp.store.tables import operations
from erp_mcp.store.transaction import Tx
from tests.integration.small_erp import OPEN, Host, ask, everything, make_small_erp, open_host, preview_of, send


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """The small ERP on SQLite: what is tested here does not depend on the database."""
    url = f"sqlite:///{tmp_path / 'erp.db'}"
    make_small_erp(url)
    opened = open_host(url, tmp_path)
    yield opened
    opened.erp.close()


async def test_annotations_and_risk_say_what_a_tool_does(host: Host) -> None:
    """Reads are read-only, writes are not; nothing reaches outside; batch is internal."""
    async with Client(host.erp.server) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
    assert set(tools) == {*host.erp.registry.tools, "batch"}
    for name, tool in tools.items():
        assert tool.annotations is not None
        assert tool.meta is not None
        risk = tool.meta[META_RISK]
        assert risk == ("internal" if name == "batch" else host.erp.registry.tool(name).risk)
        assert tool.annotations.readOnlyHint == (risk in ("read", "sensitive"))
        assert tool.annotations.destructiveHint == (risk in ("write", "internal"))
        assert tool.annotations.idempotentHint is True
        assert tool.annotations.openWorldHint is False
        assert tool.description


async def test_a_server_without_writes_lists_plain_reads_only(host: Host, tmp_path: Path) -> None:
    """What changes something, or asks first, is not there at all."""
    erp = build_erp(f"sqlite:///{tmp_path / 'erp.db'}", offer=READS)
    async with Client(erp.server) as client:
        risks = {tool.meta[META_RISK] for tool in await client.list_tools() if tool.meta}
    erp.close()
    assert risks == {"read"}


async def test_the_instance_is_a_resource(host: Host) -> None:
    """A host learns there for whom it has to sign."""
    async with Client(host.erp.server) as client:
        (content,) = await client.read_resource("erp://instance")
    assert f'"instance_id":"{host.erp.instance_id}"' in content.text


@pytest.mark.guarantee("E6")
@pytest.mark.parametrize("bad", [0, -1, True, float("nan"), float("inf"), "abc", "1e400", None, [1], {"n": 1}])
async def test_an_impossible_quantity_is_refused_by_name(host: Host, bad: object) -> None:
    """invalid_argument, with the line, the field and the value; nothing changed."""
    before = everything(host.erp.store)
    async with Client(host.erp.server) as client:
        lines = [{"sku": "A-1", "quantity": 1}, {"sku": "B-2", "quantity": bad}]
        refused, answer = await ask(client, "create_order", customer="ACME", lines=lines)
    assert refused
    assert answer["error"]["code"] == "invalid_argument"
    assert answer["error"]["message"].startswith("lines[1].quantity ")
    assert not answer["error"]["retryable"]
    assert everything(host.erp.store) == before


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("get_order", {}, "invalid_argument"),
        ("get_order", {"order_id": OPEN, "verbose": True}, "invalid_argument"),
        ("get_order", {"order_id": "999"}, "order_not_found"),
        ("get_oder", {"order_id": OPEN}, "unknown_tool"),
        ("cancel_order", {"order_id": OPEN, "reason": "\0"}, "invalid_argument"),
        ("cancel_order", {"order_id": OPEN}, "invalid_argument"),
    ],
)
async def test_a_refusal_has_a_code_a_message_and_a_hint(
    host: Host, tool: str, arguments: JsonObject, code: str
) -> None:
    """isError, and the text is the JSON of the error, for a framework's refusals too."""
    async with Client(host.erp.server) as client:
        refused, answer = await send(client, tool, arguments, {})
    assert refused
    assert answer["error"]["code"] == code
    assert answer["error"]["message"]
    assert answer["error"]["hint"]


def broken_registry(secret: str) -> Registry:
    """The real tools, with one whose function fails."""

    def adjust_stock(tx: Tx, sku: str, delta: Decimal, reason: str, warehouse: str | None) -> Any:
        """Fails with the argument in its text, as careless code does."""
        raise RuntimeError(f"cannot handle {secret} {reason}")

    registry = load_registry()
    tool = registry.tools["adjust_stock"]
    broken = Tool(tool.skill, adjust_stock, tool.arguments, tool.result)
    return Registry([broken if t is tool else t for t in registry], registry.internal.values())


async def test_a_bug_is_an_incident_and_tells_nobody_what_was_in_the_call(
    host: Host, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The caller gets an id, the log the same id and the place; neither gets arguments, grants or a traceback."""
    url = f"sqlite:///{tmp_path / 'erp.db'}"
    erp = build_erp(url, key_path=tmp_path / "approval.key", registry=broken_registry("hush"))
    arguments: JsonObject = {"sku": "A-1", "delta": 1, "reason": "private"}
    with caplog.at_level(logging.INFO):
        async with Client(host.erp.server) as good, Client(erp.server) as client:
            token = host.grant(await preview_of(good, "adjust_stock", **arguments))
            caplog.clear()
            refused, answer = await ask(client, "adjust_stock", token, **arguments)
    erp.close()
    assert refused
    assert answer["error"]["code"] == "internal_error"
    assert answer["error"]["incident"] in caplog.text
    assert "RuntimeError" in caplog.text
    for secret in ("hush", "private", token):
        assert secret not in str(answer) + caplog.text


def test_an_internal_skill_without_work_stops_the_start(host: Host, tmp_path: Path) -> None:
    """The server names the skill's file instead of leaving it out in silence."""
    registry = load_registry()
    stray = Skill("stray", "nothing", "internal", (), {}, "body", Path("skills/stray/SKILL.md"))
    with pytest.raises(SkillError, match=r"stray/SKILL\.md:1: there is no internal tool stray"):
        build_erp(f"sqlite:///{tmp_path / 'erp.db'}", offer=READS, registry=Registry(registry, [stray]))


@pytest.mark.parametrize("writes", [False, True])
async def test_the_server_alone_over_stdio(tmp_path: Path, writes: bool) -> None:
    """``python -m erp_mcp serve``: reads only unless --writes, and a preview writes nothing."""
    url = f"sqlite:///{tmp_path / 'erp.db'}"
    make_small_erp(url)
    arguments = ["-m", "erp_mcp", "serve", "--db", url, *(["--writes"] if writes else [])]
    transport = StdioTransport(sys.executable, arguments, env={"COUNTERSIGN_HOME": str(tmp_path)})
    async with Client(transport) as client:
        names = {tool.name for tool in await client.list_tools()}
        assert (await ask(client, "get_order", order_id="1001"))[1]["order_id"] == OPEN
        assert ("cancel_order" in names) == writes
        if writes:
            assert (await preview_of(client, "cancel_order", order_id=OPEN, reason="x")).is_whole()
    assert (tmp_path / "approval.key").exists() == writes


def test_what_cannot_be_served_is_one_line_and_an_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing database or an unknown time zone: no traceback, and what to do about it."""
    assert main(["serve", "--db", f"sqlite:///{tmp_path / 'none.db'}"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "countersign init" in said
    assert not (tmp_path / "none.db").exists()
    monkeypatch.setenv("COUNTERSIGN_TIMEZONE", "Mars/Olympus")
    assert main(["serve"]) == 1
    assert "Mars/Olympus" in capsys.readouterr().err


def test_help_answers_without_loading_the_server() -> None:
    """A usage question does not wait for frameworks."""
    code = (
        "import sys, erp_mcp.__main__ as m; m._parser(); print('fastmcp' in sys.modules, 'sqlalchemy' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False False"


def test_stdio_and_the_agent_load_no_web_framework() -> None:
    """FastAPI is for those who serve HTTP."""
    code = "import sys, erp_mcp.commands, erp_mcp.app; print('fastapi' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


async def test_two_sessions_see_one_erp(host: Host) -> None:
    """E15's half that concerns the server: what one client changed, the other reads, with the new version."""
    async with Client(host.erp.server) as one, Client(host.erp.server) as two:
        _, before = await ask(two, "get_order", order_id=OPEN)
        shown = await preview_of(one, "cancel_order", order_id=OPEN, reason="x")
        await ask(one, "cancel_order", host.grant(shown), order_id=OPEN, reason="x")
        _, after = await ask(two, "get_order", order_id=OPEN)
    assert (before["status"], before["version"]) == ("confirmed", 1)
    assert (after["status"], after["version"]) == ("cancelled", 2)
    with host.erp.store.read() as tx:
        assert tx.connection.scalar(sa.select(operations.c.tool)) == "cancel_order"
