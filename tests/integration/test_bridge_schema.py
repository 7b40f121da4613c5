"""Arguments are checked against the whole JSON Schema before anything is sent: a bad value is refused with its path."""

import copy
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
import pytest_asyncio
from fastmcp import FastMCP
from fastmcp.server.context import Context
from fastmcp.tools import Tool, ToolResult
from mcp.types import ToolListChangedNotification

from erp_mcp.contract import META_RISK
from erp_mcp.errors import ErpError
from graph.bridge import Bridge
from graph.planner.model import PlannerModel

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["status", "code", "quantity", "lines"],
    "properties": {
        "status": {"enum": ["open", "closed"]},
        "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$", "maxLength": 6},
        "quantity": {"type": "number", "exclusiveMinimum": 0, "maximum": 100, "multipleOf": 0.01},
        "count": {"type": "integer", "minimum": 1, "default": 1},
        "note": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}], "default": None},
        "day": {"type": "string", "format": "date"},
        "lines": {
            "type": "array", "minItems": 1, "maxItems": 3, "uniqueItems": True, "items": {"$ref": "#/$defs/Line"},
        },
        "either": {"oneOf": [{"type": "integer"}, {"type": "array", "prefixItems": [{"const": "a"}], "items": False}]},
        "labels": {
            "type": "object", "propertyNames": {"pattern": "^[a-z]+$"}, "additionalProperties": {"type": "boolean"},
        },
    },
    "dependentRequired": {"count": ["day"]},
    "$defs": {
        "Sku": {"type": "string", "minLength": 1},
        "Line": {
            "type": "object", "required": ["sku"], "additionalProperties": False,
            "properties": {
                "sku": {"$ref": "#/$defs/Sku"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
            },
        },
    },
}  # fmt: skip
GOOD: Final[dict[str, Any]] = {
    "status": "open", "code": "AB-123", "quantity": 0.07, "count": 2, "note": None, "day": "2026-02-28",
    "lines": [{"sku": "A", "parts": [{"sku": "B"}]}], "either": ["a"], "labels": {"red": True},
}  # fmt: skip
BAD: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "not in the enum": ({"status": "opne"}, "status"),
    "null in an enum": ({"status": None}, "status"),
    "against the pattern": ({"code": "ab-123"}, "code"),
    "behind the pattern": ({"code": "AB-123\n"}, "code"),
    "a number for text": ({"code": 7}, "code"),
    "zero": ({"quantity": 0}, "quantity"),
    "above the maximum": ({"quantity": 100.01}, "quantity"),
    "too many places": ({"quantity": 0.075}, "quantity"),
    "true for a number": ({"quantity": True}, "quantity"),
    "a list for a number": ({"quantity": [1]}, "quantity"),
    "half a thing": ({"count": 1.5}, "count"),
    "below the minimum": ({"count": 0}, "count"),
    "an empty note": ({"note": ""}, "note"),
    "a note of numbers": ({"note": 5}, "note"),
    "no lines": ({"lines": []}, "lines"),
    "too many lines": ({"lines": [{"sku": s} for s in "ABCD"]}, "lines"),
    "a line twice": ({"lines": [{"sku": "A"}, {"sku": "A"}]}, "lines"),
    "an object for lines": ({"lines": {"sku": "A"}}, "lines"),
    "a line without its key": ({"lines": [{}]}, "lines.0"),
    "an unknown key in a line": ({"lines": [{"sku": "A", "qty": 1}]}, "lines.0"),
    "an empty reference": ({"lines": [{"sku": "A"}, {"sku": ""}]}, "lines.1.sku"),
    "a fault three references down": ({"lines": [{"sku": "A", "parts": [{"sku": "B", "parts": [{"sku": 1}]}]}]},
                                      "lines.0.parts.0.parts.0.sku"),
    "neither of two": ({"either": "a"}, "either"),
    "one too many in a tuple": ({"either": ["a", "b"]}, "either"),
    "a bad name of a label": ({"labels": {"Red": True}}, "labels"),
    "a bad value of a label": ({"labels": {"red": "yes"}}, "labels.red"),
    "an unknown argument": ({"force": True}, "arguments"),
}  # fmt: skip


class Everything(Tool):
    """A tool with the schema that has everything; it keeps what reaches it."""

    async def run(self, arguments: dict[str, Any], context: Context | None = None) -> ToolResult:
        """Answers with what came."""
        return ToolResult(content="ok", structured_content=arguments)


@pytest_asyncio.fixture
async def bridge() -> AsyncIterator[Bridge]:
    """A bridge to a server with that one tool."""
    server = FastMCP("everything")
    server.add_tool(Everything(name="everything", description="Takes all.", parameters=copy.deepcopy(SCHEMA)))
    async with Bridge(server) as opened:
        yield opened


async def test_what_fits_is_sent_as_it_is(bridge: Bridge) -> None:
    """Nothing is added or changed: defaults are the server's business."""
    bridge.check("everything", GOOD)
    least = {"status": "open", "code": "AB-123", "quantity": 1, "lines": [{"sku": "A"}]}
    bridge.check("everything", least)
    assert await bridge.read("everything", least) == least


@pytest.mark.parametrize("name", BAD)
async def test_each_bad_value_is_refused_with_its_path(bridge: Bridge, name: str) -> None:
    """Before the call, with a message that begins with where the fault is."""
    change, path = BAD[name]
    with pytest.raises(ErpError) as raised:
        bridge.check("everything", GOOD | change)
    assert raised.value.code == "invalid_argument"
    assert raised.value.message.startswith(f"{path}: ")
    assert path in raised.value.hint


@pytest.mark.parametrize("missing", ["status", "code", "quantity", "lines", "day"])
async def test_what_is_missing_is_named(bridge: Bridge, missing: str) -> None:
    """Required arguments, and those that others require."""
    with pytest.raises(ErpError, match=missing):
        bridge.check("everything", {name: value for name, value in GOOD.items() if name != missing})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53 + 2, "\ud800"])
async def test_what_json_cannot_carry_is_refused(bridge: Bridge, value: object) -> None:
    """Before the schema is asked: what is signed must be what arrives."""
    with pytest.raises(ErpError, match="not exact JSON"):
        bridge.check("everything", GOOD | {"note": value})


async def test_a_tool_of_our_own_follows_its_live_schema() -> None:
    """The ERP's server says that its list changed: the planner writes the argument's new name in its next call."""
    server = FastMCP("erp")

    @server.tool(meta={META_RISK: "read"})
    def get_order(order_id: str) -> str:
        return order_id

    @server.tool(meta={META_RISK: "read"})
    async def rename(ctx: Context) -> dict[str, str]:
        server.local_provider.remove_tool("get_order")

        @server.tool(name="get_order", meta={META_RISK: "read"})
        def get_order_renamed(order_number: str) -> str:
            return order_number

        await ctx.send_notification(ToolListChangedNotification())
        return {}

    async with Bridge(server) as bridge:
        names: list[str] = []
        for _ in range(2):
            await bridge.refresh()
            spoken = await PlannerModel().bind_tools(bridge.model_tools).ainvoke("Show order SO19980506-11074")
            names += spoken.tool_calls[0]["args"]
            await bridge.read("rename", {})
    assert names == ["order_id", "order_number"]


async def test_an_unknown_tool_is_answered_with_those_that_there_are(bridge: Bridge) -> None:
    """So that a model can choose another."""
    with pytest.raises(ErpError) as raised:
        bridge.check("nothing", {})
    assert (raised.value.code, "everything" in raised.value.hint) == ("unknown_tool", True)
