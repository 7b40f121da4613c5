"""The parts of README.md that are written by the code itself: ``python -m tests.docs`` writes them, ``--check`` only
compares. Hand-made tables of tools, commands and settings would lie after the first change."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from langgraph.graph import END, START
from typer.main import get_command

from erp_mcp.registry import Tool, load_registry
from erp_mcp.skill import NOBODY
from graph.build import build_graph
from graph.cli.entry import app
from graph.services import Services
from graph.settings import Settings

README: Final = Path(__file__).parent.parent / "README.md"
RISKS: Final = ("read", "sensitive", "write")
NODES: Final = (START, "model", "read", "propose", "approve", "execute", END)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; a cell's own bars are escaped."""
    body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [list(headings), ["---"] * len(headings), *body])


def first_sentence(text: str) -> str:
    """What stands before the first full stop."""
    return re.split(r"(?<=[.?!])\s", " ".join(text.split()), maxsplit=1)[0]


def signature(tool: Tool) -> str:
    """A tool's call as the table shows it: ``get_stock(sku, warehouse?)``."""
    schema = tool.input_schema
    names = [name if name in schema.get("required", []) else f"{name}?" for name in schema.get("properties", {})]
    return f"`{tool.name}({', '.join(names)})`"


def tools() -> str:
    """The ERP's tools, from the registry."""
    found = sorted(load_registry(), key=lambda tool: (RISKS.index(tool.risk), tool.name))
    rows = [(signature(tool), tool.risk, first_sentence(tool.skill.description)) for tool in found]
    return table(("tool", "risk", "what it does"), rows)


def access() -> str:
    """Who may call what of the ERP, from the skills."""
    rows = []
    for skill in sorted((tool.skill for tool in load_registry()), key=lambda skill: skill.name):
        owner = skill.belongs_to
        bound = "refused" if owner is None else "all" if owner == NOBODY else f"their own, by `{owner.argument}`"
        route = skill.route and f"`{skill.route.method} /api{skill.route.path}`"
        named = ", ".join(f"`{path}`" for path in skill.personal)
        scopes = " ".join(f"`{scope}`" for scope in skill.scopes)
        rows.append((f"`{skill.name}`", skill.exposure, scopes, named, bound, route or ""))
    headings = ("tool", "exposure", "scopes", "only with `personal:read`", "a token bound to a customer gets", "REST")
    return table(headings, rows)


def usage(parameters: Iterable[Any]) -> Iterator[str]:
    """A command's arguments and options as they are typed, without those that every command has."""
    for parameter in parameters:
        if parameter.param_type_name == "argument":
            name = parameter.metavar or parameter.name.upper()
            yield name if parameter.required else f"[{name.strip('[]')}]"
        elif parameter.name not in {"help", "json", "as_json"}:
            value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
            yield parameter.opts[0] + value if parameter.required else f"[{parameter.opts[0]}{value}]"


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with its words."""
    below = getattr(command, "commands", None)
    if below is None:
        yield path, command
    else:
        for name, child in below.items():
            yield from leaves(child, (*path, name))


def commands() -> str:
    """The command line, from the Typer application."""
    found = [
        (" ".join([*path, *usage(command.params)]), command.help or "") for path, command in leaves(get_command(app))
    ]
    return table(("`countersign …`", "does"), [(f"`{typed}`", first_sentence(text)) for typed, text in found])


def picture() -> str:
    """The graph's nodes and edges, from the compiled graph."""

    async def unused() -> Services:
        raise NotImplementedError("a picture runs no node")

    edges = build_graph(unused).compile().get_graph().edges
    ordered = sorted(edges, key=lambda edge: (NODES.index(edge.source), NODES.index(edge.target)))
    names = {START: "start((start))", END: "done((done))"}
    lines = [f"    {names.get(edge.source, edge.source)} --> {names.get(edge.target, edge.target)}" for edge in ordered]
    return "\n".join(["```mermaid", "graph LR", *lines, "```"])


def settings() -> str:
    """The environment variables, from the settings' fields."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = "" if field.default in {None, ""} else f"`{field.default}`"
        rows.append((f"`COUNTERSIGN_{name.upper()}`", default, field.description or ""))
    return table(("variable", "default", "what it says"), rows)


PARTS: Final[dict[str, Callable[[], str]]] = {
    "tools": tools,
    "access": access,
    "commands": commands,
    "graph": picture,
    "settings": settings,
}


def rewritten(text: str) -> str:
    """The text with every generated part made anew.

    Args:
        text: Markdown with ``<!-- generated: NAME -->`` and ``<!-- end: NAME -->`` around each part.

    Raises:
        ValueError: a part's markers are missing or stand there twice.
    """
    for name, make in PARTS.items():
        begin, end = f"<!-- generated: {name} -->", f"<!-- end: {name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"README.md needs exactly one pair of markers for {name!r}")
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{make()}\n{end}{rest.split(end)[1]}"
    return text


def main() -> None:
    """Write README.md, or with ``--check`` fail where it would change."""
    text = README.read_text(encoding="utf-8")
    made = rewritten(text)
    if "--check" in sys.argv[1:]:
        if made != text:
            sys.exit("README.md is out of date; run: make docs")
    elif made != text:
        README.write_text(made, encoding="utf-8")
        print("README.md is up to date now")


if __name__ == "__main__":
    main()
