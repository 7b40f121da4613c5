"""The bound tools' live schemas: planned calls are written with the argument names that the schema has today."""

from dataclasses import dataclass
from typing import Any, Final

from erp_mcp.contract import JsonObject
from erp_mcp.errors import ErpError
from graph.planner.steps import Call

_OTHER_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "order_id": ("order_number", "order_no", "order", "orderId", "number", "id"),
    "sku": ("product_sku", "product", "product_id", "item_id", "item", "code"),
    "customer": ("customer_id", "customer_ref", "customerId", "client"),
    "quantity": ("qty", "amount", "count"),
    "delta": ("change", "quantity_change", "quantity", "adjustment"),
    "reason": ("comment", "why", "note", "cancel_reason"),
    "lines": ("items", "order_lines", "positions"),
    "date_from": ("from_date", "start_date", "since", "from"),
    "date_to": ("to_date", "end_date", "until", "to"),
    "warehouse": ("warehouse_code", "location"),
    "status": ("state", "order_status"),
    "query": ("q", "text", "search"),
    "limit": ("max_results", "page_size"),
    "note": ("comment", "remark"),
    "skus": ("products", "items"),
}
"""What an argument was, or may be, called elsewhere; tried only when the schema lacks the name of DESIGN section 7."""


@dataclass(frozen=True)
class Toolbox:
    """The tools bound to this call of the model, by name, each with its JSON Schema of arguments."""

    schemas: dict[str, JsonObject]

    @classmethod
    def of(cls, tools: list[JsonObject]) -> "Toolbox":
        """From OpenAI-format tool dictionaries, as ``bind_tools`` keeps them; others are passed over."""
        functions = [tool.get("function") for tool in tools if isinstance(tool, dict)]
        return cls({f["name"]: f.get("parameters") or {} for f in functions if isinstance(f, dict) and f.get("name")})

    def live(self, call: Call) -> Call:
        """The call with the live schema's argument names.

        Raises:
            ErpError: ``tool_not_offered``, or ``schema_changed`` where an argument has no place in the schema or the
                schema demands one that the planner does not know.
        """
        if call.tool not in self.schemas:
            raise ErpError("tool_not_offered", f"the tool {call.tool} is not available here", "ask for something else")
        schema = self.schemas[call.tool]
        return Call(call.tool, _renamed(call.arguments, schema, schema, call.tool))


def _renamed(arguments: JsonObject, schema: JsonObject, root: JsonObject, tool: str) -> JsonObject:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return arguments
    named: JsonObject = {}
    for name, value in arguments.items():
        free = [n for n in (name, *_OTHER_NAMES.get(name, ())) if n in properties and n not in named]
        if not free:
            raise ErpError(
                "schema_changed", f"the tool {tool} takes no argument like {name!r}", "ask for something else"
            )
        named[free[0]] = _value(value, properties[free[0]], root, tool)
    missing = [n for n in schema.get("required", []) if n not in named]
    if missing:
        raise ErpError("schema_changed", f"the tool {tool} also needs {missing[0]!r}", "give it in another way")
    return named


def _value(value: Any, schema: Any, root: JsonObject, tool: str) -> Any:
    schema = _followed(schema, root)
    if isinstance(value, list):
        item = _followed(schema.get("items"), root)
        return [_renamed(v, item, root, tool) if isinstance(v, dict) else v for v in value]
    if isinstance(value, dict):
        return _renamed(value, schema, root, tool)
    if isinstance(value, int) and not isinstance(value, bool) and schema.get("type") == "string":
        return str(value)
    return value


def _followed(schema: Any, root: JsonObject) -> JsonObject:
    """The schema behind a local ``$ref``; an empty one for anything that is no schema."""
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    if isinstance(reference, str) and reference.startswith("#/"):
        found: Any = root
        for step in reference[2:].split("/"):
            found = found.get(step) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else {}
    return schema if isinstance(schema, dict) else {}
