"""The notebooks run from top to bottom, in a real kernel, and are committed without outputs."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def read(path: Path) -> Any:
    reader: Any = nbformat.read
    return reader(path, as_version=4)


def shown(notebook: Any) -> str:
    """All that a reader sees below the cells."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            texts.append(str(output.get("text", "")) + str(data.get("text/plain", "")) + str(data.get("text/html", "")))
    return "\n".join(texts)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_without_outputs(path: Path) -> None:
    """What is shown is made by running it, so that it cannot be out of date."""
    notebook = read(path)
    assert not [cell for cell in notebook.cells if cell.get("outputs")]


def test_the_first_approval_shows_card_receipt_and_audit(tmp_path: Path) -> None:
    """Question, card, decision, receipt, second click, stale, edit, rejection, audit: each with its outcome."""
    notebook = read(NOTEBOOKS[0])
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    seen = shown(notebook)
    assert "<b>Cancel order SO19980506-11074 of Simons bistro" in seen
    for outcome in ("'executed'", "'already_executed'", "'stale'", "'rejected'"):
        assert outcome in seen
    assert "nancy    asked: Cancel order SO19980506-11074" in seen
