"""Every error code of the ERP, found in its source, is provoked over MCP, and its hint is a step that can be taken."""

import ast
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jwt
import pytest
import sqlalchemy as sa
from fastmcp import Client

import erp_mcp
from erp_mcp.auth.doorkeeper import Doorkeeper
from erp_mcp.auth.tokens import TokenFile
from erp_mcp.contract import META_GRANT, JsonObject
from erp_mcp.errors import RETRYABLE
from erp_mcp.registry import load_registry
from erp_mcp.store import connect, failures
from erp_mcp.store.tables import customers
from erp_mcp.web.app import build_app
from tests.integration.http_fixtures import mcp_client, serving
from tests.integration.small_erp import OPEN, SHIPPED, Host, ask, make_small_erp, open_host, preview_of, send

TOOLS: Final = frozenset({*load_registry().tools, "batch"})
CANCEL: Final[JsonObject] = {"order_id": OPEN, "reason": "ordered by mistake"}
ADJUST: Final[JsonObject] = {"sku": "A-1", "delta": -5, "reason": "count"}

NOT_OVER_MCP: Final = {
    "database_schema_newer": "found on opening, before there is a server",
    "database_schema_older": "found on opening, before there is a server",
    "invalid_tier": "refuses products on their way in",
    "key_missing": "stops the start",
    "key_unusable": "stops the start",
    "setting_invalid": "stops the start",
    "no_tokens": "stops the start",
    "address_unusable": "stops the start",
    "start_failed": "stops the start",
    **dict.fromkeys(("scope_unknown", "token_exists", "token_name_invalid", "token_not_found"), "of the command token"),
    **dict.fromkeys(
        (
            "invalid_json", "method_not_allowed", "misdirected", "request_too_large", "request_too_slow",
            "tokens_unusable", "unauthorized", "unknown_route", "unsupported_media_type",
        ),
        "answered by HTTP, before a tool is reached",
    ),
}  # fmt: skip
"""Codes that no request can meet, and why; each has its test where it is raised."""

NEXT_STEP: Final = re.compile(
    r"(?i)call again|call the tool (again )?without|the same call again|ask the user|tell the user|show the user"
    r"|send the grant|ask whoever runs|use one of|make the file|check the path|`countersign init`"
)
"""What there is to do where no other tool helps: this call again in another form, a person, the installation."""


@dataclass
class Scene:
    """What a provocation has in its hands."""

    host: Host
    client: Client[Any]
    home: Path
    stack: ExitStack


Answer = tuple[bool, JsonObject]
Provocation = Callable[[Scene], Awaitable[Answer]]


def calling(tool: str, **arguments: Any) -> Provocation:
    """Just a call."""
    return lambda scene: send(scene.client, tool, arguments, {})


async def two_of_one_name(scene: Scene) -> Answer:
    with scene.host.erp.store.write() as tx:
        tx.connection.execute(sa.update(customers).values(name_key="twin"))
    return await ask(scene.client, "get_customer", customer="Twin")


async def cancelled_twice(scene: Scene) -> Answer:
    await ask(scene.client, "cancel_order", await granted(scene, "cancel_order", CANCEL), **CANCEL)
    return await ask(scene.client, "cancel_order", **CANCEL)


async def stale(scene: Scene) -> Answer:
    token, other = [await granted(scene, "adjust_stock", ADJUST) for _ in range(2)]
    await ask(scene.client, "adjust_stock", other, **ADJUST)
    return await ask(scene.client, "adjust_stock", token, **ADJUST)


async def forged(scene: Scene) -> Answer:
    return await ask(scene.client, "cancel_order", "no token", **CANCEL)


async def too_late(scene: Scene) -> Answer:
    token = await granted(scene, "cancel_order", CANCEL)
    claims = jwt.decode(token, options={"verify_signature": False})
    claims |= {"iat": int(time.time()) - 100, "exp": int(time.time()) - 60}
    key = (scene.home / "approval.key").read_bytes().strip()
    late = jwt.encode(claims, key, algorithm="HS256", headers={"kid": "local"})
    return await ask(scene.client, "cancel_order", late, **CANCEL)


async def for_another_tool(scene: Scene) -> Answer:
    return await ask(scene.client, "adjust_stock", await granted(scene, "cancel_order", CANCEL), **ADJUST)


async def a_table_is_gone(scene: Scene) -> Answer:
    with scene.host.erp.store.write() as tx:
        tx.connection.execute(sa.text("DROP TABLE order_lines"))
    return await ask(scene.client, "get_order", order_id=OPEN)


async def another_writer(scene: Scene) -> Answer:
    token = await granted(scene, "cancel_order", CANCEL)
    scene.stack.enter_context(scene.host.erp.store.write())
    return await ask(scene.client, "cancel_order", token, **CANCEL)


async def a_file_that_is_gone(scene: Scene) -> Answer:
    scene.host.erp.store.close()  # connections that are open would keep the file
    (scene.home / "erp.db").unlink()
    return await ask(scene.client, "get_order", order_id=OPEN)


async def a_file_of_something_else(scene: Scene) -> Answer:
    scene.host.erp.store.close()
    (scene.home / "erp.db").write_bytes(b"not a database" * 1000)
    return await ask(scene.client, "get_order", order_id=OPEN)


async def a_file_that_is_only_read(scene: Scene) -> Answer:
    token = await granted(scene, "cancel_order", CANCEL)
    reading = open_host(f"sqlite:///{scene.home / 'erp.db'}?mode=ro", scene.home)
    scene.stack.callback(reading.erp.close)
    async with Client(reading.erp.server) as client:
        return await send(client, "cancel_order", CANCEL, {META_GRANT: token})


async def without_the_scope(scene: Scene) -> Answer:
    tokens = TokenFile(scene.home / "tokens.json")
    token = tokens.add("desk", ["stock:read"])
    address = scene.stack.enter_context(serving(build_app(scene.host.erp, Doorkeeper(tokens))))
    async with mcp_client(address, token) as client:
        return await send(client, "get_order", {"order_id": OPEN}, {})


PROVOKED: Final[dict[str, Provocation]] = {
    "already_cancelled": cancelled_twice,
    "ambiguous": two_of_one_name,
    "customer_not_found": calling("get_customer", customer="nobody"),
    "database_busy": another_writer,
    "database_missing": a_file_that_is_gone,
    "database_read_only": a_file_that_is_only_read,
    "database_unusable": a_file_of_something_else,
    "forbidden": without_the_scope,
    "grant_expired": too_late,
    "grant_invalid": forged,
    "grant_mismatch": for_another_tool,
    "insufficient_stock": calling("adjust_stock", sku="A-1", delta=-81, reason="count"),
    "internal_error": a_table_is_gone,
    "invalid_argument": calling("get_order", order_id=7),
    "invalid_cursor": calling("list_orders", cursor="made up"),
    "invalid_filter": calling("list_orders", status="shippd"),
    "mixed_currencies": calling("create_order", customer="ACME", lines=[{"sku": "EURO", "quantity": 1}]),
    "not_a_write": calling("batch", calls=[{"tool": "get_order", "arguments": {"order_id": OPEN}}]),
    "nothing_to_change": calling("update_order", order_id=OPEN, note=""),
    "not_cancellable": calling("cancel_order", order_id=SHIPPED, reason="late"),
    "not_returnable": calling("request_return", order_id=OPEN, lines=[{"sku": "A-1", "quantity": 1}], reason="broken"),
    "not_updatable": calling("update_order", order_id=SHIPPED, note="later"),
    "order_not_found": calling("get_order", order_id="no such order"),
    "product_discontinued": calling("create_order", customer="ACME", lines=[{"sku": "DEAD", "quantity": 1}]),
    "product_not_found": calling("get_product", sku="no such SKU"),
    "return_exceeds_order": calling(
        "request_return", order_id=SHIPPED, lines=[{"sku": "A-1", "quantity": 2}], reason="broken"
    ),
    "stale_version": stale,
    "stock_not_found": calling("get_stock", sku="A-1", warehouse="EAST"),
    "unknown_tool": calling("get_oder"),
    "warehouse_not_found": calling("get_stock", sku="A-1", warehouse="WEST"),
}


async def granted(scene: Scene, tool: str, arguments: JsonObject) -> str:
    """A grant for a call as it would be now."""
    return scene.host.grant(await preview_of(scene.client, tool, **arguments))


def codes_in_source() -> Iterator[str]:
    """The first argument of every ``ErpError(…)`` in the package but for the importers, which no tool reaches; the
    store's failures take theirs from a table."""
    package = Path(erp_mcp.__file__).parent
    for path in package.rglob("*.py"):
        if path.is_relative_to(package / "importers"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ErpError":
                if isinstance(node.args[0], ast.Constant):
                    yield str(node.args[0].value)
                else:
                    assert path == Path(failures.__file__), f"{path}:{node.lineno}: a code that no test can find"
                    yield from failures._SAID


def test_every_code_is_provoked_here_or_cannot_be() -> None:
    """A new code without a provocation is a refusal that nobody has seen."""
    assert set(codes_in_source()) == PROVOKED.keys() | NOT_OVER_MCP.keys()
    assert not PROVOKED.keys() & NOT_OVER_MCP.keys()


@pytest.mark.parametrize("code", PROVOKED)
async def test_a_refusal_has_its_code_and_a_hint_that_can_be_followed(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error has its code, a message and a next step; what looks like a tool in the hint is one."""
    monkeypatch.setattr(connect, "BUSY_MILLISECONDS", 50)
    make_small_erp(url := f"sqlite:///{tmp_path / 'erp.db'}")
    host = open_host(url, tmp_path)
    with ExitStack() as stack:
        stack.callback(host.erp.close)
        async with Client(host.erp.server) as client:
            refused, answer = await PROVOKED[code](Scene(host, client, tmp_path, stack))
    error = answer["error"]
    assert refused
    assert error["code"] == code
    assert error["retryable"] == (code in RETRYABLE)
    assert error["message"]
    named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", error["hint"]))
    assert named - TOOLS - ARGUMENTS == set()
    assert named & TOOLS or NEXT_STEP.search(error["hint"]), error["hint"]
    assert "Traceback" not in str(error)


ARGUMENTS: Final = frozenset(
    {"next_cursor", *(name for tool in load_registry() for name in tool.arguments.model_fields)}
)
"""Words with an underscore that a hint may use besides tools' names."""
