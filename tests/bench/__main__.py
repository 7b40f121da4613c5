"""``python -m tests.bench [NAME …] [--rounds N] [--json]``: print how fast we are beside what people would build
instead. It prints and judges nothing: a slow machine is no failure."""

import argparse
import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.comparisons import COMPARISONS
from tests.bench.harness import Comparison, Figure, figures, side_by_side
from tests.bench.memory import NAME as MEMORY
from tests.bench.memory import run_memory
from tests.bench.reads import NAME as READS
from tests.bench.reads_report import run_reads


async def run(comparison: Comparison, rounds: int) -> list[Figure]:
    """One comparison, every contestant in a folder of its own.

    Args:
        comparison: what to measure.
        rounds: measured turns of every contestant.
    """
    contestants = [comparison.ours, *(other for other, _ in comparison.others)]
    with TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            cycles = []
            for number, contestant in enumerate(contestants):
                place = Path(folder) / str(number)
                place.mkdir()
                cycles.append(await stack.enter_async_context(contestant.open(place)))
            return figures(comparison, await side_by_side(cycles, rounds, comparison.warmup))


def show(console: Console, comparison: Comparison, rows: Sequence[Figure]) -> None:
    """The table for a person."""
    table = Table(title=comparison.name, title_justify="left")
    for heading in ("", "median ms", "ours ÷ this", "at most", "", "CPU ms", "ours ÷ this"):
        table.add_column(heading, justify="left" if not heading else "right")
    for row in rows:
        bound = "" if row.bound is None else f"{row.bound:.2f}"
        ratio = "" if row.bound is None else f"{row.ratio:.2f}"
        verdict = "" if row.bound is None else "kept" if row.kept else "[bold]missed[/bold]"
        computed = "" if row.bound is None else f"{row.computed_ratio:.2f}"
        table.add_row(row.name, f"{row.milliseconds:.2f}", ratio, bound, verdict, f"{row.computed:.2f}", computed)
    console.print(table)


def main() -> None:
    """Measure what was asked for, all of it by default, and print tables or one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    known = [*(c.name for c in COMPARISONS), READS, MEMORY]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--rounds", type=int, default=0, help="measured turns of each; default: the comparison's own")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(known)
    if unknown:
        parser.error(f"no comparison is named {', '.join(sorted(unknown))}")
    console = Console()
    results: dict[str, Any] = {}
    for comparison in COMPARISONS:
        if not asked.names or comparison.name in asked.names:
            rows = asyncio.run(run(comparison, asked.rounds or comparison.rounds))
            results[comparison.name] = [vars(row) | {"kept": row.kept} for row in rows]
            if not asked.json:
                show(console, comparison, rows)
    if not asked.names or READS in asked.names:
        results[READS] = run_reads(None if asked.json else console)
    if not asked.names or MEMORY in asked.names:
        results[MEMORY] = run_memory(None if asked.json else console)
    if asked.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
