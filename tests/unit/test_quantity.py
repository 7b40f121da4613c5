"""Quantities are exact, and within the product's decimal places."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erp_mcp.domain.quantity import MAX_MILLI, quantity_string, to_milli
from erp_mcp.errors import ErpError


@pytest.mark.parametrize(
    ("value", "places", "milli"),
    [("3", 0, 3000), ("3.000", 0, 3000), ("2.5", 1, 2500), ("-4", 0, -4000), ("0.125", 3, 125), ("1E+1", 0, 10000)],
)
def test_quantities_become_thousandths(value: str, places: int, milli: int) -> None:
    """A quantity is kept exactly; trailing zeros are not decimal places."""
    assert to_milli(Decimal(value), places, "quantity") == milli


@pytest.mark.parametrize(
    ("value", "places"),
    [("2.5", 0), ("0.125", 2), ("0.0001", 3), ("NaN", 3), ("Infinity", 3), ("1e400", 0), ("1e999999999", 0),
     ("1000000001", 0)],
)  # fmt: skip
def test_what_is_no_such_quantity_is_refused_by_name(value: str, places: int) -> None:
    """The refusal names the argument and repeats the value."""
    with pytest.raises(ErpError) as refused:
        to_milli(Decimal(value), places, "lines[0].quantity")
    assert refused.value.code == "invalid_argument"
    assert "lines[0].quantity" in refused.value.message
    assert str(Decimal(value)) in refused.value.message


@given(st.integers(-MAX_MILLI, MAX_MILLI))
def test_quantity_strings_read_back_as_the_same_quantity(milli: int) -> None:
    """Writing a quantity and reading it is the identity, without padding and without an exponent."""
    text = quantity_string(milli)
    assert to_milli(Decimal(text), 3, "quantity") == milli
    assert "E" not in text
    assert not ("." in text and text.endswith("0"))
