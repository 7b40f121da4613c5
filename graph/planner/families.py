"""The kinds of intent, in the order in which a clause is offered to them: writes first, then reads, sure ones first."""

from typing import Final

from graph.planner.intents import adjust_stock, cancel_order, create_order, get_order, list_orders, product, stock
from graph.planner.request import Family

FAMILIES: Final[tuple[Family, ...]] = (
    cancel_order.FAMILY,
    adjust_stock.FAMILY,
    create_order.FAMILY,
    get_order.FAMILY,
    list_orders.FAMILY,
    stock.FAMILY,
    product.FAMILY,
)
