"""The schema's version: making a database, bringing an older one up to date, refusing what does not fit."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from sqlalchemy.engine import URL

from erp_mcp.errors import ErpError
from erp_mcp.store.connect import make_engines, parse_url
from erp_mcp.store.failures import failure, failures_named
from erp_mcp.store.tables import meta

REVISIONS: Final = ("0001",)
"""Every revision under ``migrations/versions``, oldest first. Listed here so that opening need not load Alembic."""


def check_schema(connection: sa.Connection, url: URL) -> None:
    """Refuse a database whose schema is not this release's.

    Raises:
        ErpError: ``database_missing`` (nothing in it yet), ``database_unusable`` (somebody else's),
            ``database_schema_newer``, ``database_schema_older``.
    """
    revision = _revision(connection, url)
    if revision == REVISIONS[-1]:
        return
    if revision in REVISIONS:
        raise ErpError(
            "database_schema_older",
            f"The database's schema is {revision}; this release needs {REVISIONS[-1]}.",
            "Run `countersign init`: it brings the database up to date and keeps its data.",
        )
    raise ErpError(
        "database_schema_newer",
        f"The database's schema is {revision}; this release knows up to {REVISIONS[-1]}.",
        "Use the release of Countersign that made it, or a later one.",
    )


def create_database(url: str, *, currency: str = "USD") -> None:
    """Make the database where it is missing, bring it up to date where it is older; harmless where it is there already.

    Args:
        url: as for ``open_store``; a PostgreSQL database must exist (it may be empty), a SQLite file need not.
        currency: the business currency, kept on first creation.

    Raises:
        ErpError: ``database_unusable``, ``database_read_only``, ``database_busy``, ``database_schema_newer``, and
            ``database_missing`` for a PostgreSQL database that does not exist.
    """
    parsed = parse_url(url)
    if parsed.get_backend_name() == "sqlite":
        try:
            Path(parsed.database or "").parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise failure("database_unusable", parsed, str(error)) from error
    with _writing(parsed, create=True) as connection:
        _upgrade(connection)
        _fill(connection, {"instance_id": secrets.token_hex(16), "currency": currency})


def migrate(url: str) -> None:
    """Bring an existing database's schema up to date, in one transaction; its data stays.

    Raises:
        ErpError: as ``open_store``, but for ``database_schema_older``.
    """
    parsed = parse_url(url)
    with _writing(parsed, create=False) as connection:
        _upgrade(connection)


@contextmanager
def _writing(url: URL, *, create: bool) -> Iterator[sa.Connection]:
    engines = make_engines(url, create=create)
    try:
        with failures_named(url, create=create):
            # Looked at by a connection that only reads: the writing one would switch somebody else's file to WAL.
            with engines[0].begin() as connection:
                if not create or sa.inspect(connection).get_table_names():
                    _refuse_unknown(connection, url)
            with engines[1].begin() as connection:
                yield connection
    finally:
        for engine in engines:
            engine.dispose()


def _fill(connection: sa.Connection, values: dict[str, str]) -> None:
    present = set(connection.scalars(sa.select(meta.c.key)))
    missing = [{"key": key, "value": value} for key, value in values.items() if key not in present]
    if missing:
        connection.execute(meta.insert(), missing)


def _refuse_unknown(connection: sa.Connection, url: URL) -> None:
    if _revision(connection, url) not in REVISIONS:
        check_schema(connection, url)


def _revision(connection: sa.Connection, url: URL) -> str:
    tables = sa.inspect(connection).get_table_names()
    if not tables:
        raise ErpError(
            "database_missing", f"There is no ERP in {url.database} yet.", "Run `countersign init` to make it."
        )
    if "alembic_version" not in tables or meta.name not in tables:
        raise failure("database_unusable", url, "its tables are not the ERP's")
    return str(connection.scalar(sa.text("SELECT version_num FROM alembic_version")))


def _upgrade(connection: sa.Connection) -> None:
    # Alembic is slow to import and needed only here.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
