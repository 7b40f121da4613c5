"""Reading transactions on the driver's own connections.

A keyed look-up takes a SQLite file a few microseconds. SQLAlchemy's pool and transaction take several times as long, so
what reads goes past them, and a file's connections stay at hand. A server's go back to SQLAlchemy's pool, which finds
out whether they are still alive.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from erp_mcp.store.failures import named_failure
from erp_mcp.store.transaction import Tx

Began = Callable[[Any, Callable[[], sa.Connection]], Tx]
"""Makes the transaction's view of a driver's connection, and of a way to SQLAlchemy's over it."""


class Readers:
    """The connections of one database that read.

    Args:
        url: of the database, for messages.
        engine: which only reads.
        began: makes a view of each transaction.
    """

    def __init__(self, url: URL, engine: sa.Engine, began: Began) -> None:
        self.url = url
        self.engine = engine
        self.began = began
        self.is_file = url.get_backend_name() == "sqlite"
        self.failures: tuple[type[Exception], ...] = (DBAPIError, engine.dialect.loaded_dbapi.Error)
        self.idle: list[sa.PoolProxiedConnection] = []
        self.is_closed = False

    def close(self) -> None:
        """Close all connections; transactions that are under way keep theirs until they end."""
        self.is_closed = True
        while self.idle:
            self.idle.pop().close()
        self.engine.dispose()


class Reading:
    """One transaction that sees one consistent snapshot and cannot write: a context manager.

    Args:
        readers: whose connections are used.
    """

    __slots__ = ("_held", "_readers")

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    def __enter__(self) -> Tx:
        readers = self._readers
        try:
            self._held = held = readers.idle.pop() if readers.idle else readers.engine.raw_connection()
            driver: Any = held.driver_connection
            if readers.is_file:  # PostgreSQL's driver begins by itself
                driver.execute("BEGIN")
        except readers.failures as error:
            raise (named_failure(readers.url, error) or error) from error
        return readers.began(driver, lambda: sa.Connection(readers.engine, held))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        readers, held = self._readers, self._held
        if error is None:
            try:
                held.driver_connection.commit()  # type: ignore[union-attr]
            except readers.failures as failed:
                error = failed
        if error is None and readers.is_file and not readers.is_closed:
            readers.idle.append(held)
            return
        held.close()  # the pool rolls back what was not committed
        if isinstance(error, readers.failures):
            raise (named_failure(readers.url, error) or error) from error
