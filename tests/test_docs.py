"""README.md, ARCHITECTURE.md and the set-up say what is there."""

import ast
import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from graph.settings import Settings
from tests.docs import PARTS, README, commands, rewritten

ROOT = README.parent
PROSE = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "ARCHITECTURE.md")}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = [line for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if line]


@pytest.mark.parametrize("part", PARTS)
def test_the_generated_parts_are_up_to_date(part: str) -> None:
    """README's tables and picture are what the code would write now; `make docs` writes them."""
    begin, end = f"<!-- generated: {part} -->\n", f"\n<!-- end: {part} -->"
    written = PROSE["README.md"].split(begin)[1].split(end)[0]
    assert written.splitlines() == PARTS[part]().splitlines(), "run: make docs"


def test_a_part_without_its_markers_is_an_error() -> None:
    """A lost marker cannot switch the check off."""
    with pytest.raises(ValueError, match="'settings'"):
        rewritten(PROSE["README.md"].replace("<!-- end: settings -->", ""))


@pytest.mark.parametrize("name", PROSE)
def test_every_path_that_is_named_exists(name: str) -> None:
    """A file or folder in backticks is there; what a person makes or fills in is written in angle brackets."""
    quoted = re.findall(r"`((?:graph|erp_mcp|checkpoints|tests|notebooks)/[\w./]*)`", PROSE[name])
    assert [path for path in quoted if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", PROSE)
def test_every_make_target_that_is_named_exists(name: str) -> None:
    """Nobody is sent to a target that make does not know."""
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    assert set(re.findall(r"`?make ([a-z-]+)`", PROSE[name])) <= targets


def test_every_command_that_is_named_exists() -> None:
    """README's examples use commands that the command line has."""
    known = {row.split("`")[1].split()[0] for row in commands().splitlines()[2:]}
    assert set(re.findall(r"countersign ([a-z][a-z-]*)", PROSE["README.md"])) <= known


def test_every_setting_that_is_named_exists() -> None:
    """An environment variable in the prose is one that is read."""
    known = {f"COUNTERSIGN_{name.upper()}" for name in Settings.model_fields}
    assert {word for text in PROSE.values() for word in re.findall(r"COUNTERSIGN_[A-Z_]+", text)} <= known


def test_python_examples_use_public_names() -> None:
    """What README imports can be imported."""
    examples = re.findall(r"```python\n(.*?)```", PROSE["README.md"], re.DOTALL)
    assert examples
    for node in (node for example in examples for node in ast.walk(ast.parse(example))):
        if isinstance(node, ast.ImportFrom):
            module = __import__(node.module or "", fromlist=[alias.name for alias in node.names])
            assert all(hasattr(module, alias.name) for alias in node.names)


def test_the_changelog_knows_this_version() -> None:
    """A version is not raised without saying what changed."""
    assert f"## [{PROJECT['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_pins_hold_names_and_versions_and_no_address() -> None:
    """The set-up asks whatever index the machine has."""
    assert [line for line in PINS if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+]+", line)] == []


def test_every_direct_requirement_is_pinned_within_its_range() -> None:
    """A fresh clone installs what was tested, and the pin is one that pyproject.toml allows."""
    pins = {canonicalize_name(name): Version(version) for name, version in (line.split("==") for line in PINS)}
    extras = [line for lines in PROJECT["optional-dependencies"].values() for line in lines]
    for requirement in map(Requirement, [*PROJECT["dependencies"], *extras]):
        pin = pins.get(canonicalize_name(requirement.name))
        assert pin is not None, f"{requirement.name} is not pinned"
        assert pin in requirement.specifier, f"{requirement} does not allow {pin}"


def test_nothing_names_the_machine_it_was_written_on() -> None:
    """Prose and set-up hold no absolute path."""
    texts = {**PROSE, "Makefile": MAKEFILE}
    assert [name for name, text in texts.items() if re.search(r"(?<![\w.:/])/(home|root|tmp|work|Users)/", text)] == []
