"""Statements that are compiled once and run on the driver's own cursor.

A statement stays SQLAlchemy Core, so that one text serves both databases; but to build it, to look its compiled form up
and to wrap its rows takes SQLAlchemy several times as long as a keyed look-up takes the database. The ledger has the
same for its own rows, in ``checkpoints/transactions.py``: the two packages know nothing of each other.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

Row = Any
"""A named tuple with the statement's columns."""


class Prepared:
    """A statement that is compiled on its first use, once for each kind of database.

    Args:
        statement: with a bound parameter for each value that differs from one use to the next; no expanding ones, as
            ``in_`` makes of a plain list. An INSERT names its columns, and is ``inline``.
    """

    def __init__(self, statement: sa.Select[Any] | sa.CompoundSelect[Any] | sa.UpdateBase) -> None:
        self.statement: Final = statement
        self._forms: dict[str, Form] = {}

    def on(self, dialect: sa.Dialect) -> "Form":
        """The statement as a driver takes it."""
        form = self._forms.get(dialect.name)
        if form is None:
            form = self._forms[dialect.name] = Form(self.statement, dialect)
        return form


def one_of(column: sa.ColumnElement[Any], count: int) -> sa.ColumnElement[bool]:
    """Whether a column is one of so many values, which :func:`listed` names."""
    if not count:
        return sa.false()  # an empty list has a form of SQLAlchemy's own, which is only made when it runs the statement
    return column.in_([sa.bindparam(f"listed_{place}") for place in range(count)])


def listed(values: Sequence[Any]) -> dict[str, Any]:
    """The values of a statement with :func:`one_of`, by the names of its parameters."""
    return {f"listed_{place}": value for place, value in enumerate(values)}


def contains(column: sa.ColumnElement[str], place: int) -> sa.ColumnElement[bool]:
    """Whether a text has a word in it, which :func:`containing` names."""
    return column.like(sa.bindparam(f"word_{place}", type_=sa.String), escape="/")


def containing(words: Sequence[str]) -> dict[str, str]:
    """The words of a statement with :func:`contains`, by the names of its parameters; no word is a pattern."""
    return {f"word_{place}": f"%{_literally(word)}%" for place, word in enumerate(words)}


def _literally(word: str) -> str:
    return word.replace("/", "//").replace("%", "/%").replace("_", "/_")


class Form:
    """One database's text of a statement, and how its values go in and come out."""

    def __init__(self, statement: Any, dialect: sa.Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self.text: Final = str(compiled)
        self._positions: Final = tuple(compiled.positiontup or ()) if compiled.positional else None
        binds = {name: bind for bind, name in compiled.bind_names.items()}
        self._given: Final = {name: bind.value for name, bind in binds.items() if not bind.required}
        self._writers: Final = _useful(
            {name: _impl(bind.type, dialect).bind_processor(dialect) for name, bind in binds.items()}
        )
        columns = statement.exported_columns
        row = namedtuple("Row", columns.keys(), rename=True)  # type: ignore[misc]
        self._row: Final = partial(tuple.__new__, row)  # what _make does, without a Python frame for each row
        self._readers: Final = _useful(
            {place: _impl(column.type, dialect).result_processor(dialect, None) for place, column in enumerate(columns)}
        )

    def parameters(self, values: Mapping[str, Any]) -> Any:
        """Values as the driver takes them; a ``KeyError`` names one that is missing."""
        whole = {**self._given, **values} if self._given else dict(values)
        for name, write in self._writers:
            whole[name] = write(whole[name])
        return whole if self._positions is None else tuple([whole[name] for name in self._positions])

    def rows(self, found: Any) -> list[Row]:
        """The driver's rows as named tuples whose values are as the columns' types have them."""
        if not self._readers:
            return list(map(self._row, found))
        return [self._read(row) for row in found]

    def _read(self, row: Any) -> Row:
        values = list(row)
        for place, read in self._readers:
            values[place] = read(values[place])
        return self._row(values)


def _impl(kind: sa.types.TypeEngine[Any], dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
    return kind.dialect_impl(dialect)


def _useful(processors: Mapping[Any, Callable[[Any], Any] | None]) -> tuple[tuple[Any, Callable[[Any], Any]], ...]:
    return tuple((key, processor) for key, processor in processors.items() if processor is not None)
