"""Our HTTP server's memory over many calls: what it has after the first thousands it must not grow beyond."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from rich.console import Console

from tests.bench.hosts import CALLS_EACH, CLIENTS, countersign_server, server_with_clients

NAME: Final = "memory"
EARLY, LATE = 5_000, 50_000
"""Calls after which it is looked at."""
BOUND: Final = 1.1
"""What it may have late, by what it had early."""


def run_memory(console: Console | None) -> list[dict[str, Any]]:
    """Calls our server over HTTP, and reads the size of its process.

    Args:
        console: to print on; None for silence.
    """
    early, late = asyncio.run(_sizes())
    ratio = late / early
    if console is not None:
        verdict = "kept" if ratio <= BOUND else "[bold]missed[/bold]"
        console.print(
            f"{NAME}: {early / 1024:.1f} MB after {EARLY:,} calls over HTTP, {late / 1024:.1f} MB after {LATE:,}: "
            f"{ratio:.3f}, at most {BOUND:.2f}, {verdict}"
        )
    return [{"early_kb": early, "late_kb": late, "ratio": ratio, "bound": BOUND, "kept": ratio <= BOUND}]


async def _sizes() -> tuple[int, int]:
    with TemporaryDirectory() as folder:
        async with server_with_clients(countersign_server, Path(folder)) as (pid, cycle):
            found = []
            made = 0
            for goal in (EARLY, LATE):
                while made < goal:
                    await cycle()
                    made += CLIENTS * CALLS_EACH
                found.append(_resident(pid))
    return found[0], found[1]


def _resident(pid: int) -> int:
    """What of a process is in memory, in kilobytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
