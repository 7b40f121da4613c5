"""The registry: skills and functions that match, and a start that fails with the file's name where they do not."""

import os
from pathlib import Path
from typing import Any

import pytest

from erp_mcp.contract import JsonObject
from erp_mcp.errors import ErpError
from erp_mcp.registry import SKILLS, load_registry, skill_directories
from erp_mcp.schema import SchemaError, arguments_model, input_schema
from erp_mcp.skill import SkillError
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import Sku

SKILL = """---
name: NAME
description: Says hello to a customer; choose it over get_customer when you only want to be polite.
risk: read
scopes: [demo]
triggers:
  en: [one, two, three]
  zh: [一, 二, 三]
---
Politeness.
"""
TOOL = """
from pydantic import BaseModel
from erp_mcp.operations.plan import Plan
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import CustomerRef

class Greeting(BaseModel):
    text: str

def say_hello(tx: Tx, customer: CustomerRef, loud: bool = False) -> Greeting:
    return Greeting(text=customer)
"""


def with_key(line: str) -> str:
    """The skill with one more line in its front matter, the sixth."""
    return SKILL.replace("triggers:", f"{line}\ntriggers:")


def folder(root: Path, name: str = "say_hello", skill: str = SKILL, tool: str | None = TOOL) -> Path:
    """A third party's directory with one skill folder."""
    place = root / "theirs" / name
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(skill.replace("NAME", name), encoding="utf-8")
    if tool is not None:
        (place / "tool.py").write_text(tool, encoding="utf-8")
    return root / "theirs"


def test_every_skill_folder_has_its_tool_and_every_tool_its_folder() -> None:
    """What is served is what stands in the folders, and nothing is listed by hand."""
    registry = load_registry()
    assert {*registry.tools, *registry.internal} == {path.name for path in SKILLS.iterdir() if path.is_dir()}
    assert {"create_order", "cancel_order", "adjust_stock", "get_order"} <= set(registry.tools)
    assert [tool.risk for tool in registry if tool.name == "create_order"] == ["write"]


def test_a_third_party_adds_a_tool_from_its_own_directory(tmp_path: Path) -> None:
    """Its folder brings SKILL.md and tool.py; ours stay as they are."""
    registry = load_registry([folder(tmp_path)])
    tool = registry.tool("say_hello")
    assert tool.input_schema["properties"]["loud"] == {"default": False, "type": "boolean"}
    assert tool.input_schema["required"] == ["customer"]
    assert set(load_registry().tools) < set(registry.tools)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"name": "create_order"}, r"create_order/(SKILL.md|tool.py):1: "),
        ({"name": "Loud"}, "SKILL.md:2: name 'Loud' is not"),
        ({"skill": SKILL.replace("name: NAME", "name: other")}, "SKILL.md:2: name 'other' is not that of its folder"),
        ({"skill": SKILL.replace("risk: read", "risk: mild")}, "SKILL.md:4: risk 'mild' is none of read, sensitive,"),
        ({"skill": SKILL.replace("risk: read", "risk: write")}, "SKILL.md:4: risk is write, and say_hello returns"),
        ({"skill": SKILL.replace("risk: read", "risk: [")}, r"SKILL.md:7: cannot be read: "),
        ({"skill": SKILL.replace("risk: read\n", "")}, "SKILL.md:1: the front matter lacks risk"),
        ({"skill": SKILL.replace("risk: read", "risk: read\nowner: me")}, "SKILL.md:5: .* has unknown owner"),
        ({"skill": SKILL.replace("  zh: [一, 二, 三]\n", "")}, "SKILL.md:6: triggers needs the languages en and zh"),
        ({"skill": SKILL.replace("[one, two, three]", "[one, two]")}, "SKILL.md:6: triggers.en has 2 entries"),
        ({"skill": SKILL.replace("[demo]", "demo")}, "SKILL.md:5: scopes is not a list"),
        ({"skill": SKILL.replace("Politeness.", "")}, r"SKILL.md:10: has no body"),
        ({"skill": SKILL.replace("[demo]", "[]")}, "SKILL.md:5: scopes has 0 entries, and needs 1"),
        ({"skill": SKILL.replace("[demo]", "['*']")}, "SKILL.md:5: scopes has '.', which is not in the form"),
        ({"skill": SKILL.replace("[demo]", "['a b']")}, "SKILL.md:5: scopes has 'a b', which is not in the form"),
        ({"skill": with_key("exposure: all")}, "SKILL.md:6: exposure 'all' is none of public, private"),
        ({"skill": with_key("personal: text")}, "SKILL.md:6: personal is not a list of texts"),
        ({"skill": with_key("personal: [phone]")}, "SKILL.md:6: personal has 'phone', which is no field"),
        ({"skill": with_key("personal: ['text.x']")}, "SKILL.md:6: personal has 'text.x', which is no field"),
        ({"skill": with_key("personal: [text]")}, "SKILL.md:6: personal has 'text', which the result cannot be"),
        ({"skill": with_key("belongs_to: customer")}, "SKILL.md:6: belongs_to is neither"),
        ({"skill": with_key("belongs_to: {sku: customer}")}, "SKILL.md:6: belongs_to is neither"),
        ({"skill": with_key("belongs_to: {order: loud}")}, "SKILL.md:6: belongs_to names 'loud', which is no text"),
        ({"skill": with_key("belongs_to: {order: who}")}, "SKILL.md:6: belongs_to names 'who', which is no text"),
        ({"skill": with_key("rest: /hello")}, "SKILL.md:6: rest '/hello' is no route such as"),
        ({"skill": with_key("rest: GET hello")}, "SKILL.md:6: rest 'GET hello' is no route such as"),
        ({"skill": with_key("rest: GET /hello/{loud}")}, r"SKILL.md:6: rest has \{loud\}, which is no required text"),
        ({"skill": with_key("rest: GET /orders/{customer}")}, "SKILL.md:6: rest has the address of get_order already"),
        ({"skill": "hello"}, "front matter lacks"),
        ({"tool": None}, "tool.py: is missing"),
        ({"tool": "def ("}, "tool.py:1: cannot be imported: SyntaxError"),
        ({"tool": TOOL.replace("say_hello", "say_bye")}, "must hold exactly one tool function, say_hello"),
        ({"tool": TOOL.replace("-> Greeting", "-> Plan")}, "SKILL.md:4: risk is read, and say_hello returns Plan"),
        ({"tool": TOOL.replace("-> Greeting", "-> dict")}, "tool.py:10: say_hello returns dict: neither"),
        ({"tool": TOOL.replace("loud: bool", "loud: int | str")}, "tool.py:10: say_hello: a union of 2 types"),
        ({"tool": TOOL.replace("loud: bool", "*loud: bool").replace(" = False", "")}, "tool.py:10: .*loud has no type"),
    ],
)  # fmt: skip
def test_what_does_not_match_fails_the_start_with_the_files_name(
    tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    """Each fault is found when the registry is loaded, not at a user's first call."""
    directory = folder(tmp_path, **change)
    with pytest.raises(SkillError, match=problem) as refused:
        load_registry([directory])
    assert str(directory) in str(refused.value)


def test_a_directory_that_is_not_there_and_a_folder_without_a_skill_are_named(tmp_path: Path) -> None:
    """A slip in the setting is a fault, never an empty list of tools."""
    with pytest.raises(SkillError, match="nowhere: is not a directory"):
        load_registry([tmp_path / "nowhere"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(SkillError, match=r"SKILL\.md: is missing"):
        load_registry([tmp_path])


def test_several_directories_are_a_list_like_path(tmp_path: Path) -> None:
    """Both are looked through, and one name in both is refused with both places."""
    one, two = folder(tmp_path / "1"), folder(tmp_path / "2", "say_more", tool=TOOL.replace("say_hello", "say_more"))
    registry = load_registry(skill_directories(f"{one}{os.pathsep}{two}"))
    assert {"say_hello", "say_more"} <= set(registry.tools)
    with pytest.raises(SkillError, match="nowhere else"):
        load_registry([one, folder(tmp_path / "3")])


def test_an_unknown_tool_is_named_with_those_that_there_are() -> None:
    """The hint lists the names."""
    registry = load_registry()
    with pytest.raises(ErpError, match="no tool 'get_oder'") as refused:
        registry.tool("get_oder")
    assert "get_order" in refused.value.hint
    with pytest.raises(ErpError) as refused:
        registry.write("get_order")
    assert refused.value.code == "not_a_write"


def nodes(schema: Any) -> list[JsonObject]:
    """Every object inside a schema."""
    if isinstance(schema, list):
        return [found for item in schema for found in nodes(item)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(found for value in schema.values() for found in nodes(value))]


@pytest.mark.guarantee("E17")
@pytest.mark.parametrize("tool", list(load_registry()), ids=lambda tool: tool.name)
def test_schemas_hold_only_what_strict_clients_accept(tool: Any) -> None:
    """A top-level object that refuses further keys; no references, unions, nulls or look-around patterns."""
    for schema in (tool.input_schema, tool.output_schema):
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        for node in nodes(schema):
            assert not {"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "const"} & set(node) - {"properties"}
            assert node.get("type") != "null"
            assert "default" not in node or node["default"] is not None
            assert "(?" not in str(node.get("pattern", ""))


def test_a_signature_that_cannot_be_said_plainly_is_refused() -> None:
    """A parameter without a type is a fault of the tool, not a wildcard."""

    def untyped(tx: Tx, thing):  # type: ignore[no-untyped-def]
        """No type."""

    def fine(tx: Tx, sku: Sku | None = None) -> None:
        """One optional argument."""

    with pytest.raises(SchemaError, match="thing has no type"):
        arguments_model(untyped)
    assert input_schema(arguments_model(fine)) == {
        "type": "object", "additionalProperties": False,
        "properties": {"sku": {"type": "string", "maxLength": 100, "description": "the product's SKU, exactly"}},
    }  # fmt: skip
