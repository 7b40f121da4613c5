"""What an import did: what was taken, what was mended, what was refused, and why."""

from collections import Counter
from collections.abc import Callable
from typing import Final, Literal

from pydantic import Field

from erp_mcp.contract import Wire

KEPT_PER_REASON: Final = 100
"""Rows of one reason that a report holds itself; a listener sees all of them, so that memory stays bounded."""

Action = Literal["mended", "refused"]


class RowNote(Wire):
    """One row of a source and what was done about it. ``row`` counts from 1, the header being row 1.

    ``reason`` is the same for all rows to which the same happened; ``what`` names this row's own values.
    """

    file: str
    row: int
    what: str
    reason: str = ""


class ImportReport(Wire):
    """The result of one import, which happened whole or not at all.

    ``taken`` and ``unchanged`` count rows by kind: new ones, and ones that were in the database and stay as they
    are. ``mended`` and ``refused`` list the first rows of each reason, ``mended_rows`` and ``refused_rows`` count
    all of them by reason. ``notes`` say what was chosen where the source says nothing, and what was left out.
    """

    dataset: str
    taken: dict[str, int] = Field(default_factory=dict)
    unchanged: dict[str, int] = Field(default_factory=dict)
    mended: list[RowNote] = Field(default_factory=list)
    refused: list[RowNote] = Field(default_factory=list)
    mended_rows: dict[str, int] = Field(default_factory=dict)
    refused_rows: dict[str, int] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)


Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""
RowListener = Callable[[Action, RowNote], None]
"""Told of every row that was mended or refused, in the order in which it happened."""


def unwatched(_what: str, _done: int, _of: int) -> None:
    """The progress that nobody looks at."""


class RowNotes:
    """Collects what happens to rows while a source is read and loaded.

    Args:
        listener: told of every row as well.
    """

    def __init__(self, listener: RowListener | None = None) -> None:
        self._listener = listener
        self._counts: dict[Action, Counter[str]] = {"mended": Counter(), "refused": Counter()}
        self._kept: dict[Action, list[RowNote]] = {"mended": [], "refused": []}

    def mend(self, file: str, row: int, reason: str, what: str = "") -> None:
        """A row was taken, but not as it stands there."""
        self._add("mended", RowNote(file=file, row=row, reason=reason, what=what or reason))

    def refuse(self, file: str, row: int, reason: str, what: str = "") -> None:
        """A row was not taken."""
        self._add("refused", RowNote(file=file, row=row, reason=reason, what=what or reason))

    def kept(self, action: Action) -> list[RowNote]:
        """The first rows of each reason."""
        return self._kept[action]

    def counts(self, action: Action) -> dict[str, int]:
        """How many rows there were of each reason."""
        return dict(self._counts[action])

    def _add(self, action: Action, note: RowNote) -> None:
        self._counts[action][note.reason] += 1
        if self._counts[action][note.reason] <= KEPT_PER_REASON:
            self._kept[action].append(note)
        if self._listener is not None:
            self._listener(action, note)
