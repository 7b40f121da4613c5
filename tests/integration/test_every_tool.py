"""Every tool of the registry through a real client: what it lists, takes and answers. A tool without a call fails."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
import sqlalchemy as sa
from fastmcp import Client

from erp_mcp.contract import JsonObject
from erp_mcp.registry import PLANNED, load_registry
from erp_mcp.store.tables import customers, stock
from tests.integration.small_erp import OPEN, SHIPPED, Host, ask, make_small_erp, open_host, preview_of

REGISTRY: Final = load_registry()
ADDRESS: Final = {"line1": "2 Side Street", "city": "Town", "country": "UK"}

CALLS: Final[dict[str, list[JsonObject]]] = {
    "adjust_stock": [{"sku": "B-2", "delta": -0.125, "reason": "spilt"}],
    "cancel_order": [{"order_id": OPEN, "reason": "mistake"}],
    "check_balance": [{"customer": "ACME"}],
    "check_shipping": [{"order_id": OPEN}, {"order_id": SHIPPED}],
    "compare_quotes": [{"skus": ["A-1", "DEAD", "no such", "EURO"], "quantity": 2}],
    "compute_quote": [{"lines": [{"sku": "A-1", "quantity": 50}, {"sku": "EURO", "quantity": 1}], "customer": "ACME"}],
    "create_order": [{"customer": "ACME", "lines": [{"sku": "B-2", "quantity": 1.5}]}],
    "find_customers": [{"query": "acme"}, {"query": "nobody at all"}],
    "get_customer": [{"customer": "ACME"}],
    "get_customer_purchases": [{"customer": "ACME"}, {"customer": "ZWEI", "date_from": "2026-01-01"}],
    "get_order": [{"order_id": OPEN}],
    "get_product": [{"sku": "A-1"}],
    "get_stock": [{"sku": "A-1"}, {"sku": "NONE"}],
    "list_low_stock": [{"limit": 1}],
    "list_orders": [{}, {"detail": True, "limit": 1}],
    "request_return": [
        {"order_id": SHIPPED, "lines": [{"sku": "A-1", "quantity": 1}], "reason": "broken"} | exchange
        for exchange in ({}, {"exchange_for": [{"sku": "B-2", "quantity": 2}]})
    ],
    "sales_summary": [{"group_by": by} for by in ("product", "category", "customer", "country", "month")],
    "search_products": [{"query": "a", "limit": 2}, {"query": "no such thing"}],
    "stock_history": [{"sku": "A-1", "limit": 1}],
    "update_customer": [{"customer": "ACME", "address": ADDRESS, "phone": "+44 20 7946 0000"}],
    "update_order": [
        {"order_id": OPEN, "lines": [{"sku": "A-1", "quantity": 3}]},
        {"order_id": OPEN, "ship_to": ADDRESS},
    ],
}
"""At least one call of each tool on the small ERP; together they fill every field that a tool can fill there."""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """The small ERP, with a reorder level that is reached and a credit limit."""
    url = f"sqlite:///{tmp_path / 'erp.db'}"
    make_small_erp(url)
    opened = open_host(url, tmp_path)
    with opened.erp.store.write() as tx:
        tx.connection.execute(sa.update(stock).where(stock.c.sku != "DEAD").values(reorder_level_milli=90_000))
        tx.connection.execute(sa.update(customers).values(credit_limit_minor=500_000))
    yield opened
    opened.erp.close()


def test_every_tool_has_a_call_here() -> None:
    """A new tool without a call would escape every check of this file."""
    assert set(CALLS) == set(REGISTRY.tools)


@pytest.mark.guarantee("E16", "E18")
@pytest.mark.parametrize(("name", "arguments"), [(n, a) for n in REGISTRY.tools for a in CALLS.get(n, [])])
async def test_what_a_tool_answers_is_what_its_schema_says(host: Host, name: str, arguments: JsonObject) -> None:
    """Answer and receipt fit the listed output schema and hold no float; the call fits the input schema."""
    async with Client(host.erp.server) as client:
        listed = {tool.name: tool for tool in await client.list_tools()}[name]
        assert listed.outputSchema is not None
        check = jsonschema_rs.validator_for(listed.outputSchema)
        strings_allowed = {key: value for key, value in arguments.items() if key != "delta"}
        jsonschema_rs.validate(
            listed.inputSchema, strings_allowed | {"delta": 1} if "delta" in arguments else arguments
        )
        refused, answer = await ask(client, name, **arguments)
        assert not refused, answer
        check.validate(answer)
        assert list(floats(answer)) == []
        if REGISTRY.tool(name).risk in PLANNED:
            token = host.grant(await preview_of(client, name, **arguments))
            _, receipt = await ask(client, name, token, **arguments)
            assert receipt["status"] == "executed"
            check.validate(receipt)
            assert list(floats(receipt)) == []


@pytest.mark.guarantee("E17")
async def test_a_strict_client_can_read_every_tool(host: Host) -> None:
    """Top-level objects, no union, no reference, no null, no look-around, every property typed; inputs closed."""
    async with Client(host.erp.server) as client:
        tools = await client.list_tools()
    assert {tool.name for tool in tools} == {*REGISTRY.tools, "batch"}
    for tool in tools:
        assert re.fullmatch(r"[a-z][a-z0-9_]{0,63}", tool.name)
        assert 1 <= len(tool.description or "") <= 1024, tool.name
        assert tool.outputSchema is not None
        assert tool.inputSchema.get("additionalProperties") is False
        for schema in (tool.inputSchema, tool.outputSchema):
            assert schema["type"] == "object"
            assert list(faults(schema, tool.name)) == []


@pytest.mark.parametrize("name", list(REGISTRY.tools))
def test_a_description_says_when_to_take_its_neighbour(name: str) -> None:
    """The contract that the model reads names another tool, and only tools that exist."""
    named = set(re.findall(r"[a-z]+(?:_[a-z]+)+", REGISTRY.tool(name).skill.description)) & set(CALLS)
    assert named - {name}
    assert named <= set(REGISTRY.tools)


def floats(value: Any) -> Iterator[float]:
    """Every float inside an answer."""
    if isinstance(value, float):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from floats(child)


def faults(schema: JsonObject, path: str) -> Iterator[str]:
    """What a strict function-calling client would refuse, with its place."""
    for word in ("anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "const", "nullable", "if"):
        if word in schema:
            yield f"{path}: {word}"
    if not isinstance(schema.get("type"), str) or schema["type"] == "null":
        yield f"{path}: type {schema.get('type')}"
    if "(?" in schema.get("pattern", ""):
        yield f"{path}: pattern {schema['pattern']}"
    if "default" in schema and schema["default"] is None:
        yield f"{path}: default null"
    for name in schema.get("required", []):
        if name not in schema.get("properties", {}):
            yield f"{path}: required {name} is not a property"
    for name, child in schema.get("properties", {}).items():
        yield from faults(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict) and schema[key]:
            yield from faults(schema[key], f"{path}.{key}")
    if schema.get("type") == "array" and "items" not in schema:
        yield f"{path}: an array of anything"
