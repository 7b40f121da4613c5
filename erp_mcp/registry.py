"""Every tool, found and never listed by hand: a skill folder joined with the typed function of the same name.

The ERP's own skills are the folders under ``erp_mcp/skills``, their functions the public ones in the modules of
``erp_mcp.tools`` that take a transaction first. In a further directory each folder brings both, ``SKILL.md`` and
``tool.py``. What does not match fails the start, with file and line.
"""

import importlib
import importlib.util
import inspect
import os
import pkgutil
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_type_hints

from pydantic import BaseModel

import erp_mcp.tools
from erp_mcp.contract import JsonObject, Risk, WriteAnswer
from erp_mcp.errors import ErpError
from erp_mcp.fields import check_fields, refuse_same_routes
from erp_mcp.operations.plan import Plan
from erp_mcp.schema import SchemaError, arguments_model, input_schema, normalised, output_schema, parse_arguments
from erp_mcp.skill import FILE, Skill, SkillError, read_skill
from erp_mcp.store.transaction import Tx

SKILLS: Final = Path(__file__).parent / "skills"
PLANNED: Final = frozenset({"write", "sensitive"})
"""Risks that a person is asked about first: such a tool returns a Plan."""

ToolFunction = Callable[..., Any]


@dataclass(frozen=True)
class Tool:
    """One tool: its words, its function, and the types at both ends.

    Args:
        skill: the SKILL.md.
        function: ``def tool(tx, …) -> Model | Plan``.
        arguments: the model of its arguments.
        result: the model of what clients get.
    """

    skill: Skill
    function: ToolFunction
    arguments: type[BaseModel]
    result: type[BaseModel]

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.skill.name

    @property
    def risk(self) -> Risk:
        """read, sensitive or write."""
        return self.skill.risk

    @cached_property
    def input_schema(self) -> JsonObject:
        """JSON Schema of the arguments, plain enough for strict clients."""
        return input_schema(self.arguments)

    @cached_property
    def output_schema(self) -> JsonObject:
        """JSON Schema of the result."""
        return output_schema(self.result)

    def parse(self, raw: JsonObject) -> BaseModel:
        """A client's arguments, checked; ``ErpError`` ``invalid_argument`` names what is wrong."""
        return parse_arguments(self.arguments, raw)

    def normalise(self, arguments: BaseModel) -> JsonObject:
        """The arguments as they are signed: JSON values, defaults left out, quantities as decimal strings."""
        return normalised(arguments)

    def read(self, tx: Tx, arguments: BaseModel) -> BaseModel:
        """What a read tool finds."""
        found: BaseModel = self._call(tx, arguments)
        return found

    def plan(self, tx: Tx, arguments: BaseModel) -> Plan:
        """What a write tool would do."""
        plan: Plan = self._call(tx, arguments)
        return plan

    def _call(self, tx: Tx, arguments: BaseModel) -> Any:
        return self.function(tx, **{name: getattr(arguments, name) for name in self.arguments.model_fields})


class Registry:
    """All tools by name, and the internal skills, whose work the server does itself.

    Args:
        tools: with a function.
        internal: without one.
    """

    def __init__(self, tools: Iterable[Tool], internal: Iterable[Skill] = ()) -> None:
        self.tools: Final = {tool.name: tool for tool in sorted(tools, key=lambda t: t.name)}
        self.internal: Final = {skill.name: skill for skill in internal}

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools.values())

    def tool(self, name: str) -> Tool:
        """The tool of that name.

        Raises:
            ErpError: ``unknown_tool``, with the names that there are.
        """
        if name not in self.tools:
            raise ErpError("unknown_tool", f"There is no tool {name!r}.", f"Use one of: {', '.join(self.tools)}.")
        return self.tools[name]

    def write(self, name: str) -> Tool:
        """The tool of that name that is planned before it runs: a write, or a read that asks first.

        Raises:
            ErpError: ``unknown_tool``, or ``not_a_write``.
        """
        tool = self.tool(name)
        if tool.risk not in PLANNED:
            raise ErpError("not_a_write", f"{name} changes nothing.", f"Call {name} by itself, without an approval.")
        return tool


def skill_directories(setting: str) -> list[Path]:
    """The directories that ``COUNTERSIGN_SKILLS`` names: a list such as PATH is."""
    return [Path(part) for part in setting.split(os.pathsep) if part]


def load_registry(extra_dirs: Iterable[Path] = ()) -> Registry:
    """Find and check every tool.

    Args:
        extra_dirs: directories of further skill folders, each with its own ``tool.py``.

    Raises:
        SkillError: anything that does not match; the message names file and line.
    """
    skills = [read_skill(folder) for folder in _folders(SKILLS)]
    functions = dict(_own_functions())
    for directory in extra_dirs:
        for folder in _folders(Path(directory)):
            skills.append(read_skill(folder))
            functions |= _functions_of_folder(folder, functions)
    _refuse_twice(skills)
    with_function = {skill.name for skill in skills if skill.risk != "internal"}
    for name, function in functions.items():
        if name not in with_function:
            raise _fault(function, f"tool {name} has no skill {SKILLS.name}/{name}/{FILE}")
    refuse_same_routes(skills)
    return Registry(
        [_join(skill, functions) for skill in skills if skill.risk != "internal"],
        [skill for skill in skills if skill.risk == "internal"],
    )


def _folders(directory: Path) -> list[Path]:
    if not directory.is_dir():
        raise SkillError(directory, "is not a directory")
    return sorted(path for path in directory.iterdir() if path.is_dir() and not path.name.startswith(("_", ".")))


def _refuse_twice(skills: list[Skill]) -> None:
    seen: dict[str, Skill] = {}
    for skill in skills:
        if skill.name in seen:
            raise skill.error("name", f"tool {skill.name} is there already, in {seen[skill.name].path}")
        seen[skill.name] = skill


def _own_functions() -> Iterator[tuple[str, ToolFunction]]:
    for module in pkgutil.iter_modules(erp_mcp.tools.__path__, erp_mcp.tools.__name__ + "."):
        yield from _functions(importlib.import_module(module.name))


def _functions_of_folder(folder: Path, known: dict[str, ToolFunction]) -> dict[str, ToolFunction]:
    path = folder / "tool.py"
    spec = importlib.util.spec_from_file_location(f"countersign_skill_{folder.name}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SkillError(path, "is missing")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever a third party's code raises, its file is to be named
        raise SkillError(path, f"cannot be imported: {type(error).__name__}: {error}", _line(path, error)) from error
    found = dict(_functions(module))
    if set(found) != {folder.name} or folder.name in known:
        raise SkillError(path, f"must hold exactly one tool function, {folder.name}, that is nowhere else", 1)
    return found


def _line(path: Path, error: Exception) -> int:
    """The line of a third party's file on which its import failed."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno or 1
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), None) or 1


def _fault(function: ToolFunction, problem: str) -> SkillError:
    """A fault of a tool's function, by the file and line where it begins."""
    return SkillError(Path(inspect.getfile(function)), problem, inspect.unwrap(function).__code__.co_firstlineno)


def _functions(module: ModuleType) -> Iterator[tuple[str, ToolFunction]]:
    """The public functions of a module itself whose first parameter is the transaction."""
    for name, function in inspect.getmembers(module, inspect.isfunction):
        first = next(iter(inspect.signature(function).parameters), None)
        own = function.__module__ == module.__name__ and not name.startswith("_")
        if own and first is not None and get_type_hints(function).get(first) is Tx:
            yield name, function


def _join(skill: Skill, functions: dict[str, ToolFunction]) -> Tool:
    function = functions.get(skill.name)
    if function is None:
        raise skill.error("name", f"there is no function {skill.name}(tx, …) for it")
    returns = get_type_hints(function).get("return")
    if (returns is Plan) != (skill.risk in PLANNED):
        raise skill.error("risk", f"risk is {skill.risk}, and {skill.name} returns {_type_name(returns)}")
    result = WriteAnswer if returns is Plan else returns
    if not (isinstance(result, type) and issubclass(result, BaseModel)):
        raise _fault(function, f"{skill.name} returns {_type_name(returns)}: neither a model nor a Plan")
    try:
        tool = Tool(skill, function, arguments_model(function), result)
        ends = tool.input_schema, tool.output_schema
    except SchemaError as error:
        raise _fault(function, f"{skill.name}: {error}") from error
    check_fields(skill, *ends)
    return tool


def _type_name(value: Any) -> str:
    return getattr(value, "__name__", str(value))
