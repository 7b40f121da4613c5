"""The tools that say what something would cost."""

from erp_mcp.operations.quotes import Quote, QuoteComparison, comparison, quote
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import CustomerRef, Lines, Quantity, Skus


def compute_quote(tx: Tx, lines: Lines, customer: CustomerRef | None = None) -> Quote:
    """What lines cost today, each with its tier."""
    return quote(tx, [(line.sku, line.quantity) for line in lines], customer)


def compare_quotes(tx: Tx, skus: Skus, quantity: Quantity) -> QuoteComparison:
    """The same quantity of several products, cheapest first."""
    return comparison(tx, skus, quantity)
