"""What comes back to a customer for goods that come back."""

from erp_mcp.domain.money import half_up


def refund_of(net_unit_minor: int, quantity_milli: int, *, left_milli: int, left_minor: int) -> int:
    """The refund for a part of a line: its net unit price as placed × quantity, rounded half up.

    The last piece of a line gets what is left of the line's amount, and no piece gets more than that, so the refunds of
    a line that came back whole add up to exactly what it cost. An imported line's amount need not be a multiple of its
    unit price.

    Args:
        net_unit_minor: per unit when the order was placed, in minor units.
        quantity_milli: what comes back now, in thousandths; at most ``left_milli``.
        left_milli: of the line, not returned before.
        left_minor: of the line's amount, not refunded before, in minor units.
    """
    if quantity_milli == left_milli:
        return left_minor
    return min(half_up(net_unit_minor * quantity_milli, 1000), left_minor)
