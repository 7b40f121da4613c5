"""Refunds of a line's pieces."""

from hypothesis import given
from hypothesis import strategies as st

from erp_mcp.domain.money import half_up
from erp_mcp.domain.refunds import refund_of


def test_a_piece_is_its_net_price_times_quantity_and_the_last_gets_the_rest() -> None:
    """Three at 3.33 that cost 10.00 together come back as 3.33, 3.33 and 3.34."""
    assert refund_of(333, 1_000, left_milli=3_000, left_minor=1_000) == 333
    assert refund_of(333, 1_000, left_milli=2_000, left_minor=667) == 333
    assert refund_of(333, 1_000, left_milli=1_000, left_minor=334) == 334


def test_no_piece_gets_more_than_is_left_of_the_line() -> None:
    """An imported line of 100 at 0.005 cost 0.50, and its unit price was rounded up to 0.01."""
    assert refund_of(1, 60_000, left_milli=100_000, left_minor=50) == 50
    assert refund_of(1, 40_000, left_milli=40_000, left_minor=0) == 0


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 10**6), min_size=1, max_size=10),
    st.integers(-50, 50),
)
def test_refunds_of_a_whole_line_add_up_to_what_it_cost(net: int, pieces: list[int], slip: int) -> None:
    """However it is split, and however the source had rounded; no piece is negative."""
    amount = max(0, half_up(net * sum(pieces), 1000) + slip)
    left_milli, left_minor = sum(pieces), amount
    for piece in pieces:
        refund = refund_of(net, piece, left_milli=left_milli, left_minor=left_minor)
        assert 0 <= refund <= left_minor
        left_milli, left_minor = left_milli - piece, left_minor - refund
    assert left_minor == 0
