"""Commands that run the agent: ask, call, recover."""

from typing import Annotated, Any

import typer

from graph.cli import screen, views
from graph.cli.arguments import read_object
from graph.cli.failures import Exit, plainly
from graph.cli.options import AsJson, AsUser, Supersede, Thread
from graph.run import Run


@plainly
def ask(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What you want, in English or Chinese.")],
    thread: Thread = None,
    as_user: AsUser = None,
    supersede: Supersede = False,
    all_or_nothing: Annotated[
        bool, typer.Option("--all-or-nothing", help="Run the writes of one answer together or not at all.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Ask for one thing: you get the answer, or what waits for approval."""
    from graph.cli.door import exit_of_turn, open_door

    with open_door() as door:
        run = door.ask(text, thread_id=thread, requested_by=as_user, supersede=supersede, all_or_nothing=all_or_nothing)
    tell(run, as_json)
    return exit_of_turn(run)


@plainly
def call(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name, such as get_order.")],
    args: Annotated[str, typer.Option("--args", metavar="JSON", help="Its arguments, a JSON object.")] = "{}",
    thread: Thread = None,
    as_user: AsUser = None,
    supersede: Supersede = False,
    as_json: AsJson = False,
) -> int:
    """Call one tool without a model: a read prints its result, a write waits for approval."""
    arguments = read_object(args)
    from graph.cli.door import exit_of_turn, open_door

    with open_door() as door:
        run = door.call(tool, arguments, thread_id=thread, requested_by=as_user, supersede=supersede)
    code = exit_of_turn(run)
    refused = _error_in(run.result) if code == Exit.REFUSED and not as_json else None
    if refused is None:
        tell(run, as_json)
    else:
        screen.complain(str(refused.get("message", "")), str(refused.get("hint", "")))
    return code


@plainly
def recover(as_json: AsJson = False) -> int:
    """Continue what a crash or an expiry left in the middle. Safe at any time."""
    from graph.cli.door import open_door

    with open_door() as door:
        runs = door.recover()
    if as_json:
        screen.say_json([run.as_json() for run in runs])
    elif not runs:
        screen.say("Nothing was left in the middle.")
    for run in [] if as_json else runs:
        screen.say(views.run_text(run))
    return Exit.DONE


def tell(run: Run, as_json: bool) -> None:
    """Prints a run."""
    if as_json:
        screen.say_json(run.as_json())
    else:
        screen.say(views.run_text(run))


def _error_in(result: Any) -> dict[str, Any] | None:
    error = result.get("error") if isinstance(result, dict) else None
    return error if isinstance(error, dict) else None
