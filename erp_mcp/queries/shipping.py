"""Where an order's parcel is, without anything that says whose it is."""

from typing import Final, Literal

from erp_mcp.contract import Wire
from erp_mcp.domain.orders import OrderStatus
from erp_mcp.queries.days import local_time
from erp_mcp.queries.lookup import find_order
from erp_mcp.store.transaction import Tx

ShippingState = Literal["not_shipped", "in_transit", "delivered", "cancelled"]

_STATE: Final[dict[OrderStatus, ShippingState]] = {
    "pending": "not_shipped",
    "confirmed": "not_shipped",
    "shipped": "in_transit",
    "completed": "delivered",
    "cancelled": "cancelled",
}
_SAID: Final[dict[ShippingState, str]] = {
    "not_shipped": "The order has not left the warehouse.",
    "in_transit": "The order has left the warehouse and is not reported as delivered.",
    "delivered": "The order is completed: it was delivered.",
    "cancelled": "The order was cancelled: nothing is on its way.",
}


class Shipping(Wire):
    """An order's shipping: no name, no address, no contents, no money."""

    order_id: str
    status: str
    state: ShippingState
    carrier: str | None = None
    tracking_number: str | None = None
    placed_at: str
    shipped_at: str | None = None
    note: str


def shipping(tx: Tx, ref: str) -> Shipping:
    """The shipping of one order.

    Raises:
        ErpError: ``order_not_found``, ``ambiguous``.
    """
    row = find_order(tx, ref)
    state = _STATE[row.status]
    note = _SAID[state]
    if state in ("in_transit", "delivered") and not row.tracking_number:
        note += " No tracking number is on file."
    return Shipping(
        order_id=row.id,
        status=row.status,
        state=state,
        carrier=row.carrier or None,
        tracking_number=row.tracking_number or None,
        placed_at=local_time(tx, row.placed_at),
        shipped_at=None if row.shipped_at is None else local_time(tx, row.shipped_at),
        note=note,
    )
