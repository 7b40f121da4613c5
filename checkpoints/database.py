"""The agent's own database: SQLite as the embedded default, PostgreSQL where one file is outgrown."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import event

from checkpoints.errors import CheckpointError

SCHEMA_REVISION: Final = "0001"
"""The newest migration of this release; a test compares it with the migrations folder."""

BUSY_TIMEOUT_MS: Final = 10_000


def database_url(url: str) -> sa.URL:
    """A SQLAlchemy URL from what a person writes: a file's path or a database URL.

    Raises:
        CheckpointError: ``checkpoints_unusable`` where neither is meant.
    """
    text = url if "://" in url else f"sqlite:///{url}"
    try:
        parsed = sa.make_url(text)
    except sa.exc.ArgumentError as error:
        raise CheckpointError("checkpoints_unusable", f"Not a database address: {url!r}", _HINT_URL) from error
    if parsed.get_backend_name() not in {"sqlite", "postgresql"}:
        raise CheckpointError("checkpoints_unusable", f"Not a supported database: {parsed.drivername}", _HINT_URL)
    return parsed.set(drivername="postgresql+psycopg") if parsed.get_backend_name() == "postgresql" else parsed


_HINT_URL = "Set COUNTERSIGN_CHECKPOINT_URL to a file's path or to postgresql+psycopg://user@host/database"


def sqlite_path(url: sa.URL) -> Path | None:
    """The file of a SQLite address; None for a server."""
    return Path(url.database or "") if url.get_backend_name() == "sqlite" else None


def open_engine(url: sa.URL, *, synchronous: str = "FULL") -> sa.Engine:
    """An engine whose transactions begin explicitly: with the execution option ``writes`` as the only writer.

    Args:
        url: from ``database_url``.
        synchronous: SQLite's pragma. FULL for the ledger; leases may lose their tail on a power cut.

    Raises:
        CheckpointError: ``checkpoints_unusable`` where PostgreSQL's driver is not installed.
    """
    if url.get_backend_name() != "sqlite":
        try:
            return sa.create_engine(url, pool_pre_ping=True)
        except ModuleNotFoundError as error:
            message = f"{url.render_as_string(hide_password=True)}: the PostgreSQL driver is not installed."
            hint = "Run: pip install 'countersign-erp[postgres]'"
            raise CheckpointError("checkpoints_unusable", message, hint) from error
    engine = sa.create_engine(url, connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000})

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None  # the driver must not open transactions behind our back
        connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


@contextmanager
def said_plainly(url: sa.URL) -> Iterator[None]:
    """Turns a driver's error into one line with what to do; nothing else passes through here changed."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        raise plain_error(url, error) from error


def plain_error(url: sa.URL, error: Exception) -> CheckpointError:
    """A driver's error, bare or in SQLAlchemy's wrapping, in one line with what to do."""
    text = str(getattr(error, "orig", error))
    where = url.render_as_string(hide_password=True)
    if "locked" in text or "busy" in text:
        return CheckpointError(
            "checkpoints_busy", f"{where} is locked by another program.", "Try again when it is done."
        )
    if "readonly" in text or "read-only" in text:
        return CheckpointError(
            "checkpoints_read_only", f"{where} cannot be written.", "Give this user the right to write it."
        )
    if "no such table" in text or "does not exist" in text or "unable to open" in text:
        return missing(url)
    if "not a database" in text or "malformed" in text:
        return CheckpointError(
            "checkpoints_unusable",
            f"{where} is not a usable database.",
            "Restore it from a backup, or move it away and run: countersign init",
        )
    return CheckpointError(
        "checkpoints_unusable", f"{where}: {text.splitlines()[0]}", "Check COUNTERSIGN_CHECKPOINT_URL."
    )


def missing(url: sa.URL) -> CheckpointError:
    """The error of a database that nobody has made yet."""
    where = url.render_as_string(hide_password=True)
    return CheckpointError(
        "checkpoints_missing", f"There is no checkpoint database at {where}.", "Run: countersign init"
    )


def check_schema(engine: sa.Engine) -> None:
    """Refuses a database that is missing, or that another release of Countersign has made.

    Raises:
        CheckpointError: ``checkpoints_missing``, ``checkpoints_newer``, ``checkpoints_older`` and what a driver says.
    """
    path = sqlite_path(engine.url)
    if path is not None and not path.exists():
        raise missing(engine.url)
    with said_plainly(engine.url), engine.connect() as connection:
        found = connection.execute(sa.text("SELECT version_num FROM checkpoints_version")).scalar()
    if found is None:
        raise missing(engine.url)
    if found > SCHEMA_REVISION:
        raise CheckpointError(
            "checkpoints_newer",
            f"The checkpoint database has schema {found}; this release knows {SCHEMA_REVISION}.",
            "Use the release that made it, or a newer one.",
        )
    if found < SCHEMA_REVISION:
        raise CheckpointError(
            "checkpoints_older",
            f"The checkpoint database has schema {found}; this release needs {SCHEMA_REVISION}.",
            "Run: countersign init (it upgrades and keeps what is there)",
        )


def migrate(url: sa.URL) -> None:
    """Makes the ledger's tables, or brings them up to this release; what is there stays.

    Raises:
        CheckpointError: ``checkpoints_newer`` and what a driver says.
    """
    from alembic import command
    from alembic.config import Config

    path = sqlite_path(url)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            _refuse_newer(url)
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    engine = open_engine(url)
    try:
        with said_plainly(url), engine.connect().execution_options(writes=True) as connection, connection.begin():
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()


def _refuse_newer(url: sa.URL) -> None:
    engine = open_engine(url)
    try:
        check_schema(engine)
    except CheckpointError as error:
        if error.code not in {"checkpoints_missing", "checkpoints_older"}:
            raise
    finally:
        engine.dispose()
