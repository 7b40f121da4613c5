"""What a host reads beside the tools: skills as resources, tasks as prompts, by who asks; and a third party's tool."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastmcp import Client
from mcp import McpError

from erp_mcp.auth.doorkeeper import Doorkeeper
from erp_mcp.auth.tokens import TokenFile
from erp_mcp.calls import Offer
from erp_mcp.errors import ErpError
from erp_mcp.grants import Verifier
from erp_mcp.handlers import all_calls
from erp_mcp.prompt import PROMPTS, load_prompts
from erp_mcp.registry import load_registry, skill_directories
from erp_mcp.skill import Route, SkillError
from erp_mcp.web.app import build_app
from tests.integration.http_fixtures import mcp_client, rest_client, serving
from tests.integration.small_erp import OPEN, Host, make_small_erp, open_host, send

GREETER = """---
name: greet_customer
description: Says hello to a customer by name; choose get_customer for anything else.
risk: read
exposure: public
scopes: [greetings:read]
personal: [text]
belongs_to: {customer: customer}
rest: GET /customers/{customer}/greeting
triggers:
  en: [one, two, three]
  zh: [一, 二, 三]
---
A greeting is a sign of respect.
"""
TOOL = """
from pydantic import BaseModel
from erp_mcp.queries.lookup import find_customer
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import CustomerRef

class Greeting(BaseModel):
    customer_id: str
    text: str | None = None

def greet_customer(tx: Tx, customer: CustomerRef) -> Greeting:
    found = find_customer(tx, customer)
    return Greeting(customer_id=found.id, text=f"Hello {found.name}")
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """The small ERP with every tool of ours and one of somebody else."""
    url = f"sqlite:///{tmp_path / 'erp.db'}"
    make_small_erp(url)
    theirs = tmp_path / "theirs" / "greet_customer"
    theirs.mkdir(parents=True)
    (theirs / "SKILL.md").write_text(GREETER, encoding="utf-8")
    (theirs / "tool.py").write_text(TOOL, encoding="utf-8")
    registry = load_registry(skill_directories(str(theirs.parent)))
    opened = open_host(url, tmp_path, registry=registry, outside=Offer(writes=True))
    yield opened
    opened.erp.close()


async def test_each_skill_is_a_resource(host: Host) -> None:
    """The business definition as it stands in SKILL.md, without the front matter."""
    async with Client(host.erp.server) as client:
        found = {str(resource.uri) for resource in await client.list_resources()}
        (content,) = await client.read_resource("skill://get_order")
    assert found == {"erp://instance", *(f"skill://{tool.name}" for tool in host.erp.registry)}
    assert content.mimeType == "text/markdown"
    assert content.text.startswith("# An order")
    assert "risk:" not in content.text


async def test_each_task_is_a_prompt(host: Host) -> None:
    """With its arguments, filled in as they came: braces in them stay braces."""
    async with Client(host.erp.server) as client:
        prompts = {prompt.name: prompt for prompt in await client.list_prompts()}
        asked = {"order_id": OPEN, "reason": "they said {order_id} {0}"}
        filled = await client.get_prompt("cancel_an_order", asked)
        with pytest.raises(McpError, match="needs reason"):
            await client.get_prompt("cancel_an_order", {"order_id": OPEN})
    assert set(prompts) == {path.stem for path in PROMPTS.glob("*.md")}
    assert [argument.name for argument in prompts["cancel_an_order"].arguments or []] == ["order_id", "reason"]
    text = filled.messages[0].content.text
    assert text.startswith(f"Cancel order {OPEN}, because: they said {{order_id}} {{0}}")


async def test_who_may_not_call_is_not_told_how(host: Host, tmp_path: Path) -> None:
    """Resources and prompts go with the tools that a token may call."""
    kept = TokenFile(tmp_path / "tokens.json")
    token = kept.add("parcels", ["shipping:read"])
    with serving(build_app(host.erp, Doorkeeper(kept))) as address:
        async with mcp_client(address, token) as client:
            assert {str(found.uri) for found in await client.list_resources()} == {
                "erp://instance", "skill://check_shipping",
            }  # fmt: skip
            assert [prompt.name for prompt in await client.list_prompts()] == ["where_is_my_order"]
            assert await client.read_resource("skill://check_shipping")
            with pytest.raises(McpError, match="no resource"):
                await client.read_resource("skill://get_order")
            with pytest.raises(McpError, match="no prompt"):
                await client.get_prompt("cancel_an_order", {"order_id": OPEN, "reason": "x"})


async def test_a_third_partys_tool_is_served_by_the_same_rules(host: Host, tmp_path: Path) -> None:
    """By scope, personal field, owner and route, over MCP and REST, without a line of ours."""
    kept = TokenFile(tmp_path / "tokens.json")
    plain = kept.add("plain", ["greetings:read"])
    bound = kept.add("bound", ["greetings:read", "personal:read"], customer="ACME")
    none = kept.add("none", ["orders:read"])
    with serving(build_app(host.erp, Doorkeeper(kept))) as address:
        async with mcp_client(address, plain) as client:
            _, answer = await send(client, "greet_customer", {"customer": "ZWEI"}, {})
            assert answer == {"customer_id": "ZWEI"}
        async with mcp_client(address, bound) as client:
            _, answer = await send(client, "greet_customer", {}, {})
            assert answer == {"customer_id": "ACME", "text": "Hello Acme Ltd"}
            _, answer = await send(client, "greet_customer", {"customer": "ZWEI"}, {})
            assert answer["error"]["code"] == "customer_not_found"
        async with mcp_client(address, none) as client:
            assert "greet_customer" not in {tool.name for tool in await client.list_tools()}
        async with rest_client(address, bound) as client:
            greeted = await client.get("/api/customers/ACME/greeting")
            described = (await client.get("/api/openapi.json")).json()
    assert json.loads(greeted.content)["text"] == "Hello Acme Ltd"
    assert "/api/customers/{customer}/greeting" in described["paths"]


async def test_outside_gets_what_is_public_and_inside_everything(host: Host, tmp_path: Path) -> None:
    """A token of every scope does not reach what the operator did not put up; the agent in the process does."""
    kept = TokenFile(tmp_path / "tokens.json")
    token = kept.add("all", ["*"])
    with serving(build_app(host.erp, Doorkeeper(kept))) as address:
        async with mcp_client(address, token) as client:
            outside = {tool.name for tool in await client.list_tools()}
            _, answer = await send(client, "get_customer", {"customer": "ACME"}, {})
    async with Client(host.erp.server) as client:
        inside = {tool.name for tool in await client.list_tools()}
    private = {
        tool.name for tool in host.erp.registry if tool.risk == "read" and tool.skill.exposure == "private"
    }  # fmt: skip
    assert inside - outside == private
    assert "get_customer" in private
    assert answer["error"]["code"] == "unknown_tool"
    assert "get_customer" not in answer["error"]["hint"]


@pytest.mark.parametrize(("name", "path"), [("greet_customer", "/x"), ("welcome", "/customers/{name}/greeting")])
def test_a_tool_of_the_host_keeps_its_name_and_address(host: Host, name: str, path: str) -> None:
    """A third party's that has the same is refused at the start, with its file."""
    served = replace(host.erp.calls.served["get_order"], name=name, route=Route("GET", path))
    with pytest.raises(SkillError, match=r"greet_customer/SKILL\.md:\d: (name|rest) is that of a tool of the host"):
        all_calls(host.erp.store, host.erp.registry, Verifier(b"x" * 32, "x"), further=[served])


def test_a_prompt_that_uses_what_there_is_not_stops_the_start() -> None:
    """And a skill's fault is an error like any other: a code, and what to do."""
    with pytest.raises(SkillError, match=r"uses .*, which there is not") as refused:
        load_prompts(["get_order", "cancel_order"])
    assert isinstance(refused.value, ErpError)
    assert refused.value.code == "skill_invalid"
