"""Quantities: integer thousandths inside, decimal strings outside; each product has its own number of places."""

from decimal import Decimal
from typing import Final

from erp_mcp.errors import ErpError

MAX_PLACES: Final = 3
MAX_MILLI: Final = 10**12
"""A thousand million units: beyond it, it is a slip of the keyboard."""


def to_milli(value: Decimal, places: int, field: str) -> int:
    """A quantity in thousandths, exactly: nothing is rounded.

    Args:
        value: in units of the product; the sign is the caller's business.
        places: decimal places that the product allows, 0 to 3.
        field: the argument's name, for the message.

    Raises:
        ErpError: ``invalid_argument``, naming the field and the value.
    """
    # The exponent is looked at before any arithmetic: 1e999999999 must not be written out.
    if not value.is_finite() or value.adjusted() > len(str(MAX_MILLI)):
        raise _invalid(field, value, "is not a usable number", "Give a plain number such as 3.")
    scaled = value.scaleb(MAX_PLACES)
    if abs(scaled) > MAX_MILLI:
        raise _invalid(field, value, "is too large", f"At most {MAX_MILLI // 1000} units.")
    milli = int(scaled)
    if milli != scaled or milli % 10 ** (MAX_PLACES - places):
        allowed = "whole numbers only" if places == 0 else f"at most {places} decimal places"
        raise _invalid(
            field, value, f"has too many decimal places ({allowed})", "Ask the user for a quantity that fits."
        )
    return milli


def quantity_string(milli: int) -> str:
    """Thousandths as a plain decimal string without padding: ``"3"``, ``"2.5"``, ``"-4"``."""
    if not milli % 1000:
        return str(milli // 1000)
    units, rest = divmod(abs(milli), 1000)
    text = f"{units}.{rest:03d}".rstrip("0")
    return f"-{text}" if milli < 0 else text


def _invalid(field: str, value: Decimal, why: str, hint: str) -> ErpError:
    return ErpError("invalid_argument", f"{field}: {value} {why}.", hint, field=field)
