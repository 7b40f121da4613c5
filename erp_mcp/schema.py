"""From a typed function to JSON Schemas that strict function-calling clients accept.

Strict clients (Gemini, Vertex, OpenAI's strict mode) refuse references, ``anyOf`` with null, nested unions and regular
expressions with look-around. So references are put in place, an optional value is one that may be left out, and what
cannot be said that plainly fails the start rather than a user's first call.
"""

import inspect
import json
import types
from collections.abc import Callable
from functools import cache
from typing import Any, Final, Union, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo

from erp_mcp.contract import JsonObject
from erp_mcp.errors import ErpError

_DROPPED: Final = ("title", "discriminator")


class SchemaError(Exception):
    """A signature or a model that strict clients could not read."""


def arguments_model(function: Callable[..., Any]) -> type[BaseModel]:
    """The model of a tool's arguments: its parameters but the first, which is the transaction.

    Args:
        function: a tool function; each parameter carries its type, an optional one is ``X | None = None``.

    Raises:
        SchemaError: a parameter without a type, or a ``*args``-like one.
    """
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.name not in hints or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise SchemaError(f"{function.__name__}: parameter {parameter.name} has no type of its own")
        required = parameter.default is parameter.empty
        fields[parameter.name] = (hints[parameter.name], ... if required else parameter.default)
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid", frozen=True), **fields)


def input_schema(model: type[BaseModel]) -> JsonObject:
    """What ``tools/list`` shows as a tool's arguments."""
    return strict_schema(model.model_json_schema(mode="validation"))


def output_schema(model: type[BaseModel]) -> JsonObject:
    """What ``tools/list`` shows as a tool's result, which is dumped without its None values."""
    return strict_schema(model.model_json_schema(mode="serialization"))


def strict_schema(schema: JsonObject) -> JsonObject:
    """The same schema in the words that every client knows.

    Raises:
        SchemaError: recursion, a union of several types, or a look-around pattern: the model itself has to change.
    """
    plain = _plain(schema, schema.get("$defs", {}), ())
    if plain.get("type") != "object":
        raise SchemaError("the top level is not an object")
    return plain


def _plain(node: JsonObject, definitions: JsonObject, path: tuple[str, ...]) -> JsonObject:
    node = _nullable_to_plain(_in_place(node, definitions, path))
    if "$ref" in node:
        return _plain(node, definitions, path)
    if "pattern" in node and "(?" in node["pattern"]:
        raise SchemaError(f"pattern {node['pattern']} has a group that strict clients refuse")
    out = {key: value for key, value in node.items() if key not in (*_DROPPED, "$defs", "x-ref")}
    path = path + ((node["x-ref"],) if "x-ref" in node else ())
    if "const" in out:
        out["enum"] = [out.pop("const")]
    if "default" in out and out["default"] is None:
        del out["default"]
    if "properties" in node:
        out["properties"] = {name: _plain(child, definitions, path) for name, child in node["properties"].items()}
        _drop_nullable_required(out, node)
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            out[key] = _plain(node[key], definitions, path)
    return out


def _in_place(node: JsonObject, definitions: JsonObject, path: tuple[str, ...]) -> JsonObject:
    """A reference replaced by what it names; words beside it (a description) win."""
    if "$ref" not in node:
        return node
    name = node["$ref"].rsplit("/", 1)[-1]
    if name in path:
        raise SchemaError(f"{name} contains itself")
    beside = {key: value for key, value in node.items() if key != "$ref"}
    target: JsonObject = definitions[name]
    return target | beside | {"x-ref": name}


def _nullable_to_plain(node: JsonObject) -> JsonObject:
    """``anyOf [X, null]`` is X that may be left out."""
    if "anyOf" not in node and "oneOf" not in node:
        return node
    union: list[JsonObject] = node.get("anyOf") or node.get("oneOf") or []
    choices = [choice for choice in union if choice.get("type") != "null"]
    if len(choices) != 1:
        raise SchemaError(f"a union of {len(choices)} types")
    beside = {key: value for key, value in node.items() if key not in ("anyOf", "oneOf")}
    return choices[0] | beside


def _drop_nullable_required(out: JsonObject, node: JsonObject) -> None:
    required = [name for name in node.get("required", []) if not _is_nullable(node["properties"][name])]
    out.pop("required", None)
    if required:
        out["required"] = required


def _is_nullable(node: JsonObject) -> bool:
    return any(choice.get("type") == "null" for choice in node.get("anyOf", []))


def parse_arguments(model: type[BaseModel], raw: JsonObject) -> BaseModel:
    """A client's arguments, checked and exact. A null is the same as leaving an optional argument out.

    Raises:
        ErpError: ``invalid_argument`` naming the field and the value.
    """
    given = {name: value for name, value in raw.items() if value is not None or name not in _optional(model)}
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise invalid_argument(error, model) from None  # its text would repeat every input


@cache
def _optional(model: type[BaseModel]) -> frozenset[str]:
    fields = model.model_fields.items()
    return frozenset(name for name, info in fields if not info.is_required() and _takes_none(info))


def _takes_none(info: FieldInfo) -> bool:
    return info.default is None or get_origin(info.annotation) in (Union, types.UnionType)


def normalised(arguments: BaseModel) -> JsonObject:
    """The arguments as they are signed: JSON values, defaults left out, quantities as decimal strings.

    So 1, 1.0 and "1", and an argument left out or given its default, are one and the same call.
    """
    return arguments.model_dump(mode="json", exclude_defaults=True)


def invalid_argument(error: ValidationError, model: type[BaseModel]) -> ErpError:
    """Pydantic's findings as one error of ours: the first in the message, all of them in the details."""
    problems = [_described(item) for item in error.errors(include_url=False)[:20]]
    first = problems[0]
    got = f" (got {first['value']})" if "value" in first else ""
    names = ", ".join(model.model_fields)
    return ErpError(
        "invalid_argument",
        f"{first['field']} {first['problem']}{got}.",
        f"Correct {first['field']} and call again. The arguments are: {names}.",
        errors=problems,
    )


def _described(item: Any) -> JsonObject:
    problem = {"field": _path(item["loc"]), "problem": _problem(item)}
    # for a missing field pydantic gives the whole object as the input
    return problem if item["type"] == "missing" else problem | {"value": shown(item["input"])}


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else _printable(step)
    return path or "arguments"


def _problem(item: Any) -> str:
    context = item.get("ctx", {})
    match item["type"]:
        case "argument":
            return str(context["problem"])
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return "is not an argument of this tool"
        case "too_long" | "string_too_long":
            unit = "characters" if isinstance(item["input"], str) else "entries"
            return f"is too long: at most {context['max_length']} {unit}"
        case "too_short" | "string_too_short":
            unit = "characters" if isinstance(item["input"], str) else "entries"
            return f"is too short: at least {context['min_length']} {unit}"
        case "greater_than_equal":
            return f"must be at least {context['ge']}"
        case "less_than_equal":
            return f"must be at most {context['le']}"
        case _:
            return f"is not right: {item['msg'][0].lower()}{item['msg'][1:]}"


def shown(value: Any) -> str:
    """A value as an error may repeat it: short, printable, valid text whatever came in."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int) and abs(value) > 10**30:
        return "a number of more than 30 digits"
    text = repr(value[:80] if isinstance(value, str) else value)
    return _printable(text if len(text) <= 80 else text[:77] + "…")


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
