"""Fault points: harmless without the variable, deadly exactly where it says."""

import signal
import subprocess
import sys

import pytest

PASSES = "from erp_mcp.faults import point\nfor name in ('a', 'b', 'a', 'b'): print(name, flush=True); point(name)"


@pytest.mark.parametrize(
    ("fault", "passed", "code"),
    [
        ("", "abab", 0),
        ("c", "abab", 0),
        ("a", "a", -signal.SIGKILL),
        ("b", "ab", -signal.SIGKILL),
        ("b:2", "abab", -signal.SIGKILL),
    ],
)
def test_a_process_dies_at_the_point_that_is_named(fault: str, passed: str, code: int) -> None:
    """By SIGKILL, on the pass that is asked for, and never elsewhere."""
    ran = subprocess.run(
        [sys.executable, "-c", PASSES], capture_output=True, text=True, check=False, env={"COUNTERSIGN_FAULT": fault}
    )
    assert (ran.stdout.replace("\n", ""), ran.returncode) == (passed, code)
