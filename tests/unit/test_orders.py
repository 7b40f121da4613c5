"""An order's number, its states, and what makes two orders identical."""

from datetime import date

from erp_mcp.domain.orders import OPEN_STATUSES, STATUSES, can_move, order_number, twin_key


def test_order_numbers_have_at_least_four_digits() -> None:
    """The number within a day grows beyond four digits and is never cut."""
    assert order_number(date(2026, 11, 30), 1) == "SO20261130-0001"
    assert order_number(date(1996, 7, 4), 10248) == "SO19960704-10248"


def test_only_open_orders_can_be_cancelled() -> None:
    """Nothing leads out of completed and cancelled, and a shipped order cannot be cancelled."""
    assert tuple(status for status in STATUSES if can_move(status, "cancelled")) == OPEN_STATUSES
    assert not any(can_move("completed", status) or can_move("cancelled", status) for status in STATUSES)


def test_twins_are_the_same_customer_and_quantities() -> None:
    """The order of lines and the splitting of a SKU do not matter; quantity, SKU and customer do."""
    key = twin_key("ALFKI", [("A", 1000), ("B", 2000)])
    assert key == twin_key("ALFKI", [("B", 1500), ("A", 1000), ("B", 500)])
    others = [("ANATR", [("A", 1000), ("B", 2000)]), ("ALFKI", [("A", 1000)]), ("ALFKI", [("A", 1001), ("B", 2000)])]
    assert all(key != twin_key(customer, lines) for customer, lines in others)
