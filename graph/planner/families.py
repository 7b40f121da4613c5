"""The kinds of intent, in the order in which a clause is offered to them: writes first, then reads, sure ones first."""

from typing import Final

from graph.planner.intents import (
    adjust_stock,
    cancel_order,
    create_order,
    customers,
    find_products,
    get_order,
    list_orders,
    low_stock,
    product,
    quotes,
    request_return,
    sales,
    shipping,
    stock,
    update_customer,
    update_order,
)
from graph.planner.request import Family

FAMILIES: Final[tuple[Family, ...]] = (
    cancel_order.FAMILY,
    request_return.FAMILY,
    update_order.FAMILY,
    update_customer.FAMILY,
    adjust_stock.FAMILY,
    quotes.COMPARE,
    quotes.QUOTE,
    create_order.FAMILY,
    customers.BALANCE,
    shipping.FAMILY,
    get_order.FAMILY,
    customers.BOUGHT,
    sales.FAMILY,
    list_orders.FAMILY,
    low_stock.LOW,
    low_stock.HISTORY,
    find_products.FAMILY,
    stock.FAMILY,
    customers.FIND,
    customers.SHOW,
    product.FAMILY,
)
