"""Reading a source's files: a row at a time, with errors that name the file and the place in it."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, Final, TypeVar, cast

from pydantic import BaseModel, ValidationError

from erp_mcp.domain.money import to_minor
from erp_mcp.errors import ErpError

Model = TypeVar("Model", bound=BaseModel)
Watch = Callable[[int, int], None]
"""Told how many bytes of a file are read, and how many there are."""

_GZIP: Final = b"\x1f\x8b"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_WATCHED_EVERY: Final = 5000
_UNREADABLE: Final = (UnicodeDecodeError, EOFError, OSError, zlib.error)


@dataclass(frozen=True, slots=True)
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

    def text(self, column: str) -> str:
        """What stands in a column, trimmed; empty where the file has no such column."""
        return self.values.get(column, "").strip()


def source_path(dataset: str, source: Path | None, file: str) -> Path:
    """Where a data set's one file is.

    Args:
        dataset: its name on the command line.
        source: the file itself, or the folder that holds it.
        file: what it is called in such a folder.

    Raises:
        ErpError: ``source_missing`` where nothing is given or nothing is there.
    """
    hint = f"Give its file or folder: countersign init --data {dataset} --from PATH"
    if source is None:
        raise ErpError("source_missing", f"The data set {dataset!r} does not come with Countersign.", hint)
    path = source / file if source.is_dir() else source
    if not path.is_file():
        raise ErpError("source_missing", f"There is no file {path}.", hint)
    return path


def columns_of(folder: Path, file: str) -> list[str]:
    """The header of a CSV file.

    Raises:
        ErpError: ``import_source_invalid``.
    """
    with _opened(folder / file) as (text, _):
        return [name.strip() for name in _reader(file, text).fieldnames or []]


def read_csv(folder: Path, file: str, columns: tuple[str, ...], watch: Watch | None = None) -> Iterator[SourceRow]:
    """The rows of one file (UTF-8, with a header, plain or gzipped), one at a time.

    Args:
        folder: where the file lies.
        file: its name.
        columns: that must be there; others are ignored.
        watch: told now and then how far the reading is.

    Raises:
        ErpError: ``import_source_invalid``, naming the file and what is wrong with it.
    """
    with _opened(folder / file) as (text, raw):
        reader = _reader(file, text)
        missing = [column for column in columns if column not in (reader.fieldnames or [])]
        if missing:
            there = ", ".join(reader.fieldnames or []) or "none"
            raise source_invalid(file, f"has no column {', '.join(missing)} (its columns: {there})")
        size = (folder / file).stat().st_size
        number = 1
        try:
            for number, values in enumerate(reader, start=2):
                if None in values or None in values.values():
                    raise source_invalid(file, f"row {number} has another number of fields than the header")
                if watch is not None and number % _WATCHED_EVERY == 0:
                    watch(raw.tell(), size)
                yield SourceRow(file, number, values)
        except csv.Error as error:
            raise source_invalid(file, f"is not CSV after row {number}: {error}") from error
        except _UNREADABLE as error:
            raise source_invalid(file, f"cannot be read after row {number}: {_said(error)}") from error
        if watch is not None:
            watch(size, size)


def read_json(path: Path, model: type[Model]) -> Model:
    """A JSON file of a known shape. Its fractions are decimals, never floats.

    Raises:
        ErpError: ``import_source_invalid``, naming the file and the place in it.
    """
    try:
        with _opened(path) as (text, _):
            content: Any = json.load(text, parse_float=Decimal)
    except _UNREADABLE as error:
        raise source_invalid(path.name, f"cannot be read: {_said(error)}") from error
    except (ValueError, RecursionError) as error:
        raise source_invalid(path.name, f"is not JSON: {error}") from error
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise source_invalid(path.name, f"has another shape: {place}: {first['msg']}") from error


def money_in(file: str, what: str, amount: Decimal, currency: str) -> int:
    """An amount of a source in minor units, exactly.

    Raises:
        ErpError: ``import_source_invalid``, naming the file, what the amount belongs to, and what is wrong with it.
    """
    try:
        return to_minor(amount, currency)
    except ErpError as error:
        raise source_invalid(file, f"{what}: {error.message.rstrip('.')}") from error


def source_invalid(file: str, problem: str) -> ErpError:
    """The refusal of a whole source."""
    return ErpError(
        "import_source_invalid", f"{file} {problem}.", "Correct the file and import again; nothing was loaded."
    )


@contextmanager
def _opened(path: Path) -> Iterator[tuple[io.TextIOWrapper, IO[bytes]]]:
    """A file as UTF-8 text, unpacked where its first bytes (not its name) say gzip; and the raw file."""
    try:
        raw = path.open("rb")
    except OSError as error:
        raise source_invalid(path.name, f"cannot be read: {error.strerror} ({path})") from error
    with raw:
        start = raw.read(2)
        raw.seek(0)
        if start in _UTF16:
            raise source_invalid(path.name, "is UTF-16; save it as UTF-8")
        plain = gzip.GzipFile(fileobj=raw) if start == _GZIP else raw
        with io.TextIOWrapper(cast("IO[bytes]", plain), "utf-8-sig", newline="") as text:
            yield text, raw


def _reader(file: str, text: io.TextIOWrapper) -> "csv.DictReader[str]":
    reader = csv.DictReader(_without_nul(file, text), strict=True)
    try:
        reader.fieldnames = [name.strip() for name in reader.fieldnames or []]
    except csv.Error as error:
        raise source_invalid(file, f"is not CSV: {error}") from error
    except _UNREADABLE as error:
        raise source_invalid(file, f"cannot be read: {_said(error)}") from error
    return reader


def _without_nul(file: str, lines: io.TextIOWrapper) -> Iterator[str]:
    for line in lines:
        if "\0" in line:  # PostgreSQL keeps no text with it
            raise source_invalid(file, "has a NUL character in it: it is not text")
        yield line


def _said(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8"
    return str(error)
