"""What a database driver complains about, as errors that a person can act on; the only place that knows their codes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from erp_mcp.errors import ErpError

_SQLITE = {
    "SQLITE_BUSY": "database_busy",
    "SQLITE_LOCKED": "database_busy",
    "SQLITE_READONLY": "database_read_only",
    "SQLITE_CANTOPEN": "database_missing",
    "SQLITE_NOTADB": "database_unusable",
    "SQLITE_CORRUPT": "database_unusable",
    "SQLITE_FULL": "database_unusable",
    "SQLITE_IOERR": "database_unusable",
    "SQLITE_PERM": "database_unusable",
    "SQLITE_AUTH": "database_unusable",
}
_POSTGRESQL = {
    "3D000": "database_missing",  # invalid_catalog_name
    "40001": "database_busy",  # serialization_failure
    "40P01": "database_busy",  # deadlock_detected
    "55P03": "database_busy",  # lock_not_available: our lock_timeout
    "53300": "database_busy",  # too_many_connections
    "25006": "database_read_only",  # read_only_sql_transaction
}
_SAID = {
    "database_busy": ("is in use by another writer", "Try the same call again in a few seconds."),
    "database_read_only": ("cannot be written to", "Make the file and its folder writable, or point to another one."),
    "database_missing": ("does not exist", "Run `countersign init` to make it."),
    "database_unusable": ("cannot be used", "Check the path or address, its permissions, and that it is the ERP's."),
}


def failure(code: str, url: URL, reason: str = "") -> ErpError:
    """The error for one of the ``database_*`` codes above, naming the database without its password."""
    what, hint = _SAID[code]
    where = url.database if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)
    return ErpError(code, f"The database {where} {what}{': ' + reason if reason else ''}.", hint)


@contextmanager
def failures_named(url: URL, *, create: bool = False) -> Iterator[None]:
    """Turn the driver's operational failures into ``ErpError``; programming errors and broken constraints pass through.

    Args:
        url: the database, for the message.
        create: whether a SQLite file would be made, so that its absence is not what is wrong.
    """
    try:
        yield
    except DBAPIError as error:
        code = _code_of(error)
        if code is None:
            raise
        is_file = url.get_backend_name() == "sqlite"
        if code == "database_missing" and is_file and (create or Path(url.database or "").exists()):
            code = "database_unusable"  # SQLite says the same of a folder and of a file that it may not open or make
        raise failure(code, url, _first_line(error) if code == "database_unusable" else "") from error


def _code_of(error: DBAPIError) -> str | None:
    name = getattr(error.orig, "sqlite_errorname", None)
    if isinstance(name, str):
        parts = name.split("_")
        return _SQLITE.get("_".join(parts[:2]))
    state = getattr(error.orig, "sqlstate", None)
    if isinstance(state, str):
        return _POSTGRESQL.get(state, "database_unusable" if state[:2] in ("08", "28", "57") else None)
    if "does not exist" in _first_line(error):  # a connection that is refused carries no state
        return "database_missing"
    return "database_unusable" if _is_connection_failure(error) else None


def _is_connection_failure(error: DBAPIError) -> bool:
    return error.connection_invalidated or type(error.orig).__name__ in ("OperationalError", "ConnectionTimeout")


def _first_line(error: DBAPIError) -> str:
    lines = str(error.orig).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error.orig).__name__
