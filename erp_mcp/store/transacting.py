"""Transactions on the driver's own connections.

A keyed look-up takes a SQLite file a few microseconds. SQLAlchemy's pool and transaction take several times as long, so
they are gone past here, and the connections of a file that read stay at hand. All others go back to SQLAlchemy's pool,
which finds out whether a server's are still alive.
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


class Connections:
    """The connections of one database that read, or those that write.

    Args:
        url: of the database, for messages.
        engine: makes them.
        began: makes a view of each transaction.
        begin: what a transaction begins with; nothing where the driver begins by itself.
        kept: whether they stay at hand between transactions.
    """

    def __init__(self, url: URL, engine: sa.Engine, began: Began, *, begin: str, kept: bool) -> None:
        self.url = url
        self.engine = engine
        self.began = began
        self.begin = begin
        self.kept = kept
        self.failures: tuple[type[Exception], ...] = (DBAPIError, engine.dialect.loaded_dbapi.Error)
        self.idle: list[sa.PoolProxiedConnection] = []

    def close(self) -> None:
        """Close all connections; transactions that are under way keep theirs until they end."""
        self.kept = False
        while self.idle:
            self.take().close()
        self.engine.dispose()

    def take(self) -> sa.PoolProxiedConnection:
        """A connection that nobody else uses, at hand or new."""
        try:
            return self.idle.pop()
        except IndexError:  # asked for afterwards, since another thread may take the last one meanwhile
            return self.engine.raw_connection()


class Transaction:
    """One transaction: a context manager that commits on leaving, and rolls back on any exception.

    Args:
        connections: whose are used.
        dry: roll back in any case.
    """

    __slots__ = ("_connections", "_dry", "_held")

    def __init__(self, connections: Connections, *, dry: bool = False) -> None:
        self._connections, self._dry = connections, dry

    def __enter__(self) -> Tx:
        all_of_them = self._connections
        held = None
        try:
            held = all_of_them.take()
            driver: Any = held.driver_connection
            if all_of_them.begin:
                driver.execute(all_of_them.begin)
        except all_of_them.failures as error:
            if held is not None:
                held.close()
            raise (named_failure(all_of_them.url, error) or error) from error
        self._held = held
        return all_of_them.began(driver, lambda: sa.Connection(all_of_them.engine, held))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        all_of_them, held = self._connections, self._held
        if error is None:
            driver: Any = held.driver_connection
            try:
                if self._dry:
                    driver.rollback()
                else:
                    driver.commit()
            except all_of_them.failures as failed:
                error = failed
        if error is None and all_of_them.kept:
            all_of_them.idle.append(held)
            return
        held.close()  # the pool rolls back what was not committed
        if isinstance(error, all_of_them.failures):
            raise (named_failure(all_of_them.url, error) or error) from error
