"""The list of guarantees and the tests that claim them agree, both ways. Read from the source, so that a run of a few
tests checks the whole list too."""

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.guarantees import APPROVAL_CASES, APPROVER_CASES, DOOR_CASES, ERP_CASES, GUARANTEES, INVARIANTS, Guarantee

TESTS = Path(__file__).parent
NOT_RUN = {"skip", "xfail"}


@dataclass(frozen=True)
class Claim:
    """One ``guarantee`` marker: the name it claims, where it stands, and whether what it marks really runs."""

    name: str
    where: str
    runs: bool


def mark_name(node: ast.AST) -> str:
    """``x`` of ``pytest.mark.x`` and ``pytest.mark.x(…)``, else nothing."""
    if isinstance(node, ast.Call):
        return mark_name(node.func)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "mark":
        return node.attr
    return ""


def collected(node: ast.AST) -> bool:
    """Whether pytest would take this definition for a test."""
    if isinstance(node, ast.ClassDef):
        return node.name.startswith("Test")
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")


def names_of(mark: ast.Call, where: str) -> Iterator[str]:
    """The literal names of one marker; a computed name could not be checked here, so it is refused."""
    if not mark.args:
        raise ValueError(f"{where}: the marker names no guarantee")
    for argument in mark.args:
        if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
            raise TypeError(f"{where}: the guarantee's name must be a literal string")
        yield argument.value


def claims_in(source: str, file: str) -> list[Claim]:
    """Every claim of a file: on functions and classes, in ``pytestmark``, and on single parameters."""
    tree = ast.parse(source)
    runs: dict[ast.AST, bool] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            stopped = any(mark_name(d) in NOT_RUN for d in node.decorator_list)
            for decorator in node.decorator_list:
                for inner in ast.walk(decorator):
                    runs[inner] = collected(node) and not stopped
    marks = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and mark_name(node) == "guarantee"]
    return [
        Claim(name, f"{file}:{mark.lineno}", runs.get(mark, True))
        for mark in marks
        for name in names_of(mark, f"{file}:{mark.lineno}")
    ]


def all_claims() -> list[Claim]:
    """The claims of all test files."""
    files = sorted(TESTS.rglob("test_*.py"))
    return [c for f in files for c in claims_in(f.read_text(encoding="utf-8"), f.relative_to(TESTS).as_posix())]


CLAIMS = all_claims()


def release() -> tuple[int, int]:
    """This release (major, minor), from pyproject.toml."""
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    major, minor, *_ = project["version"].split(".")
    return int(major), int(minor)


@pytest.mark.parametrize("guarantee", GUARANTEES.values(), ids=lambda g: g.name)
def test_every_guarantee_has_a_test(guarantee: Guarantee) -> None:
    """A guarantee that is due is claimed by a test that runs; one that is not yet due is visibly skipped."""
    proven = any(claim.name == guarantee.name and claim.runs for claim in CLAIMS)
    if not proven and guarantee.since > release():
        pytest.skip(reason=f"due in {'.'.join(map(str, guarantee.since))}, no test yet: {guarantee.holds}")
    assert proven, f"no test claims {guarantee.name!r}: {guarantee.holds}"


def test_every_claim_names_a_guarantee() -> None:
    """A claim that is not on the list, or stands on something that never runs, is a slip."""
    assert [c.where for c in CLAIMS if c.name not in GUARANTEES] == []
    assert [c.where for c in CLAIMS if not c.runs] == []


def test_no_guarantee_is_listed_twice() -> None:
    """One name, one promise: a second entry would hide the first one."""
    listed = [*INVARIANTS, *APPROVAL_CASES, *APPROVER_CASES, *ERP_CASES, *DOOR_CASES]
    assert len(listed) == len(GUARANTEES)
    assert all(guarantee.holds.endswith(".") for guarantee in listed)


MARKED = """
import pytest
pytestmark = pytest.mark.guarantee("a")
@pytest.mark.guarantee("b", "c")
def test_works(): ...
@pytest.mark.guarantee("d")
def helper(): ...
@pytest.mark.skip(reason="slow")
@pytest.mark.guarantee("e")
async def test_skipped(): ...
@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.guarantee("f"))])
def test_parameter(x): ...
"""


def test_claims_are_found_wherever_pytest_finds_them() -> None:
    """Functions, modules and parameters claim; a helper and a skipped test claim nothing."""
    found = {claim.name: claim.runs for claim in claims_in(MARKED, "example.py")}
    assert found == {"a": True, "b": True, "c": True, "d": False, "e": False, "f": True}


@pytest.mark.parametrize("marker", ["guarantee()", "guarantee(NAME)", "guarantee(f'A{n}')"])
def test_a_claim_without_a_literal_name_is_refused(marker: str) -> None:
    """What cannot be read from the source cannot be checked, so it is refused with its place."""
    with pytest.raises((TypeError, ValueError), match=r"example\.py:1"):
        claims_in(f"pytestmark = pytest.mark.{marker}", "example.py")
