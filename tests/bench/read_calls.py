"""The read calls that are measured, each with how it may grow with the tables."""

from dataclasses import dataclass
from typing import Any, Final, Literal

Growth = Literal["keyed", "first page", "search", "aggregate"]
"""``keyed`` and ``first page`` must not grow; ``search`` looks through names, ``aggregate`` adds everything up."""


@dataclass(frozen=True)
class ReadCall:
    """One call.

    Args:
        tool: its name.
        arguments: as a client sends them.
        growth: what it may cost in a larger database.
    """

    tool: str
    arguments: dict[str, Any]
    growth: Growth

    @property
    def name(self) -> str:
        """The call in a table's cell."""
        return f"{self.tool}({', '.join(f'{name}={value}' for name, value in self.arguments.items())})"


_LINES: Final = [{"sku": "85123A", "quantity": 6}, {"sku": "71053", "quantity": 6}]

READ_CALLS: Final = (
    ReadCall("get_product", {"sku": "85123A"}, "keyed"),
    ReadCall("get_stock", {"sku": "85123A"}, "keyed"),
    ReadCall("get_customer", {"customer": "17850"}, "keyed"),
    ReadCall("get_order", {"order_id": "536365"}, "keyed"),
    ReadCall("check_shipping", {"order_id": "536365"}, "keyed"),
    ReadCall("compute_quote", {"lines": _LINES}, "keyed"),
    ReadCall("compare_quotes", {"skus": ["85123A", "71053"], "quantity": 5}, "keyed"),
    ReadCall("get_customer_purchases", {"customer": "17850"}, "keyed"),
    ReadCall("stock_history", {"sku": "85123A"}, "first page"),
    ReadCall("list_orders", {}, "first page"),
    ReadCall("list_orders", {"status": "completed"}, "first page"),
    ReadCall("list_orders", {"customer": "17850"}, "first page"),
    ReadCall("list_orders", {"sku": "85123A"}, "first page"),
    ReadCall("list_orders", {"detail": True}, "first page"),
    ReadCall("list_low_stock", {}, "first page"),
    ReadCall("find_customers", {"query": "1785"}, "search"),
    ReadCall("search_products", {"query": "heart holder"}, "search"),
    ReadCall("sales_summary", {"group_by": "month"}, "aggregate"),
    ReadCall("sales_summary", {"group_by": "customer"}, "aggregate"),
    ReadCall("sales_summary", {"group_by": "country"}, "aggregate"),
    ReadCall("sales_summary", {"group_by": "product"}, "aggregate"),
)
