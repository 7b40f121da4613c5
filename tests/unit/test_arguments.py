"""What a client may send as an argument, and what is signed of it."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from erp_mcp.contract import canonical_json
from erp_mcp.errors import ErpError
from erp_mcp.schema import normalised, parse_arguments
from erp_mcp.tools.arguments import MAX_QUANTITY, Address, Day, Delta, Limit, Lines, Note, Quantity, Reason, Sku


class Everything(BaseModel):
    """One argument of each kind."""

    model_config = ConfigDict(extra="forbid")

    sku: Sku = "A"
    quantity: Quantity = Decimal(1)
    delta: Delta = Decimal(1)
    reason: Reason = "because"
    note: Note = ""
    limit: Limit = 20
    day: Day | None = None
    lines: Lines | None = None
    address: Address | None = None


def parse(**arguments: Any) -> Everything:
    """The arguments, checked as the server does."""
    parsed = parse_arguments(Everything, arguments)
    assert isinstance(parsed, Everything)
    return parsed


@pytest.mark.guarantee("A12")
@pytest.mark.parametrize("same", [2, 2.0, "2", "2.0", "2.00000", " 2 ", Decimal("2.00")])
def test_one_quantity_is_one_normalised_argument_however_it_is_written(same: object) -> None:
    """1, 1.0 and "1" are one call: they are signed as the same bytes."""
    assert canonical_json(normalised(parse(quantity=same))) == b'{"quantity":"2"}'


@pytest.mark.parametrize("field", ["quantity", "delta"])
@pytest.mark.parametrize(
    "bad", [True, False, float("nan"), float("inf"), -float("inf"), "abc", "1e400", "NaN", "Infinity", "", "1_0", "１",
            "0x1", [], {}, 10**400, MAX_QUANTITY + 1, 1e300, 0.0001, 0, -0.0, "0", "-0"],
)  # fmt: skip
def test_what_is_no_quantity_is_refused_by_name(field: str, bad: object) -> None:
    """E6: an impossible number is invalid_argument, with the field in the message; never rounded, never a crash."""
    with pytest.raises(ErpError) as refused:
        parse(**{field: bad})
    assert refused.value.code == "invalid_argument"
    assert refused.value.message.startswith(field)
    canonical_json(refused.value.as_json())


def test_a_quantity_is_more_than_nothing_and_a_delta_may_be_less() -> None:
    """Only a difference can be negative."""
    assert parse(delta=-3).delta == -3
    with pytest.raises(ErpError, match=r"quantity must be more than 0 \(got -1\)"):
        parse(quantity=-1)


@given(st.decimals(min_value="0.001", max_value=MAX_QUANTITY, places=3))
def test_a_quantity_survives_as_it_is(value: Decimal) -> None:
    """What is signed is what was sent: no digit changes between the client and the digest."""
    text = normalised(parse(quantity=str(value))).get("quantity", "1")
    assert Decimal(text) == value
    assert "E" not in text.upper()


@pytest.mark.parametrize(
    ("field", "bad", "problem"),
    [
        ("sku", 5, "must be text"),
        ("sku", " ", "must not be blank"),
        ("sku", "x" * 101, "is too long: at most 100 characters"),
        ("reason", "\ud800", "half of a surrogate pair"),
        ("reason", "a\0b", "NUL"),
        ("reason", "x" * 501, "at most 500"),
        ("note", "x" * 2001, "at most 2000"),
        ("limit", 0, "at least 1"),
        ("limit", 101, "at most 100"),
        ("limit", True, "whole number"),
        ("limit", 1.5, "whole number"),
        ("day", "2026-02-30", "calendar"),
        ("day", "20260102", "YYYY-MM-DD"),
        ("day", 5, "YYYY-MM-DD"),
        ("lines", [], "is too short: at least 1 entries"),
        ("unheard_of", 1, "is not an argument"),
    ],
)
def test_a_bad_argument_is_named_with_its_value(field: str, bad: object, problem: str) -> None:
    """The message has the field, what is wrong, and the value in a form that JSON can carry."""
    with pytest.raises(ErpError, match=problem) as refused:
        parse(**{field: bad})
    assert refused.value.details["errors"][0]["field"] == field
    canonical_json(refused.value.as_json())


def test_a_fault_inside_a_list_says_where_it_is() -> None:
    """The path leads to the line and its field."""
    with pytest.raises(ErpError, match=r"lines\[1\]\.quantity must be a number"):
        parse(lines=[{"sku": "A", "quantity": 1}, {"sku": "B", "quantity": None}])


def test_null_is_the_same_as_leaving_an_optional_argument_out() -> None:
    """Models like to send null; it never reaches a filter, and it is not signed."""
    assert normalised(parse(day=None, lines=None)) == {}
    with pytest.raises(ErpError, match="sku must be text"):
        parse(sku=None)


def test_days_and_whole_numbers_are_read_exactly() -> None:
    """A day is a calendar day; 5.0 and "5" are 5."""
    assert parse(day="2026-02-28").day == date(2026, 2, 28)
    assert parse(limit=5.0).limit == parse(limit="5").limit == 5
