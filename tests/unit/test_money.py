"""Money is exact: minor units inside, plain decimal strings outside."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erp_mcp.domain.money import MAX_MINOR, half_up, money_string, to_minor
from erp_mcp.errors import ErpError


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [("1234.5", "USD", 123450), ("-0.05", "USD", -5), ("12", "JPY", 12), ("0.005", "KWD", 5), ("1E+2", "USD", 10000)],
)
def test_amounts_become_minor_units_of_their_currency(amount: str, currency: str, minor: int) -> None:
    """An amount in major units is kept without rounding, in the currency's own smallest unit."""
    assert to_minor(amount, currency) == to_minor(Decimal(amount), currency) == minor


@pytest.mark.parametrize(
    ("amount", "currency"),
    [("0.001", "USD"), ("0.5", "JPY"), ("NaN", "USD"), ("Infinity", "USD"), ("abc", "USD"), ("1e400", "USD"),
     ("1e999999999", "USD"), ("10000000000000.01", "USD"), ("", "USD")],
)  # fmt: skip
def test_what_is_no_exact_amount_is_refused(amount: str, currency: str) -> None:
    """Nothing is rounded in silence, and no amount is so long that it must be written out first."""
    with pytest.raises(ErpError) as refused:
        to_minor(amount, currency)
    assert refused.value.code == "invalid_argument"


@given(st.integers(-MAX_MINOR, MAX_MINOR), st.sampled_from(["USD", "JPY", "KWD"]))
def test_money_strings_read_back_as_the_same_money(minor: int, currency: str) -> None:
    """Writing an amount and reading it is the identity, and the text is plain."""
    text = money_string(minor, currency)
    assert to_minor(text, currency) == minor
    assert set(text) <= set("-0123456789.")


def test_money_strings_have_the_currencys_places() -> None:
    """Every amount of a currency has the same number of decimal places."""
    assert [money_string(123450, "USD"), money_string(5, "USD"), money_string(-5, "USD")] == [
        "1234.50",
        "0.05",
        "-0.05",
    ]
    assert [money_string(0, "JPY"), money_string(1, "KWD")] == ["0", "0.001"]


@given(st.integers(-(10**18), 10**18), st.integers(1, 10**9))
def test_half_up_is_the_nearest_integer_halves_away_from_zero(numerator: int, denominator: int) -> None:
    """Rounding is symmetric, never further away than a half, and a half goes away from zero."""
    rounded = half_up(numerator, denominator)
    assert rounded == -half_up(-numerator, denominator)
    off = 2 * (abs(rounded) * denominator - abs(numerator))
    assert -denominator < off <= denominator
