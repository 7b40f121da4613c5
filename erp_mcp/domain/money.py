"""Money: integer minor units inside, decimal strings outside. Each currency has its own number of places (ISO 4217)."""

from decimal import Decimal, InvalidOperation
from typing import Final

from erp_mcp.errors import ErpError

DEFAULT_PLACES: Final = 2
MAX_MINOR: Final = 10**15
"""Larger amounts are a slip of the keyboard; the limit keeps every product of them inside 64 bits."""

_PLACES: Final = {
    "BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0,
    "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
    "BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
}  # fmt: skip


def places_of(currency: str) -> int:
    """How many decimal places amounts of a currency have (ISO 4217)."""
    return _PLACES.get(currency, DEFAULT_PLACES)


def to_minor(amount: Decimal | str, currency: str) -> int:
    """An amount in minor units, exactly: nothing is rounded.

    Args:
        amount: in major units, for example ``"1234.50"``.
        currency: ISO 4217 code.

    Raises:
        ErpError: ``invalid_argument`` for what is not a number, is too large, or has more places than the currency.
    """
    value = _decimal(amount)
    scaled = value.scaleb(places_of(currency))
    if abs(scaled) > MAX_MINOR:
        raise _invalid(f"amount {amount} {currency} is too large")
    minor = int(scaled)
    if minor != scaled:
        raise _invalid(f"amount {amount} has more decimal places than {currency} ({places_of(currency)})")
    return minor


def money_string(minor: int, currency: str) -> str:
    """Minor units as a plain decimal string with the currency's places: ``123450`` USD is ``"1234.50"``."""
    places = _PLACES.get(currency, DEFAULT_PLACES)
    if minor >= 100 and places == DEFAULT_PLACES:  # nearly all there is, and lists are full of them
        digits = str(minor)
        return f"{digits[:-2]}.{digits[-2:]}"
    sign, digits = "-" if minor < 0 else "", str(abs(minor)).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def half_up(numerator: int, denominator: int) -> int:
    """The quotient rounded to the nearest integer, halves away from zero (DESIGN: rounded half up).

    Args:
        numerator: any integer.
        denominator: a positive integer.
    """
    quotient = (2 * abs(numerator) + denominator) // (2 * denominator)
    return -quotient if numerator < 0 else quotient


def _decimal(amount: Decimal | str) -> Decimal:
    try:
        value = amount if isinstance(amount, Decimal) else Decimal(amount.strip())
    except InvalidOperation as error:
        raise _invalid(f"amount {amount!r} is not a number") from error
    # The exponent is looked at before any arithmetic: 1e999999999 must not be written out.
    if not value.is_finite() or value.adjusted() > len(str(MAX_MINOR)):
        raise _invalid(f"amount {amount} is not a usable number")
    return value


def _invalid(message: str) -> ErpError:
    return ErpError("invalid_argument", message[0].upper() + message[1:] + ".", "Give an amount such as 1234.50.")
