"""The data that nobody here wrote: it lies beside the repository, and is not part of it."""

import os
from pathlib import Path
from typing import Final

import pytest

DEFAULT: Final = Path(__file__).parents[2] / "shared" / "data"


def find_data(name: str) -> Path | None:
    """The folder of one data set, if it is there."""
    folder = Path(os.environ.get("COUNTERSIGN_TEST_DATA") or DEFAULT) / name
    return folder if folder.is_dir() else None


def data_folder(name: str) -> Path:
    """The folder of one data set. Its absence is a failure in CI and a visible skip elsewhere.

    Args:
        name: ``tau2_retail``, ``online_retail`` or ``dummyjson``.
    """
    folder = find_data(name)
    if folder is not None:
        return folder
    reason = f"the data set {name} is not there: set COUNTERSIGN_TEST_DATA to the folder that holds it"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
