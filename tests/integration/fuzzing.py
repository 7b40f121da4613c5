"""Arguments for any tool, made from its own JSON Schema, and the same with something wrong in one place."""

import copy
from collections.abc import Iterator
from typing import Any, Final

from hypothesis import strategies as st

from erp_mcp.contract import JsonObject
from tests.integration.small_erp import OPEN, PRODUCTS, SHIPPED

KNOWN: Final[dict[str, list[Any]]] = {
    "order_id": [OPEN, SHIPPED, SHIPPED, "1001", " so20260102-1001 ", "1"],
    "customer": ["ACME", "zwei gmbh", "ＥＵＲＣ", "nobody"],
    "sku": ["A-1", "A-1", *PRODUCTS, "a-1", "Ｂ-２", "no such"],
    "warehouse": ["MAIN", "main", "EAST", "WEST"],
    "status": ["pending", "confirmed", " Shipped", "cancelled", "shippd"],
    "category": ["Food", "food", "Tools", "fo"],
    "date_from": ["2026-01-01", "2026-01-02", "2026-01-03", "2030-01-01", "0001-01-01"],
    "date_to": ["2026-01-01", "2026-01-02", "2026-01-03", "1999-12-31", "9999-12-31"],
    "query": ["a", "apples", "acme", "%", "_", "one last"],
    "quantity": [1, 1, 1, 2, 2.5, "0.125", "1", 50, 999_999_999, 1e-3],
    "delta": [1, -1, "-0.5", -81, 1_000_000_000],
    **{name: ["late", "1 Road"] for name in ("reason", "note", "line1", "city", "country", "phone")},
    "limit": [1, 2, 100, "5"],
    "email": ["a@b.example"],
    "tool": ["cancel_order", "get_order", "update_order", "no_such_tool"],
    "arguments": [{"order_id": OPEN, "reason": "late"}, {"order_id": OPEN, "note": "late"}, {}],
}
"""What stands in the small ERP or nearly does, by the argument's name."""

ODD: Final[list[Any]] = [
    None, True, False, 0, -1, 0.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf"), 2**53 + 1, 2**70, 10**400,
    "", " ", "\0", "a\0b", "\ud800", "x\udfff", "\u202egnp", "\x1b[2J", "é" * 3000, "9" * 5000, "1e400", "NaN", "0x10",
    "１２", "null", "2026-02-30", "2026-1-1", "'; DROP TABLE orders; --", "%", "\\", [], [None], [[]], [{}] * 600, {},
    {"a": 1}, {"sku": "A-1"}, {"sku": "A-1", "quantity": 1, "price": 0},
]  # fmt: skip
"""What no argument should be, or only by chance; a lone surrogate as a key no client of MCP's SDK can send."""


def arguments_for(schema: JsonObject) -> st.SearchStrategy[JsonObject]:
    """What a schema asks for, mostly with values that exist; and often enough with one thing wrong."""
    right = value_for(schema)
    return st.one_of(right, st.tuples(right, st.integers(0, 10**6), st.sampled_from(ODD), st.booleans()).map(_wrong))


def value_for(schema: JsonObject, name: str = "") -> st.SearchStrategy[Any]:
    """A value that fits the schema."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if name in KNOWN:
        return st.one_of(*[st.sampled_from(KNOWN[name])] * 5, _free(schema))
    return _free(schema)


def _free(schema: JsonObject) -> st.SearchStrategy[Any]:
    match schema.get("type"):
        case "string":
            return st.text(max_size=min(schema.get("maxLength", 30), 30))
        case "integer":
            return st.integers(schema.get("minimum", -5), schema.get("maximum", 2**40))
        case "number":
            return st.floats(-1e12, 1e12) | st.integers(-(2**40), 2**40) | st.decimals(0, 9, places=3).map(str)
        case "boolean":
            return st.booleans()
        case "array":
            low = schema.get("minItems", 0)
            return st.lists(value_for(schema["items"], _singular(schema["items"])), min_size=low, max_size=low + 2)
        case _:
            return _object(schema)


def _object(schema: JsonObject) -> st.SearchStrategy[Any]:
    properties = {name: value_for(child, name) for name, child in schema.get("properties", {}).items()}
    required = schema.get("required", [])
    return st.fixed_dictionaries(
        {name: values for name, values in properties.items() if name in required},
        optional={name: values for name, values in properties.items() if name not in required},
    )


def _singular(items: JsonObject) -> str:
    """A list of plain texts is a list of SKUs here."""
    return "sku" if items.get("type") == "string" else ""


def _wrong(drawn: tuple[JsonObject, int, Any, bool]) -> JsonObject:
    """One place of the arguments replaced, removed, or given a neighbour that no schema knows."""
    arguments, at, odd, keep = drawn
    changed: JsonObject = copy.deepcopy(arguments)
    places = [*_places(changed), (changed, "made_up")]
    container, key = places[at % len(places)]
    if keep or key == "made_up":
        container[key] = odd
    else:
        del container[key]
    return changed


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in list(children):
        yield value, key
        yield from _places(child)
