"""The data that nobody here wrote: it lies beside the repository, and is not part of it."""

import os
from pathlib import Path
from typing import Final

import pytest

DEFAULT: Final = Path(__file__).parents[2] / "shared" / "data"


def data_folder(name: str) -> Path:
    """The folder of one data set. Its absence is a failure in CI and a visible skip elsewhere.

    Args:
        name: ``tau2_retail``, ``online_retail`` or ``dummyjson``.
    """
    folder = Path(os.environ.get("COUNTERSIGN_TEST_DATA") or DEFAULT) / name
    if not folder.is_dir():
        reason = f"the data set {name} is not there: set COUNTERSIGN_TEST_DATA to the folder that holds it"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return folder
