"""Reading a source's CSV files: whole, with row numbers, and with an error that names the file and the row."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from erp_mcp.errors import ErpError


@dataclass(frozen=True)
class SourceRow:
    """One row of a CSV file.

    Args:
        file: the file's name.
        number: counts from 1, the header being row 1.
        values: by column.
    """

    file: str
    number: int
    values: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.values[column]


def read_csv(folder: Path, file: str, columns: tuple[str, ...]) -> Iterator[SourceRow]:
    """The rows of one file (UTF-8, with a header).

    Args:
        folder: where the file lies.
        file: its name.
        columns: that must be there; others are ignored.

    Raises:
        ErpError: ``import_source_invalid``, naming the file and what is wrong with it.
    """
    try:
        text = (folder / file).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise source_invalid(file, f"cannot be read: {error}") from error
    reader = csv.DictReader(text.splitlines(keepends=True), strict=True)
    missing = [column for column in columns if column not in (reader.fieldnames or [])]
    if missing:
        raise source_invalid(file, f"has no column {', '.join(missing)}")
    try:
        for number, values in enumerate(reader, start=2):
            if None in values or any(values[column] is None for column in columns):
                raise source_invalid(file, f"row {number} has another number of fields than the header")
            yield SourceRow(file, number, values)
    except csv.Error as error:
        raise source_invalid(file, f"is not CSV: {error}") from error


def source_invalid(file: str, problem: str) -> ErpError:
    """The refusal of a whole source."""
    return ErpError(
        "import_source_invalid", f"{file} {problem}.", "Correct the file and import again; nothing was loaded."
    )
