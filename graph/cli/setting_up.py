"""The command that makes everything: init."""

from pathlib import Path
from typing import Annotated

import typer

from graph.books import IMPORTERS, make_books
from graph.cli import screen
from graph.cli.failures import Exit, plainly, refuse_usage
from graph.cli.options import AsJson
from graph.settings import load_settings


@plainly
def init(
    data: Annotated[str, typer.Option(metavar="NAME", help="The data set to load: northwind.")] = "northwind",
    source: Annotated[
        Path | None, typer.Option("--from", metavar="PATH", help="Folder with its files; default: the shipped ones.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Make the databases and the key, and load data. Harmless where they are there already."""
    if data not in IMPORTERS:
        known = ", ".join(IMPORTERS)
        refuse_usage("unknown_dataset", f"--data: there is no data set {data!r}.", f"Use one of: {known}")
    if source is not None and not source.is_dir():
        refuse_usage("source_missing", f"--from: {source} is not a folder.", "Give the folder that holds the files.")
    made = make_books(load_settings(), data, source)
    if as_json:
        screen.say_json(made.as_json())
        return Exit.DONE
    report = made.report
    new = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in report.taken.items() if count)
    screen.say(f"ERP:         {made.erp}\nApprovals:   {made.checkpoints}")
    screen.say(f"Signing key: {made.key} (who can read it can sign)")
    screen.say(f"Data:        {report.dataset}, {new or 'nothing new: it was loaded already'}")
    for title, rows in (("Mended", report.mended if new else []), ("Refused", report.refused if new else [])):
        for row in rows:
            screen.say(f"{title}:      {row.file} row {row.row}: {row.what}")
    screen.say('Next:        countersign ask "Cancel order 11074, ordered by mistake"')
    return Exit.DONE
