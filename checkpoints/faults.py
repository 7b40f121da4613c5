"""Named points of the agent's side at which a test can have the process die, as if by a power cut.

The ERP has the same for its own steps, by the same variable; neither side may import the other.
"""

import os
import signal
from typing import Final

VARIABLE: Final = "COUNTERSIGN_FAULT"
"""``<name>`` or ``<name>:<n>``: die with SIGKILL on the n-th pass of that point, the first if n is left out."""

_passes: dict[str, int] = {}


def point(name: str) -> None:
    """A step boundary; read at call time, so that a test can switch it on in a forked child.

    Args:
        name: what the test asks for, for example ``agent.decided``.
    """
    wanted = os.environ.get(VARIABLE)
    if wanted:
        _die_if_meant(name, wanted)


def _die_if_meant(name: str, wanted: str) -> None:
    at, _, count = wanted.partition(":")
    if at != name:
        return
    _passes[name] = _passes.get(name, 0) + 1
    if _passes[name] >= int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
