"""Engines for both databases: one that can only read, and one that writes as the only writer at a time."""

import sqlite3
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from erp_mcp.errors import ErpError
from erp_mcp.store.failures import failure

BUSY_MILLISECONDS: Final = 5000
"""How long a writer waits for the one before it."""
WRITER_LOCK: Final = 0x434F554E54455253
"""PostgreSQL's advisory lock of the one writer; SQLite has the same by nature (``BEGIN IMMEDIATE``)."""
POOL: Final[dict[str, Any]] = {"pool_size": 8, "max_overflow": 32, "pool_timeout": 30}


def parse_url(url: str) -> URL:
    """A database address that this ERP can work with: a SQLite file or PostgreSQL through psycopg.

    Raises:
        ErpError: ``database_unusable``.
    """
    hint = "Use sqlite:///path/to/erp.db or postgresql+psycopg://user@host/database."
    try:
        parsed = sa.make_url(url)
    except ArgumentError as error:
        raise ErpError("database_unusable", f"{url!r} is not a database address.", hint) from error
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername == "postgresql+psycopg" and parsed.database:
        return parsed
    if parsed.drivername == "sqlite" and parsed.database and parsed.database != ":memory:":
        return parsed.set(database=str(Path(parsed.database).absolute()))  # a later chdir must not move it
    shown = parsed.render_as_string(hide_password=True)
    raise ErpError("database_unusable", f"{shown!r} is not a database that the ERP can be kept in.", hint)


def make_engines(url: URL, *, create: bool = False) -> tuple[sa.Engine, sa.Engine]:
    """A reading and a writing engine for one database. Nothing is opened yet.

    Args:
        url: from :func:`parse_url`; a SQLite address may end in ``?mode=ro``.
        create: make the SQLite file if it is missing; otherwise opening never creates one.
    """
    if url.get_backend_name() == "sqlite":
        mode = "rwc" if create else str(url.query.get("mode", "rw"))
        return _sqlite(url, mode, writes=False), _sqlite(url, mode, writes=True)
    return _postgresql(url, writes=False), _postgresql(url, writes=True)


def _sqlite(url: URL, mode: str, *, writes: bool) -> sa.Engine:
    uri = f"file:{quote(url.database or '')}?mode={mode}"

    def connect() -> sqlite3.Connection:
        # isolation_level None: the driver begins and commits nothing by itself; _begin does it in the open.
        connection = sqlite3.connect(
            uri, uri=True, timeout=BUSY_MILLISECONDS / 1000, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        if not writes:
            connection.execute("PRAGMA query_only = ON")
        elif mode != "ro":
            connection.execute("PRAGMA journal_mode = WAL")
        return connection

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.QueuePool, **POOL)
    statement = "BEGIN IMMEDIATE" if writes else "BEGIN"

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        driver: Any = connection.connection.driver_connection
        if not driver.in_transaction:  # a transaction may have begun already, without SQLAlchemy
            connection.exec_driver_sql(statement)

    return engine


def _postgresql(url: URL, *, writes: bool) -> sa.Engine:
    options = f"-c lock_timeout={BUSY_MILLISECONDS} -c timezone=UTC"
    # prepare_threshold: the ERP's statements repeat, so each is prepared on its second use.
    arguments = {"options": options, "connect_timeout": 5, "prepare_threshold": 2}
    try:
        from psycopg import IsolationLevel

        engine = sa.create_engine(url, connect_args=arguments, pool_pre_ping=True, **POOL)
    except ModuleNotFoundError as error:
        reason = "the PostgreSQL driver is not installed (pip install 'countersign-erp[postgres]')"
        raise failure("database_unusable", url, reason) from error
    if not writes:

        @sa.event.listens_for(engine, "connect")
        def _only_read(connection: Any, _record: Any) -> None:
            connection.isolation_level = IsolationLevel.REPEATABLE_READ
            connection.read_only = True

        return engine

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(WRITER_LOCK)))

    return engine
