"""Tiers and rounding: what a quantity costs, to the cent."""

import pytest

from erp_mcp.domain.pricing import PricedLine, Tier, check_tiers, imported_amount, price
from erp_mcp.errors import ErpError

STEPS = [Tier(1000, None, 1000), Tier(10_000, None, 900), Tier(50_000, None, 800)]


@pytest.mark.guarantee("E7")
@pytest.mark.parametrize(("quantity", "unit"), [(9, 1000), (10, 900), (49, 900), (50, 800), (100, 800)])
def test_tiers_are_inclusive_and_the_deepest_wins(quantity: int, unit: int) -> None:
    """A quantity equal to a tier's minimum has that tier's price, in whatever order the tiers come."""
    for tiers in (STEPS, STEPS[::-1]):
        line = price(1200, tiers, quantity * 1000)
        assert (line.net_unit_price_minor, line.amount_minor) == (unit, unit * quantity)


def test_below_every_tier_the_list_price_holds() -> None:
    """No tier reached: list price, no discount."""
    assert price(1000, STEPS[1:], 9_500) == PricedLine(1000, 0, 1000, 9500)


def test_a_quote_rounds_the_unit_price_and_then_the_amount() -> None:
    """0.25 less 10 % is 0.225, so 0.23 a piece: ten cost 2.30, not 2.25."""
    assert price(25, [Tier(1000, 1000, None)], 10_000) == PricedLine(25, 1000, 23, 230)


def test_a_price_tier_has_no_discount() -> None:
    """A net price is not shown as a percentage of anything."""
    assert price(1200, STEPS, 10_000).discount_bp == 0


@pytest.mark.guarantee("E8")
def test_imported_lines_are_rounded_half_up_once() -> None:
    """57.48 less 10 % is 51.732, so 51.73; 2.25 × 64.22 is 144.495, so 144.50."""
    assert imported_amount(5748, 1000, 1000) == 5173
    assert imported_amount(6422, 2250, 0) == 14450


@pytest.mark.parametrize(
    "tiers",
    [
        [Tier(10_000, None, 900), Tier(50_000, None, 901)],
        [Tier(10_000, 1000, None), Tier(20_000, 500, None)],
        [Tier(10_000, None, 1001)],
        [Tier(10_000, None, 900), Tier(10_000, None, 800)],
        [Tier(0, None, 900)],
        [Tier(10_000, None, None)],
        [Tier(10_000, 100, 900)],
        [Tier(10_000, None, -1)],
        [Tier(10_000, 10_001, None)],
    ],
)
def test_tiers_that_make_no_sense_are_refused(tiers: list[Tier]) -> None:
    """More never costs more per unit, one quantity has one tier, and a tier is of one kind."""
    with pytest.raises(ErpError) as refused:
        check_tiers(1000, tiers)
    assert refused.value.code == "invalid_tier"


def test_tiers_of_both_kinds_may_be_mixed_and_equal() -> None:
    """Tiers are compared by the price that they lead to."""
    check_tiers(1000, [Tier(50_000, None, 900), Tier(10_000, 1000, None)])
