"""How results are told: totals, problems, balances."""

from tests.unit.planner.conversation import talk


def test_lists_quotes_and_sums_are_told_in_both_languages() -> None:
    """Totals stand with their currency and their count, problems are said, and long lists say what is left out."""
    rows = [{"key": f"K{n}", "currency": "USD", "amount": "1.00", "orders": 2} for n in range(12)]
    sums = {"items": rows, "total": 21, "totals": [{"currency": "USD", "orders": 408, "amount": "617085.35"}]}
    english = talk("Sales by country in 1997", lambda name, args: sums).answer
    assert "Total: 617085.35 USD (408 orders)" in english
    assert "the first 10 of 21" in english
    assert "合计：617085.35 USD（408 个订单）" in talk("1997年各国的销售额", lambda name, args: sums).answer
    line = {
        "sku": "NW-011",
        "name": "Queso",
        "quantity": "50",
        "net_unit_price": "17.85",
        "amount": "892.50",
        "currency": "USD",
    }
    quote = {"lines": [line], "totals": [{"currency": "USD", "amount": "892.50"}], "problems": ["only 22 available"]}
    answer = talk("What would 50 of NW-011 cost?", lambda name, args: quote).answer
    assert "892.50 USD" in answer
    assert "only 22 available" in answer
    assert "Nothing matches" in talk("What is running low?", lambda name, args: {"items": [], "total": 0}).answer


def test_a_balance_is_told_from_its_receipt() -> None:
    """The figures of a balance are in the receipt, once a person has agreed."""
    result = {
        "customer": "Alfreds Futterkiste",
        "open_amounts": [{"currency": "USD", "amount": "12.00", "orders": 1}],
        "credit_limit": "none",
        "currency": "USD",
    }
    receipt = {"outcome": "executed", "receipt": {"result": result, "approver": "andrew"}}
    assert "open amount 12.00 USD" in talk("What does ALFKI owe us?", lambda name, args: receipt).answer
