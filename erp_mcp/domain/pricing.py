"""What a quantity costs: tier, net unit price, amount; each rounded half up, once, where DESIGN section 6 says."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from erp_mcp.domain.money import half_up
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.errors import ErpError

WHOLE_BP: Final = 10_000
"""A hundred percent, in hundredths of a percent."""


class Tier(NamedTuple):
    """A better price from some quantity on: a discount or a net price, never both.

    Args:
        min_quantity_milli: the first quantity to which it applies (inclusive), in thousandths.
        discount_bp: off the list price, in hundredths of a percent.
        unit_price_minor: a net price per unit, in minor units.
    """

    min_quantity_milli: int
    discount_bp: int | None
    unit_price_minor: int | None

    def net_price(self, list_price_minor: int) -> int:
        """The price of one unit in this tier, in minor units."""
        if self.unit_price_minor is not None:
            return self.unit_price_minor
        return half_up(list_price_minor * (WHOLE_BP - (self.discount_bp or 0)), WHOLE_BP)


class PricedLine(NamedTuple):
    """A line's money: list price, discount (hundredths of a percent), net unit price and amount, in minor units."""

    list_price_minor: int
    discount_bp: int
    net_unit_price_minor: int
    amount_minor: int


_NO_TIER: Final = Tier(0, 0, None)


def price(list_price_minor: int, tiers: Sequence[Tier], quantity_milli: int) -> PricedLine:
    """What a quantity of one SKU costs today. Merge the lines of one SKU before calling.

    Args:
        list_price_minor: per unit, in minor units.
        tiers: of this product, in any order; the deepest one that the quantity reaches wins.
        quantity_milli: in thousandths.
    """
    reached = [tier for tier in tiers if quantity_milli >= tier.min_quantity_milli]
    tier = max(reached, key=lambda t: t.min_quantity_milli, default=_NO_TIER)
    net = tier.net_price(list_price_minor)
    return PricedLine(list_price_minor, tier.discount_bp or 0, net, half_up(net * quantity_milli, 1000))


def check_tiers(list_price_minor: int, tiers: Sequence[Tier]) -> None:
    """Refuse tiers under which buying more costs more per unit.

    Args:
        list_price_minor: what one unit costs below every tier, in minor units.
        tiers: of one product, in any order.

    Raises:
        ErpError: ``invalid_tier``.
    """
    below, previous = list_price_minor, None
    for tier in sorted(tiers, key=lambda t: t.min_quantity_milli):
        start = quantity_string(tier.min_quantity_milli)
        if tier.min_quantity_milli <= 0 or (tier.discount_bp is None) == (tier.unit_price_minor is None):
            raise _invalid(f"The price tier from {start} needs a quantity above 0, and either a discount or a price")
        if not 0 <= (tier.discount_bp or 0) <= WHOLE_BP:
            raise _invalid(f"The price tier from {start} has a discount that is not within 0 and 100 %")
        if tier.min_quantity_milli == previous:
            raise _invalid(f"There are two price tiers from quantity {start}")
        net = tier.net_price(list_price_minor)
        if net < 0 or net > below:
            raise _invalid(f"The price tier from {start} is dearer than the one below it, or negative")
        below, previous = net, tier.min_quantity_milli


def imported_amount(unit_minor: int, quantity_milli: int, discount_bp: int) -> int:
    """An imported line's amount in its source's own arithmetic: unit × quantity × (1 − discount), rounded half up once.

    Args:
        unit_minor: list price per unit at the time, in minor units.
        quantity_milli: in thousandths.
        discount_bp: in hundredths of a percent.
    """
    return half_up(unit_minor * quantity_milli * (WHOLE_BP - discount_bp), 1000 * WHOLE_BP)


def _invalid(message: str) -> ErpError:
    return ErpError("invalid_tier", message + ".", "Correct the product's price tiers in the source and load it again.")
