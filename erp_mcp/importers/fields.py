"""What one field of a person's own CSV files may say. What it may not say refuses its row."""

from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Final
from zoneinfo import ZoneInfo

from erp_mcp.domain.lookup import match_key
from erp_mcp.domain.money import to_minor
from erp_mcp.domain.orders import STATUSES, OrderStatus
from erp_mcp.domain.quantity import MAX_PLACES, to_milli
from erp_mcp.errors import ErpError
from erp_mcp.importers.source import SourceRow

_FLAGS: Final = {"": False, "0": False, "no": False, "false": False, "1": True, "yes": True, "true": True}
_CURRENCY_LETTERS: Final = 3


class RowError(Exception):
    """A row that cannot be taken.

    Args:
        reason: the same for every row with this fault.
        what: with the row's own values.
    """

    def __init__(self, reason: str, what: str) -> None:
        super().__init__(what)
        self.reason = reason


def required(row: SourceRow, column: str) -> str:
    """A text that must not be empty."""
    text = row.text(column)
    if not text:
        raise RowError(f"{column} is empty", f"{column} is empty")
    return text


def money(row: SourceRow, column: str, currency: str) -> int:
    """An amount of 0 or more, in minor units."""
    amount = _decimal(row, column)
    try:
        minor = to_minor(amount, currency)
    except ErpError as error:
        raise _unfit(column, error.message.rstrip(".")) from None
    if minor < 0:
        raise _unfit(column, f"{column} {amount} is below 0")
    return minor


def quantity_milli(row: SourceRow, column: str, decimal_places: int) -> int:
    """A quantity of 0 or more, in thousandths; an empty field is 0.

    Args:
        row: the row.
        column: where it stands.
        decimal_places: that the product allows.
    """
    if not row.text(column):
        return 0
    try:
        milli = to_milli(_decimal(row, column), decimal_places, column)
    except ErpError as error:
        raise _unfit(column, error.message.rstrip(".")) from None
    if milli < 0:
        raise _unfit(column, f"{column} {row.text(column)} is below 0")
    return milli


def percent_bp(row: SourceRow, column: str) -> int:
    """A percentage of 0 to 100 with at most two decimal places, in hundredths of a percent; an empty field is 0."""
    if not row.text(column):
        return 0
    percent = _decimal(row, column)
    if not 0 <= percent <= 100 or int(percent * 100) != percent * 100:
        raise _unfit(column, f"{column} {percent} is not within 0 and 100 with at most two decimal places")
    return int(percent * 100)


def moment(row: SourceRow, column: str, zone: ZoneInfo) -> datetime:
    """A day (its midnight) or a time, in the business time zone unless it names its own offset."""
    text = required(row, column)
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=zone) if found.tzinfo is None else found.astimezone(zone)
    except (ValueError, OverflowError):
        raise _unfit(column, f"{column} {text!r} is not a day such as 2026-11-30, nor a time") from None


def currency_of(row: SourceRow, default: str) -> str:
    """A currency's three letters, or the default where there is none."""
    text = row.text("currency").upper() or default
    if len(text) != _CURRENCY_LETTERS or not (text.isascii() and text.isalpha()):
        raise _unfit("currency", f"currency {text!r} is not three letters such as USD")
    return text


def flag(row: SourceRow, column: str) -> bool:
    """Yes or no; an empty field is no."""
    found = _FLAGS.get(match_key(row.text(column)))
    if found is None:
        raise _unfit(column, f"{column} {row.text(column)!r} is neither yes nor no")
    return found


def places(row: SourceRow, column: str) -> int:
    """How many decimal places a product's quantities have; an empty field is 0."""
    text = row.text(column) or "0"
    if text not in {str(n) for n in range(MAX_PLACES + 1)}:
        raise _unfit(column, f"{column} {text!r} is not 0, 1, 2 or 3")
    return int(text)


def status_of(row: SourceRow, column: str) -> OrderStatus:
    """One of the statuses of orders."""
    text = match_key(row.text(column))
    for status in STATUSES:
        if status == text:
            return status
    raise _unfit(column, f"{column} {row.text(column)!r} is not one of {', '.join(STATUSES)}")


def _decimal(row: SourceRow, column: str) -> Decimal:
    text = required(row, column)
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise _unfit(column, f"{column} {text!r} is not a number") from None
    if not value.is_finite():
        raise _unfit(column, f"{column} {text!r} is not a number")
    return value


def _unfit(column: str, what: str) -> RowError:
    return RowError(f"{column} cannot be used", what)
