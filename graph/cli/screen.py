"""The one place that writes: data to stdout, errors and hints to stderr, colours only on a terminal.

Whatever is shown may come from data that somebody else wrote, so nothing of it is read as markup, and what could hide
is spelled out.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from graph.render import visible


class _Screen(Console):
    """Rich, reading nothing as markup, and leaving a closed pipe to ``failures.plainly``."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def prepare() -> None:
    """Makes both streams able to write any text: an odd character is shown as an escape, never a crash."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def shown(text: str, style: str = "") -> Text:
    """Text for a table's cell or a line: visible, never markup, broken over lines but never cut."""
    return Text("\n".join(visible(line) for line in text.split("\n")), style=style, overflow="fold")


def show(*renderables: RenderableType) -> None:
    """Prints tables and text to stdout."""
    console = _Screen()
    for renderable in renderables:
        console.print(renderable)


def say(text: str, style: str = "") -> None:
    """Prints text to stdout as it is; the terminal breaks its lines, so that a copy or a pipe has them whole."""
    _Screen().print(shown(text, style), soft_wrap=True)


def ask(prompt: str) -> str | None:
    """One line from the person, or None where the input has ended."""
    _Screen().print(shown(prompt), end="", soft_wrap=True)
    sys.stdout.flush()
    if sys.stdin is None:
        line = None
    elif sys.stdin.isatty():
        line = _typed()
    else:
        piped = sys.stdin.readline()
        line = piped.rstrip("\r\n") if piped else None
        say(line or "")  # a piped conversation reads like a typed one
    return line


def _typed() -> str | None:
    try:
        return input()  # with the terminal's line editing
    except EOFError:
        say("")
        return None


def say_json(value: Any) -> None:
    """Prints one JSON value to stdout. ASCII only: what could hide in it is an escape."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def complain(message: str, hint: str = "") -> None:
    """One line about what is wrong, and one about what to do, to stderr."""
    console = _Screen(stderr=True)
    console.print(Text.assemble(("error: ", "bold red"), shown(message)), soft_wrap=True)
    if hint:
        console.print(Text.assemble(("hint: ", "bold"), shown(hint)), soft_wrap=True)


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on stderr for work that takes a while; nothing where that is no terminal.

    Yields:
        To be told what is being done, how much of it is done, and how much there is; None where nobody looks.
    """
    console = _Screen(stderr=True)
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

    tasks: dict[str, TaskID] = {}
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=console, transient=True) as bar:

        def tell(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(visible(what))
            bar.update(tasks[what], completed=done, total=max(of, 1) if of else done or 1)

        yield tell


def remark(text: str) -> None:
    """One line beside the data, to stderr."""
    _Screen(stderr=True).print(shown(text), soft_wrap=True)
