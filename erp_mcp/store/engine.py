"""The ERP's database: opening it, and the transactions in which everything happens."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.engine import URL

from erp_mcp.store.connect import WRITER_LOCK, make_engines, parse_url
from erp_mcp.store.schema import check_schema, create_database, migrate
from erp_mcp.store.tables import meta
from erp_mcp.store.transacting import Connections, Transaction
from erp_mcp.store.transaction import Tx

__all__ = ["Store", "create_database", "migrate", "open_store", "utc_now"]


def utc_now() -> datetime:
    """The clock that is used where no other is given."""
    return datetime.now(UTC)


class Store:
    """One opened database. Safe to share between threads; each transaction has its own connection.

    Make it with :func:`open_store`.
    """

    def __init__(self, url: URL, engines: tuple[sa.Engine, sa.Engine], clock: Callable[[], datetime], zone: ZoneInfo):
        self._url = url
        reader, writer = engines
        is_file = url.get_backend_name() == "sqlite"
        alone = "BEGIN IMMEDIATE" if is_file else f"SELECT pg_advisory_xact_lock({WRITER_LOCK})"
        self._readers = Connections(url, reader, self._tx, begin="BEGIN" if is_file else "", kept=is_file)
        self._writers = Connections(url, writer, self._tx, begin=alone, kept=False)
        self._clock = clock
        self._zone = zone
        with self.read() as tx:
            check_schema(tx.connection, url)
            self._instance_id = str(tx.connection.scalar(sa.select(meta.c.value).where(meta.c.key == "instance_id")))

    @property
    def instance_id(self) -> str:
        """This installation's name, made with the database: the audience of its grants."""
        return self._instance_id

    @property
    def url(self) -> str:
        """The address, without its password."""
        return self._url.render_as_string(hide_password=True)

    def read(self) -> Transaction:
        """A transaction that sees one consistent snapshot and cannot write.

        Raises:
            ErpError: ``database_busy``, ``database_unusable``, ``database_read_only`` (something tried to write).
        """
        return Transaction(self._readers)

    def write(self) -> Transaction:
        """The one writing transaction at a time: commits on leaving, rolls back on any exception.

        Raises:
            ErpError: ``database_busy`` (waited five seconds for the writer before), ``database_read_only``,
                ``database_unusable``.
        """
        return Transaction(self._writers)

    def dry_run(self) -> Transaction:
        """Like :meth:`write`, but always rolled back: for planning calls on top of each other."""
        return Transaction(self._writers, dry=True)

    def close(self) -> None:
        """Close all connections; transactions that are under way keep theirs until they end."""
        self._readers.close()
        self._writers.close()

    def _tx(self, driver: Any, connect: Callable[[], sa.Connection]) -> Tx:
        # The clock is read after BEGIN: writers wait there, and their times must follow their order.
        return Tx(driver, self._readers.engine.dialect, self._clock(), self._zone, connect)


def open_store(url: str, *, clock: Callable[[], datetime] = utc_now, zone: ZoneInfo | None = None) -> Store:
    """Open an existing database of this release's schema. Never creates or changes anything.

    Args:
        url: ``sqlite:///path`` (``?mode=ro`` to only read) or ``postgresql+psycopg://…``.
        clock: gives the aware time of each transaction.
        zone: the business time zone; UTC if left out.

    Raises:
        ErpError: ``database_missing``, ``database_unusable``, ``database_busy``, ``database_schema_newer``,
            ``database_schema_older``.
    """
    parsed = parse_url(url)
    engines = make_engines(parsed)
    try:
        return Store(parsed, engines, clock, zone or ZoneInfo("UTC"))
    except BaseException:
        for engine in engines:
            engine.dispose()
        raise
