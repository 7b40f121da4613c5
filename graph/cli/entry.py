"""The ``countersign`` command: its sub-commands, in the order in which a person meets them."""

from collections.abc import Sequence
from typing import Final

import typer

from graph.cli import asking, deciding, doctor, looking, pausing, policy, screen, servers, serving, setting_up
from graph.cli.chat import chat
from graph.cli.failures import silence_logs

EXIT_CODES: Final = "Exit codes: 0 done, 2 usage, 3 waiting for approval, 4 refused or not executed, 1 anything else."

app = typer.Typer(
    name="countersign",
    help="An agent that works on a business system, and a person who signs every change.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

for command in (
    setting_up.init, asking.ask, chat, asking.call, looking.pending, looking.show, deciding.approve, deciding.reject,
    deciding.edit, asking.recover, looking.audit, pausing.pause, pausing.resume_all,
    doctor.doctor, serving.serve,
):  # fmt: skip
    app.command()(command)
app.add_typer(policy.app)
app.add_typer(servers.app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: of the command; the process's own if left out.

    Returns:
        The exit code.
    """
    screen.prepare()
    silence_logs()
    try:
        app(args=None if arguments is None else list(arguments), prog_name="countersign")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1 if ended.code else 0
    return 0
