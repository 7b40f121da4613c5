"""One transaction's view of the ERP: the connection, and the one moment in which everything in it happens."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from erp_mcp.store.prepared import Prepared, Row


@dataclass(frozen=True)
class Tx:
    """Given to every tool function as its first argument; never part of the tool's schema.

    Args:
        driver: the driver's open connection; the caller of the tool commits or rolls back.
        dialect: of its database.
        now: UTC time, the same for the whole transaction.
        zone: the business time zone, which decides what "today" is.
        connect: makes SQLAlchemy's connection over the same transaction.
    """

    driver: Any
    dialect: sa.Dialect
    now: datetime
    zone: ZoneInfo
    connect: Callable[[], sa.Connection]

    @cached_property
    def connection(self) -> sa.Connection:
        """SQLAlchemy's connection, for what is written and for statements that are asked rarely."""
        return self.connect()

    def rows(self, statement: Prepared, **values: Any) -> list[Row]:
        """The rows of a prepared statement.

        Args:
            statement: to run.
            values: of its bound parameters.
        """
        form = statement.on(self.dialect)
        return form.rows(self.driver.execute(form.text, form.parameters(values)))

    def change(self, statement: Prepared, **values: Any) -> int:
        """Runs a prepared statement that writes; how many rows it has written.

        Args:
            statement: to run.
            values: of its bound parameters.
        """
        form = statement.on(self.dialect)
        return int(self.driver.execute(form.text, form.parameters(values)).rowcount)

    def row(self, statement: Prepared, **values: Any) -> Row | None:
        """The first row, or None."""
        found = self.rows(statement, **values)
        return found[0] if found else None

    def value(self, statement: Prepared, **values: Any) -> Any:
        """The first column of the first row, or None."""
        found = self.rows(statement, **values)
        return found[0][0] if found else None

    @property
    def business_date(self) -> date:
        """Today, where the business is."""
        return self.now.astimezone(self.zone).date()
