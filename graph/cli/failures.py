"""Every way in which a command can fail, as one line, a hint and an exit code. No traceback reaches a user."""

import functools
import logging
import os
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Any, Final, NoReturn, ParamSpec

import typer

from checkpoints.errors import CheckpointError
from erp_mcp.errors import ErpError
from graph.cli import screen
from graph.errors import CountersignError, PendingError

P = ParamSpec("P")


class Exit(IntEnum):
    """What a command's end means to the program that started it."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    PENDING = 3
    REFUSED = 4
    INTERRUPTED = 130
    PIPE_CLOSED = 141


REFUSALS: Final = (CountersignError, ErpError, CheckpointError)
"""Errors that say what is wrong and what to do."""

USAGE_CODES: Final = frozenset(
    {"bad_json", "bad_time", "bad_approval_id", "ambiguous_approval", "empty_message", "no_decision", "source_missing",
     "unknown_dataset",
     "unknown_server", "unknown_tool", "unnamed_approver"}
)  # fmt: skip
"""Refusals of how a command was written, as opposed to what it met."""


class UsageError(CountersignError):
    """A command line that cannot be meant; its code is one of ``USAGE_CODES``."""


def plainly(command: Callable[P, int]) -> Callable[P, None]:
    """Makes a command end with its exit code, and every failure of it a line that says what to do.

    Args:
        command: returns its exit code. A keyword argument ``as_json`` says that errors are wanted as JSON, too.
    """

    @functools.wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        as_json = bool(options.get("as_json", False))
        try:
            code = command(*arguments, **options)
            sys.stdout.flush()
        except KeyboardInterrupt:
            code = Exit.INTERRUPTED
        except BrokenPipeError:
            code = _leave_the_pipe()
        except REFUSALS as error:
            code = _told(error, as_json)
        except Exception as error:  # noqa: BLE001 the last line of defence: a user gets a sentence
            code = _unexpected(error, as_json)
        raise typer.Exit(code)

    return run


def _leave_the_pipe() -> Exit:
    """The reader has gone; what is still buffered must not fail again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.PIPE_CLOSED


def _told(error: CountersignError | ErpError | CheckpointError, as_json: bool) -> Exit:
    if as_json:
        screen.say_json(_as_json(error))
    else:
        screen.complain(error.message, error.hint)
        if isinstance(error, PendingError):
            from graph.cli.views import waiting_lines

            screen.remark(waiting_lines(error.pending))
    if isinstance(error, PendingError):
        return Exit.PENDING
    return Exit.USAGE if error.code in USAGE_CODES else Exit.FAILED


def _as_json(error: CountersignError | ErpError | CheckpointError) -> dict[str, Any]:
    if isinstance(error, ErpError):
        return error.as_json()
    body: dict[str, Any] = {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
    if isinstance(error, PendingError):
        body |= {
            "thread_id": error.thread_id, "status": "pending", "answer": "", "receipts": [],
            "pending": [approval.as_json() for approval in error.pending],
        }  # fmt: skip
    return body


def _unexpected(error: Exception, as_json: bool) -> Exit:
    if os.environ.get("COUNTERSIGN_DEBUG"):
        raise error
    first = next(iter(str(error).strip().splitlines()), "")
    told = CountersignError(
        "unexpected",
        f"{type(error).__name__}{': ' + first if first else ''}",
        "This is not foreseen. COUNTERSIGN_DEBUG=1 shows where it happens; countersign recover continues what was cut.",
    )
    _told(told, as_json)
    return Exit.FAILED


def silence_logs() -> None:
    """Libraries' log lines and their tracebacks are for those who run with COUNTERSIGN_DEBUG."""
    if not os.environ.get("COUNTERSIGN_DEBUG"):
        logging.getLogger().addHandler(logging.NullHandler())
        logging.disable(logging.CRITICAL)


def refuse_usage(code: str, message: str, hint: str) -> NoReturn:
    """Ends the command as written wrongly."""
    raise UsageError(code, message, hint)
