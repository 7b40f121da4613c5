"""The figures of ``reads`` as tables for a person, or as JSON."""

import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.reads import MAX_GROWTH, MAX_MEGABYTES, MAX_RATIO, MAX_SECONDS, ReadFigure, load, measure, own_database
from tests.shared_data import find_data


def run_reads(console: Console | None) -> dict[str, Any]:
    """Load and measure on SQLite, at both sizes, and on PostgreSQL where ``COUNTERSIGN_TEST_PG_URL`` gives one.

    Args:
        console: where tables go; none for JSON alone.
    """
    source = find_data("online_retail")
    if source is None:
        if console:
            console.print("reads: the data set online_retail is not there; set COUNTERSIGN_TEST_DATA to its folder.")
        return {"skipped": "online_retail is not there"}
    result: dict[str, Any] = {"loading": {}, "reads": []}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        urls = [f"sqlite:///{folder / 'erp.db'}"]
        if server := os.environ.get("COUNTERSIGN_TEST_PG_URL"):
            urls.append(stack.enter_context(own_database(server)))
        for url in urls:
            loading, is_sqlite = load(url, source), url.startswith("sqlite")
            figures = list(measure(url, larger=is_sqlite))
            result["loading"][figures[0].database] = loading
            result["reads"] += [figure.as_json() for figure in figures]
            if console:
                _show(console, loading, figures)
    return result


def _show(console: Console, loading: dict[str, float], figures: list[ReadFigure]) -> None:
    seconds, megabytes = loading["seconds"], loading["megabytes"]
    console.print(
        f"{figures[0].database}: Online Retail loaded in {seconds:.1f} s (at most {MAX_SECONDS}), "
        f"{megabytes:.0f} MB at the peak (at most {MAX_MEGABYTES})"
    )
    bounds = f"tool ÷ bare at most {MAX_RATIO}, growth at ten times the size at most {MAX_GROWTH}"
    title = f"reads on {figures[0].database} ({bounds})"
    table = Table(title=title, title_justify="left")
    for heading in ("", "kind", "tool ms", "bare ms", "tool ÷ bare", "growth", ""):
        table.add_column(heading, justify="left" if heading in ("", "kind") else "right")
    for figure in figures:
        growth = "" if figure.growth is None else f"{figure.growth:.2f}"
        verdict = "kept" if figure.kept else "[bold]missed[/bold]"
        table.add_row(
            figure.call.name, figure.call.growth, f"{figure.tool:.2f}", f"{figure.bare:.2f}", f"{figure.ratio:.1f}",
            growth, verdict,
        )  # fmt: skip
    console.print(table)
