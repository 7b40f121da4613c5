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
        named = named_failure(url, error, create=create)
        if named is None:
            raise
        raise named from error


def named_failure(url: URL, error: Exception, *, create: bool = False) -> ErpError | None:
    """What a driver's error, bare or in SQLAlchemy's wrapping, means to a person; None where it is a fault of ours."""
    code = _code_of(error)
    is_file = url.get_backend_name() == "sqlite"
    if code == "database_missing" and is_file and (create or Path(url.database or "").exists()):
        code = "database_unusable"  # SQLite says the same of a folder and of a file that it may not open or make
    return None if code is None else failure(code, url, _first_line(error) if code == "database_unusable" else "")


def _code_of(error: Exception) -> str | None:
    original = _original(error)
    name = getattr(original, "sqlite_errorname", None)
    if isinstance(name, str):
        parts = name.split("_")
        return _SQLITE.get("_".join(parts[:2]))
    state = getattr(original, "sqlstate", None)
    if isinstance(state, str):
        return _POSTGRESQL.get(state, "database_unusable" if state[:2] in ("08", "28", "57") else None)
    if "does not exist" in _first_line(error):  # a connection that is refused carries no state
        return "database_missing"
    return "database_unusable" if _is_connection_failure(error) else None


def _original(error: Exception) -> BaseException:
    """The driver's error, whether or not SQLAlchemy has wrapped it."""
    wrapped = error.orig if isinstance(error, DBAPIError) else None
    return wrapped or error


def _is_connection_failure(error: Exception) -> bool:
    invalidated = isinstance(error, DBAPIError) and error.connection_invalidated
    return invalidated or type(_original(error)).__name__ in ("OperationalError", "ConnectionTimeout")


def _first_line(error: Exception) -> str:
    original = _original(error)
    lines = str(original).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(original).__name__
