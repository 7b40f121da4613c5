"""What clients read about orders. Money and quantities are decimal strings; the currency stands beside them."""

from typing import Final, NotRequired

from erp_mcp.contract import JsonObject, Wire, WireRow
from erp_mcp.domain.money import money_string
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.queries.days import kept_time, local_kept_time, local_time
from erp_mcp.queries.page import Page
from erp_mcp.store.prepared import Row
from erp_mcp.store.tables import orders
from erp_mcp.store.transaction import Tx


class OrderLine(WireRow):
    """A line as it was when the order was placed: today's price and name do not touch it."""

    line_no: int
    sku: str
    name: str
    quantity: str
    unit_price: str
    discount_percent: str
    net_unit_price: str
    amount: str
    returned: str


def order_line(row: Row, currency: str) -> OrderLine:
    """From a row of ``order_lines``."""
    return {
        "line_no": row.line_no,
        "sku": row.sku,
        "name": row.name,
        "quantity": quantity_string(row.quantity_milli),
        "unit_price": money_string(row.unit_price_minor, currency),
        "discount_percent": quantity_string(row.discount_bp * 10),
        "net_unit_price": money_string(row.net_unit_price_minor, currency),
        "amount": money_string(row.amount_minor, currency),
        "returned": quantity_string(row.returned_milli),
    }


class ShipTo(Wire):
    """Where an order goes."""

    line1: str = ""
    line2: str = ""
    city: str = ""
    region: str = ""
    postal_code: str = ""
    country: str = ""

    @classmethod
    def of(cls, address: JsonObject) -> "ShipTo":
        """From a kept address; fields that are not an address's are left out."""
        return cls.model_validate({k: v for k, v in address.items() if k in cls.model_fields})


class OrderReturn(Wire):
    """Goods of an order that came back together; how many of which line, the lines say."""

    return_id: str
    returned_at: str
    reason: str | None = None
    refund: str
    currency: str
    exchange_order_id: str | None = None

    @classmethod
    def of(cls, tx: Tx, row: Row) -> "OrderReturn":
        """From a row of ``returns``."""
        return cls(
            return_id=row.id,
            returned_at=local_time(tx, row.created_at),
            reason=row.reason,
            refund=money_string(row.refund_minor, row.currency),
            currency=row.currency,
            exchange_order_id=row.exchange_order_id,
        )


class OrderSummary(WireRow):
    """An order in a list; ``lines`` only where detail was asked for."""

    order_id: str
    customer_id: str
    customer_name: NotRequired[str]
    status: str
    placed_at: str
    line_count: int
    total: str
    currency: str
    lines: NotRequired[list[OrderLine]]


SUMMARY_COLUMNS: Final = (
    orders.c.id, orders.c.customer_id, orders.c.status, kept_time(orders.c.placed_at), orders.c.line_count,
    orders.c.total_minor, orders.c.currency,
)  # fmt: skip
"""What a summary is made of, beside the customer's name."""


def order_summary(tx: Tx, row: Row, lines: list[OrderLine] | None) -> OrderSummary:
    """From a row of :data:`SUMMARY_COLUMNS` with the customer's name beside it."""
    summary: OrderSummary = {
        "order_id": row.id,
        "customer_id": row.customer_id,
        "customer_name": row.customer_name,
        "status": row.status,
        "placed_at": local_kept_time(tx, row.placed_at),
        "line_count": row.line_count,
        "total": money_string(row.total_minor, row.currency),
        "currency": row.currency,
    }
    if lines is not None:
        summary["lines"] = lines
    return summary


class OrderPage(Page[OrderSummary]):
    """Orders, newest first."""


class OrderDetail(Wire):
    """One order, whole. ``version`` rises with each change of it."""

    order_id: str
    source_id: str | None = None
    customer_id: str
    customer_name: str | None = None
    status: str
    placed_at: str
    currency: str
    total: str
    line_count: int
    lines: list[OrderLine]
    warehouse: str
    ship_to: ShipTo | None = None
    note: str | None = None
    cancel_reason: str | None = None
    carrier: str | None = None
    tracking_number: str | None = None
    shipped_at: str | None = None
    returns: list[OrderReturn] | None = None
    version: int

    @classmethod
    def of(
        cls, tx: Tx, row: Row, customer_name: str, lines: list[OrderLine], returns: list[OrderReturn]
    ) -> "OrderDetail":
        """From a row of ``orders``; what is empty is left out."""
        return cls.model_construct(
            order_id=row.id,
            source_id=row.source_id,
            customer_id=row.customer_id,
            customer_name=customer_name,
            status=row.status,
            placed_at=local_time(tx, row.placed_at),
            currency=row.currency,
            total=money_string(row.total_minor, row.currency),
            line_count=row.line_count,
            lines=lines,
            warehouse=row.warehouse,
            ship_to=ShipTo.of(row.ship_to),
            note=row.note or None,
            cancel_reason=row.reason or None,
            carrier=row.carrier or None,
            tracking_number=row.tracking_number or None,
            shipped_at=None if row.shipped_at is None else local_time(tx, row.shipped_at),
            returns=returns or None,
            version=row.version,
        )
