"""The command line in this process, on databases of the test's own, with Northwind in them."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from graph.books import make_books
from graph.cli import main
from graph.settings import Settings


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """What it printed, read as JSON."""
        return json.loads(self.out)


Cli = Callable[..., Done]


@pytest.fixture(scope="session")
def made_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``init`` makes, made once; tests get copies."""
    home = tmp_path_factory.mktemp("made") / "home"
    make_books(Settings(home=home), "northwind")
    return home


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A COUNTERSIGN_HOME in which nothing is yet."""
    monkeypatch.setenv("COUNTERSIGN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path / "home"


@pytest.fixture
def home(made_home: Path, empty_home: Path) -> Path:
    """A COUNTERSIGN_HOME after ``init``."""
    shutil.copytree(made_home, empty_home)
    return empty_home


@pytest.fixture
def cli(empty_home: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs one command, without a terminal."""

    def run(*words: str) -> Done:
        capsys.readouterr()
        code = main(words)
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Done(code, said.out, said.err)

    return run


@pytest.fixture
def adjusted(home: Path, cli: Cli) -> Callable[..., str]:
    """Asks to add to a product's stock, and gives the id of the approval that waits."""

    def ask(delta: int = 5, sku: str = "NW-011", reason: str = "recount") -> str:
        arguments = json.dumps({"sku": sku, "delta": delta, "reason": reason})
        done = cli("call", "adjust_stock", "--args", arguments, "--as", "nancy", "--json")
        assert done.code == 3, done
        return str(done.json()["pending"][0]["approval_id"])

    return ask
