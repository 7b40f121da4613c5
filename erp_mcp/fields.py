"""What a skill says of its tool's arguments and results, held against their schemas: personal fields, owner, route."""

from collections.abc import Iterable, Sequence
from typing import Any

from erp_mcp.contract import JsonObject
from erp_mcp.skill import BelongsTo, Skill

Hidden = dict[str, Any]
"""Fields to leave out, as pydantic's ``exclude`` takes them."""


def check_fields(skill: Skill, arguments: JsonObject, result: JsonObject) -> None:
    """Refuse a skill that speaks of fields which its tool does not have, or could not do without.

    Args:
        skill: what it says.
        arguments: JSON Schema of the tool's arguments.
        result: JSON Schema of its result.

    Raises:
        SkillError: with the line of what is wrong.
    """
    if skill.personal and skill.risk != "read":
        raise skill.error(
            "personal", f"what a {skill.risk} tool answers is shown whole, or not: put personal:read among its scopes"
        )
    for path in skill.personal:
        _check_personal(skill, path, result)
    properties = arguments.get("properties", {})
    if isinstance(skill.belongs_to, BelongsTo):
        argument = skill.belongs_to.argument
        if properties.get(argument, {}).get("type") != "string":
            raise skill.error("belongs_to", f"belongs_to names {argument!r}, which is no text argument of the tool")
    if skill.route is not None:
        for name in skill.route.parameters:
            if name not in arguments.get("required", []) or properties[name].get("type") != "string":
                raise skill.error("rest", f"rest has {{{name}}}, which is no required text argument of the tool")
        if skill.risk == "write" and skill.route.method == "GET":
            raise skill.error("rest", "rest has GET for a tool that writes")


def _check_personal(skill: Skill, path: str, schema: JsonObject) -> None:
    """Without a personal field the result must still fit its schema, so the field is one that may be left out."""
    node = schema
    *above, last = path.split(".")
    for step in above:
        node = node.get("properties", {}).get(step.removesuffix("[]"), {})
        node = node.get("items", {}) if step.endswith("[]") else node
    if last not in node.get("properties", {}):
        raise skill.error("personal", f"personal has {path!r}, which is no field of the result")
    if last in node.get("required", []):
        raise skill.error("personal", f"personal has {path!r}, which the result cannot be without: make it optional")


def hidden(paths: Iterable[str]) -> Hidden:
    """The fields to leave out, from paths such as ``items[].contact``."""
    tree: Hidden = {}
    for path in paths:
        _hide(tree, path.replace("[]", ".__all__").split("."))
    return tree


def _hide(tree: Hidden, steps: Sequence[str]) -> None:
    first, *rest = steps
    if rest:
        _hide(tree.setdefault(first, {}), rest)
    else:
        tree[first] = True


def refuse_same_routes(skills: Iterable[Skill]) -> None:
    """Refuse two tools at one address.

    Raises:
        SkillError: of the second one.
    """
    seen: dict[tuple[str, str], Skill] = {}
    for skill in skills:
        if skill.route is not None:
            first = seen.setdefault(skill.route.shape, skill)
            if first is not skill:
                raise skill.error("rest", f"rest has the address of {first.name} already")
