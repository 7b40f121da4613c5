"""The command that makes everything: init."""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from graph.books import Made, datasets, make_books
from graph.cli import screen
from graph.cli.failures import Exit, plainly, refuse_usage
from graph.cli.options import AsJson
from graph.errors import CountersignError
from graph.settings import load_settings

SHOWN_PER_REASON: Final = 3
"""Rows of one reason that are named on the screen; ``--report`` writes all of them."""
NEXT: Final = {
    "northwind": 'ask "Cancel order 11074, ordered by mistake"',
    "tau2": 'ask "Cancel order #W5918442, ordered by mistake"',
}
"""What to try first; another data set has no order that everybody knows."""


@plainly
def init(
    data: Annotated[
        str,
        typer.Option(metavar="NAME", help="northwind, tau2, online-retail, dummyjson, or csv: your own."),
    ] = "northwind",
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="PATH", help="Its file or folder; Northwind alone comes with Countersign."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every mended and refused row there, as CSV.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Make the databases and the key, and load data. Harmless where they are there already."""
    if data not in datasets():
        known = ", ".join(datasets())
        refuse_usage("unknown_dataset", f"--data: there is no data set {data!r}.", f"Use one of: {known}")
    if source is not None and not source.exists():
        refuse_usage("source_missing", f"--from: there is no {source}.", "Give the file or folder that holds the data.")
    with _row_report(report) as on_row, screen.progress() as progress:
        made = make_books(load_settings(), data, source, progress, on_row)
    if as_json:
        screen.say_json(made.as_json())
        return Exit.DONE
    _say_made(made)
    return Exit.DONE


def _say_made(made: Made) -> None:
    report = made.report
    new = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in report.taken.items() if count)
    screen.say(f"ERP:         {made.erp}\nApprovals:   {made.checkpoints}")
    screen.say(f"Signing key: {made.key} (who can read it can sign)")
    screen.say(f"Data:        {report.dataset}, {new or 'nothing new: it was loaded already'}")
    if new:
        for note in report.notes:
            screen.say(f"Chosen:      {note}")
        _say_rows("Mended", report.mended, report.mended_rows)
        _say_rows("Refused", report.refused, report.refused_rows)
    screen.say(f"Next:        countersign {NEXT.get(report.dataset, 'call list_orders')}")


def _say_rows(title: str, rows: list[Any], counts: dict[str, int]) -> None:
    by_reason: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        by_reason[row.reason].append(row)
    for reason, count in counts.items():
        screen.say(f"{title + ':':<12} {count} {'row' if count == 1 else 'rows'}: {reason}")
        for row in by_reason[reason][:SHOWN_PER_REASON]:
            screen.say(f"             {row.file} row {row.row}: {row.what}")
        if count > SHOWN_PER_REASON:
            screen.say(f"             … and {count - SHOWN_PER_REASON} more; --report FILE writes all of them.")


@contextmanager
def _row_report(path: Path | None) -> Iterator[Callable[[Any, Any], None] | None]:
    """Writes rows as they come; a report of an import that failed is taken away again, since nothing was loaded."""
    if path is None:
        yield None
        return
    try:
        file = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        message = f"The report {path} cannot be written: {error.strerror}."
        raise CountersignError(
            "report_unwritable", message, "Give --report a file that this user can write."
        ) from error
    try:
        with file:
            writer = csv.writer(file)
            writer.writerow(["action", "reason", "file", "row", "what"])
            yield lambda action, note: writer.writerow([action, note.reason, note.file, note.row, note.what])
    except BaseException:
        path.unlink(missing_ok=True)
        raise
