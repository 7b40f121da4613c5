"""What an import did: what was taken, what was mended, what was refused, and why."""

from pydantic import Field

from erp_mcp.contract import Wire


class RowNote(Wire):
    """One row of a source and what was done about it. ``row`` counts from 1, the header being row 1."""

    file: str
    row: int
    what: str


class ImportReport(Wire):
    """The result of one import, which happened whole or not at all.

    ``taken`` and ``unchanged`` count rows by kind: new ones, and ones that were in the database and stay as they
    are. ``notes`` say what was chosen where the source says nothing, and what was left out.
    """

    dataset: str
    taken: dict[str, int] = Field(default_factory=dict)
    unchanged: dict[str, int] = Field(default_factory=dict)
    mended: list[RowNote] = Field(default_factory=list)
    refused: list[RowNote] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
