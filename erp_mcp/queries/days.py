"""Day filters: a day is a business day, from midnight to midnight in the business time zone."""

from datetime import date, datetime, time, timedelta
from typing import Final

import sqlalchemy as sa

from erp_mcp.errors import ErpError
from erp_mcp.store.transaction import Tx

_FIRST: Final = date(2, 1, 1)
_LAST: Final = date(9999, 12, 29)
"""Days outside are moved to these: their midnight in UTC would leave the calendar, and no row lies there."""


def day_range(tx: Tx, date_from: date | None, date_to: date | None) -> tuple[datetime | None, datetime | None]:
    """The times between which rows of these days lie: first inclusive, second exclusive.

    Args:
        tx: gives the business time zone.
        date_from: first day, inclusive.
        date_to: last day, inclusive.

    Raises:
        ErpError: ``invalid_filter`` where the first day comes after the last.
    """
    if date_from is not None and date_to is not None and date_from > date_to:
        message = f"date_from {date_from} comes after date_to {date_to}."
        raise ErpError("invalid_filter", message, "Swap the two days, or ask the user which period is meant.")
    start = None if date_from is None else _midnight(tx, date_from)
    end = None if date_to is None else _midnight(tx, min(date_to, _LAST) + timedelta(days=1))
    return start, end


def local_time(tx: Tx, moment: datetime) -> str:
    """A time as people at the business read it: ISO 8601 to the second, with its offset."""
    return moment.astimezone(tx.zone).isoformat(timespec="seconds")


def kept_time(column: sa.Column[datetime]) -> sa.ColumnElement[str]:
    """A column of times as the text that is kept, for lists: see :func:`local_kept_time`."""
    return sa.type_coerce(column, sa.String).label(column.name)


def local_kept_time(tx: Tx, kept: str) -> str:
    """The same as :func:`local_time` for a time as it is kept. At a business in UTC that is nearly what people read:
    to go through a datetime for it would take longer than a list's query."""
    if tx.zone.key == "UTC":
        return f"{kept[:19]}+00:00"
    return local_time(tx, datetime.fromisoformat(kept))


def _midnight(tx: Tx, day: date) -> datetime:
    return datetime.combine(max(_FIRST, min(day, _LAST)), time.min, tzinfo=tx.zone)
