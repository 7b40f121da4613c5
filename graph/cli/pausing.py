"""Commands that stop and start signing: pause, resume-all. They write to the ledger and load no framework."""

from typing import Annotated

import typer

from graph.books import open_ledger
from graph.cli import screen
from graph.cli.failures import Exit, plainly
from graph.cli.options import AsJson, By
from graph.settings import load_settings


@plainly
def pause(
    by: By,
    reason: Annotated[str, typer.Option("--reason", metavar="R", help="Why; shown to whoever is refused.")] = "",
    as_json: AsJson = False,
) -> int:
    """Stop all signing: nothing is executed, deadlines stand still, reads go on."""
    with open_ledger(load_settings()) as ledger:
        changed = ledger.pause(by, reason)
    return _tell("Paused. Nothing is signed until: countersign resume-all" if changed else "It is paused already.",
                 paused=True, changed=changed, as_json=as_json)  # fmt: skip


@plainly
def resume_all(by: By, as_json: AsJson = False) -> int:
    """End the pause. What was approved before it is carried out by: countersign recover."""
    with open_ledger(load_settings()) as ledger:
        changed = ledger.resume_all(by)
    said = "Signing goes on. Carry out what was approved before with: countersign recover"
    return _tell(said if changed else "It is not paused.", paused=False, changed=changed, as_json=as_json)


def _tell(text: str, *, paused: bool, changed: bool, as_json: bool) -> Exit:
    if as_json:
        screen.say_json({"paused": paused, "changed": changed})
    else:
        screen.say(text)
    return Exit.DONE
