"""Transactions on the driver's own connections, with statements that are compiled once.

A statement stays SQLAlchemy Core, so that one text serves both databases; but to look its compiled form up, to begin
and to wrap its rows took SQLAlchemy ten times as long as SQLite takes to answer, and an approval is some forty of them.
"""

from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Final

import sqlalchemy as sa

from checkpoints.database import open_engine, plain_error

Processor = Callable[[Any], Any]

STREAMED_AT_ONCE: Final = 1000
"""Rows that ``stream`` fetches at a time."""


class Prepared:
    """A statement that is compiled on its first use, once for each kind of database.

    Args:
        statement: with a bound parameter for each value that differs from one use to the next; no expanding ones, as
            ``in_`` makes of a plain list.
    """

    def __init__(self, statement: sa.sql.base.Executable) -> None:
        self.statement = statement
        self._forms: dict[str, _Form] = {}

    def on(self, dialect: sa.Dialect) -> "_Form":
        """The statement as a driver takes it."""
        form = self._forms.get(dialect.name)
        if form is None:
            form = self._forms[dialect.name] = _Form(self.statement, dialect)
        return form


class _Form:
    """One database's text of a statement, and how its values go in and come out."""

    def __init__(self, statement: Any, dialect: sa.Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self.text: Final = str(compiled)
        self._positions: Final[tuple[str, ...] | None] = (
            tuple(compiled.positiontup or ()) if compiled.positional else None
        )
        binds = {name: bind for bind, name in compiled.bind_names.items()}
        self._given: Final = {name: bind.value for name, bind in binds.items() if not bind.required}
        self._writers: Final = _useful((name, _writer(bind.type, dialect)) for name, bind in binds.items())
        columns = [column.type for column in statement.exported_columns]
        self._readers: Final = _useful((place, _reader(kind, dialect)) for place, kind in enumerate(columns))

    def parameters(self, values: Mapping[str, Any]) -> Any:
        """Values as the driver takes them; a ``KeyError`` names one that is missing."""
        whole = {**self._given, **values}
        for name, write in self._writers:
            whole[name] = write(whole[name])
        return whole if self._positions is None else [whole[name] for name in self._positions]

    def read(self, row: Any) -> list[Any]:
        """A row of the driver as the columns' types have it."""
        values = list(row)
        for place, read in self._readers:
            values[place] = read(values[place])
        return values


def _useful(pairs: Iterator[tuple[Any, Processor | None]]) -> tuple[tuple[Any, Processor], ...]:
    return tuple((key, processor) for key, processor in pairs if processor is not None)


def _writer(kind: sa.types.TypeEngine[Any], dialect: sa.Dialect) -> Processor | None:
    return kind.dialect_impl(dialect).bind_processor(dialect)


def _reader(kind: sa.types.TypeEngine[Any], dialect: sa.Dialect) -> Processor | None:
    return kind.dialect_impl(dialect).result_processor(dialect, None)


class Transaction:
    """One open transaction.

    Args:
        connection: the driver's.
        dialect: of its database.
    """

    def __init__(self, connection: Any, dialect: sa.Dialect) -> None:
        self._connection = connection
        self.dialect = dialect

    def rows(self, statement: Prepared, values: Mapping[str, Any] | None = None) -> list[list[Any]]:
        """Runs a statement that answers with rows.

        Args:
            statement: to run.
            values: of its bound parameters, by name.
        """
        form = statement.on(self.dialect)
        return [form.read(row) for row in self._connection.execute(form.text, form.parameters(values or {}))]

    def change(self, statement: Prepared, values: Mapping[str, Any] | None = None) -> int:
        """Runs a statement that changes rows; how many it has changed."""
        form = statement.on(self.dialect)
        return int(self._connection.execute(form.text, form.parameters(values or {})).rowcount)

    def stream(self, statement: Prepared) -> Iterator[list[Any]]:
        """Runs a statement that answers with too many rows to hold at once."""
        form = statement.on(self.dialect)
        named = {} if self.dialect.name == "sqlite" else {"name": "stream"}  # PostgreSQL's driver else fetches them all
        cursor = self._connection.cursor(**named)
        cursor.execute(form.text, form.parameters({}))
        while page := cursor.fetchmany(STREAMED_AT_ONCE):
            for row in page:
                yield form.read(row)
        cursor.close()


class Transactions:
    """The transactions of one database.

    Args:
        url: from ``checkpoints.database.database_url``.
        synchronous: SQLite's pragma: FULL for what only this database knows.
    """

    def __init__(self, url: sa.URL, *, synchronous: str = "FULL") -> None:
        self.url = url
        self.engine = open_engine(url, synchronous=synchronous)
        self.failures: Final = (sa.exc.DBAPIError, self.engine.dialect.loaded_dbapi.Error)
        self.keeps = self.is_file = url.get_backend_name() == "sqlite"
        self.idle: list[sa.PoolProxiedConnection] = []

    def close(self) -> None:
        """Gives the connections back; transactions that are under way keep theirs until they end."""
        self.keeps = False
        while self.idle:
            self.take().close()
        self.engine.dispose()

    def take(self) -> sa.PoolProxiedConnection:
        """A connection that nobody else uses, at hand or new."""
        try:
            return self.idle.pop()
        except IndexError:  # asked for afterwards, since another thread may take the last one meanwhile
            return self.engine.raw_connection()

    def alone(self) -> "Begun":
        """For a single statement, which is a transaction by itself."""
        return Begun(self, "")

    def reading(self) -> "Begun":
        """For several statements that have to see the same moment."""
        return Begun(self, "BEGIN")

    def writing(self) -> "Begun":
        """As the only writer, on SQLite; on PostgreSQL the caller takes a lock of its own."""
        return Begun(self, "BEGIN IMMEDIATE")


class Begun:
    """One transaction: a context manager that commits on leaving, and rolls back on any exception.

    Args:
        database: whose it is. A file's connections stay at hand; a server's go back to the pool, which opens those anew
            that were cut.
        begin: what SQLite is told; PostgreSQL's driver begins by itself.
    """

    __slots__ = ("_begin", "_database", "_held")

    def __init__(self, database: Transactions, begin: str) -> None:
        self._database, self._begin = database, begin

    def __enter__(self) -> Transaction:
        database, held = self._database, None
        try:
            held = database.take()
            driver: Any = held.driver_connection
            if self._begin and database.is_file:
                driver.execute(self._begin)
        except database.failures as error:
            if held is not None:
                held.close()
            raise plain_error(database.url, error) from error
        self._held = held
        return Transaction(driver, database.engine.dialect)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        database, held = self._database, self._held
        if error is None:
            driver: Any = held.driver_connection
            try:
                driver.commit()
            except database.failures as failed:
                error = failed
        if error is None and database.keeps:
            database.idle.append(held)
            return
        held.close()  # the pool rolls back what was not committed
        if isinstance(error, database.failures):
            raise plain_error(database.url, error) from error
