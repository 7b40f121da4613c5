"""One transaction's view of the ERP: the connection, and the one moment in which everything in it happens."""

from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

import sqlalchemy as sa


@dataclass(frozen=True)
class Tx:
    """Given to every tool function as its first argument; never part of the tool's schema.

    Args:
        connection: the open connection; the caller of the tool commits or rolls back.
        now: UTC time, the same for the whole transaction.
        zone: the business time zone, which decides what "today" is.
    """

    connection: sa.Connection
    now: datetime
    zone: ZoneInfo

    @property
    def business_date(self) -> date:
        """Today, where the business is."""
        return self.now.astimezone(self.zone).date()
