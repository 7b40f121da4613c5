"""Many rows at once."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa


def insert_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows that all have the same columns; columns that they leave out get their defaults.

    Args:
        connection: in the transaction to which the rows belong.
        table: one of ``store.tables``.
        rows: may be empty.
    """
    if not rows:
        return
    # COPY is several times faster on PostgreSQL, but knows nothing of defaults that are made here.
    if connection.dialect.name == "postgresql" and rows[0].keys() == set(table.columns.keys()):
        _copy(connection, table, rows)
    else:
        connection.execute(sa.insert(table), list(rows))


def _copy(connection: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    names = table.columns.keys()
    processors = [column.type.dialect_impl(connection.dialect).bind_processor(connection.dialect) for column in table.c]
    quoted = [connection.dialect.identifier_preparer.quote(name) for name in (table.name, *names)]
    statement = f"COPY {quoted[0]} ({', '.join(quoted[1:])}) FROM STDIN"
    raw: Any = connection.connection.driver_connection
    with raw.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(
                [
                    row[name] if process is None else process(row[name])
                    for name, process in zip(names, processors, strict=True)
                ]
            )
