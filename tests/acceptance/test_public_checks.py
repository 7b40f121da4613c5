"""What MCP's own makers have published to check servers with finds nothing wrong, over stdio and over HTTP."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from erp_mcp.auth.tokens import FILE, TokenFile
from graph.books import make_books
from graph.settings import Settings
from tests.acceptance.public_checks import SCENARIOS, all_passed, conform, inspect
from tests.served import serving

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

ORDER = "SO19980506-11074"
READS = {"get_order", "list_orders", "search_products", "compute_quote"}
WRITES = {"cancel_order", "create_order", "adjust_stock", "check_balance"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A HOME with Northwind and a key in it."""
    settings = Settings(home=tmp_path_factory.mktemp("public"))
    make_books(settings, "northwind")
    return settings.home


@pytest.fixture(scope="module")
def over_http(home: Path) -> Iterator[str]:
    """The ERP's MCP server behind HTTP: where it answers. Strangers may read what is public."""
    command = ["erp_mcp", "serve", "--http", "--open", "--private"]
    with serving(command, {"COUNTERSIGN_HOME": str(home)}, home / "http.log") as server:
        yield f"{server.url}/mcp"


@pytest.fixture(scope="module")
def token(home: Path) -> str:
    """A token that may read everything."""
    return TokenFile(home / FILE).add("inspector", ["*"])


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest, home: Path, tmp_path: Path) -> list[str]:
    """How the Inspector finds the server: as a process that it starts itself, or behind HTTP."""
    if request.param == "http":
        header = f"Authorization: Bearer {request.getfixturevalue('token')}"
        return [request.getfixturevalue("over_http"), "--transport", "http", "--header", header]
    server = {
        "command": sys.executable,
        "args": ["-m", "erp_mcp", "serve", "--writes"],
        "env": {"COUNTERSIGN_HOME": str(home)},
    }
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"erp": server}}))
    return ["--config", str(config), "--server", "erp"]


def test_inspector_lists_the_tools_and_finds_their_schemas_portable(
    target: list[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    said = inspect(*target, "--method", "tools/list", "--strict", home=tmp_path)

    names = {tool["name"] for tool in said.body()["tools"]}
    assert names >= READS
    assert (names >= WRITES) == ("stdio" in request.node.name)


def test_inspector_calls_a_read(target: list[str], tmp_path: Path) -> None:
    said = inspect(*_call(target, "get_order", f"order_id={ORDER}"), home=tmp_path)

    answer = said.body()
    assert answer["structuredContent"]["customer_name"] == "Simons bistro"
    assert _text(answer) == answer["structuredContent"]


def test_inspector_shows_the_errors_own_words(target: list[str], tmp_path: Path) -> None:
    """It holds what is structured to the tool's output schema, errors too, and would show its own complaint instead."""
    said = inspect(*_call(target, "get_order", "order_id=SO19980506-99999"), home=tmp_path)

    answer = json.loads(said.out)
    assert answer["isError"] is True, said.whole
    assert _text(answer)["error"]["code"] == "order_not_found"


def test_inspector_asks_for_a_write_and_follows_it(home: Path, token: str, tmp_path: Path) -> None:
    """Its client holds each answer to the schema that the tool has published."""
    with serving(["countersign", "serve"], {"COUNTERSIGN_HOME": str(home)}, home / "serve.log") as server:
        target = [f"{server.url}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {token}"]
        asked = inspect(*_call(target, "cancel_order", f"order_id={ORDER}", "reason=by mistake"), home=tmp_path).body()
        name = asked["structuredContent"]["approval_id"]
        seen = inspect(*_call(target, "get_approval", f"approval_id={name}"), home=tmp_path).body()

    assert asked["structuredContent"]["status"] == "approval_required"
    assert seen["structuredContent"]["status"] == "pending"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_conformance(over_http: str, tmp_path: Path, scenario: str) -> None:
    said = conform(over_http, scenario, tmp_path)

    assert all_passed(said), said.whole


def _call(target: list[str], tool: str, *arguments: str) -> list[str]:
    given = [part for argument in arguments for part in ("--tool-arg", argument)]
    return [*target, "--method", "tools/call", "--tool-name", tool, *given]


def _text(answer: dict[str, Any]) -> Any:
    (content,) = answer["content"]
    return json.loads(content["text"])
