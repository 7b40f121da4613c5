"""README's tour does what it says, in real processes on a fresh folder."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import README

pytestmark = pytest.mark.acceptance

BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
TOUR = next(body for kind, body in BLOCKS if not kind and body.startswith("countersign init"))
EXAMPLES = [body for kind, body in BLOCKS if kind == "python"]
COMMAND = str(Path(sys.executable).with_name("countersign"))
WAITING = 3


def run(home: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """One process with its own COUNTERSIGN_HOME."""
    environment = {**os.environ, "COUNTERSIGN_HOME": str(home)}
    return subprocess.run(words, env=environment, input=stdin, capture_output=True, text=True, timeout=120, check=False)


def test_the_commands_of_the_tour_work_in_their_order(tmp_path: Path) -> None:
    """Every line of the tour succeeds, `ask` by waiting; the audit at its end names both people."""
    said = ""
    for line in TOUR.splitlines():
        words = shlex.split(line)[1:]
        if "APPROVAL" in words:
            waiting = json.loads(run(tmp_path, COMMAND, "pending", "--json").stdout)
            listed = waiting["pending"] if isinstance(waiting, dict) else waiting
            words[words.index("APPROVAL")] = listed[0]["approval_id"]
        done = run(tmp_path, COMMAND, *words)
        assert done.returncode == (WAITING if words[0] == "ask" else 0), f"{line}: {done.stderr}{done.stdout}"
        said = done.stdout
    assert "nancy" in said
    assert "andrew" in said


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_python_examples_run(tmp_path: Path, example: str) -> None:
    """An example runs as it is printed, on the data that `init` loads, and carries out its write."""
    assert run(tmp_path, COMMAND, "init").returncode == 0
    done = run(tmp_path, sys.executable, "-", stdin=example)
    assert done.returncode == 0, done.stderr
    assert "executed" in done.stdout
