"""A source's books in the ERP's own terms: rows for its tables, made in one place for every data set."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from erp_mcp.contract import JsonObject
from erp_mcp.domain.lookup import match_key
from erp_mcp.domain.money import half_up
from erp_mcp.domain.orders import OrderStatus, twin_key
from erp_mcp.domain.pricing import WHOLE_BP, Tier, imported_amount

Values = dict[str, Any]
Spot = tuple[str, str]
"""A SKU and a warehouse."""

MAIN: Final = "MAIN"
"""The warehouse of sources that know only one."""
MAIN_NAME: Final = "Main warehouse"


@dataclass(frozen=True, slots=True)
class SourceOrder:
    """An order with its lines.

    Args:
        file, row: where it stands.
        number: its own number, to be kept within its day; the day's next free one if there is none.
        values: the columns of ``orders``, but for ``id``.
        lines: the columns of ``order_lines``, but for ``order_id``.
    """

    file: str
    row: int
    number: int | None
    values: Values
    lines: list[Values]


@dataclass(frozen=True, slots=True)
class SourceReturn:
    """A return of what one order brought.

    Args:
        file, row: where it stands.
        order: the order's number in the source.
        values: the columns of ``returns``, but for ``order_id``.
        lines: the columns of ``return_lines``, but for ``return_id`` and ``order_id``.
    """

    file: str
    row: int
    order: str
    values: Values
    lines: list[Values]


@dataclass
class Books:
    """Everything in a source.

    Args:
        customers, products: by id and SKU.
        tiers: by SKU.
        stock: what is on hand and the reorder level. Open orders reserve from it when they are loaded.
        warehouses: names by code.
        orders: in the source's order; may be made while they are taken.
        order_count: how many these are.
        returns: of these orders.
    """

    customers: dict[str, Values] = field(default_factory=dict)
    products: dict[str, Values] = field(default_factory=dict)
    tiers: Mapping[str, Sequence[Tier]] = field(default_factory=dict)
    stock: dict[Spot, Values] = field(default_factory=dict)
    warehouses: dict[str, str] = field(default_factory=lambda: {MAIN: MAIN_NAME})
    orders: Iterable[SourceOrder] = ()
    order_count: int = 0
    returns: Sequence[SourceReturn] = ()


def customer_row(
    identity: str,
    name: str,
    currency: str,
    *,
    contact: str = "",
    email: str = "",
    phone: str = "",
    address: JsonObject | None = None,
    country: str = "",
    credit_limit_minor: int | None = None,
) -> Values:
    """A row of ``customers``."""
    return {
        "id": identity, "id_key": match_key(identity), "name": name, "name_key": match_key(name), "contact": contact,
        "email": email, "phone": phone, "address": address or {}, "country": country, "currency": currency,
        "credit_limit_minor": credit_limit_minor,
    }  # fmt: skip


def product_row(
    sku: str,
    name: str,
    price_minor: int,
    currency: str,
    *,
    category: str = "",
    pack: str = "",
    places: int = 0,
    discontinued: bool = False,
) -> Values:
    """A row of ``products``; the price is the list price of one unit in minor units."""
    return {
        "sku": sku, "sku_key": match_key(sku), "name": name, "name_key": match_key(name), "category": category,
        "pack": pack, "unit_price_minor": price_minor, "currency": currency, "quantity_places": places,
        "discontinued": discontinued,
    }  # fmt: skip


def stock_row(on_hand_milli: int, reorder_level_milli: int = 0) -> Values:
    """What a row of ``stock`` starts with, in thousandths."""
    return {"on_hand_milli": on_hand_milli, "reorder_level_milli": reorder_level_milli}


def line_row(
    line_no: int, sku: str, name: str, quantity_milli: int, unit_minor: int, discount_bp: int = 0, returned: int = 0
) -> Values:
    """A row of ``order_lines`` with its amount in the source's arithmetic: unit × quantity × (1 − discount), rounded
    half up once (DESIGN section 6).

    Args:
        line_no: from 1.
        sku: as in ``products``.
        name: of the product when it was ordered.
        quantity_milli: in thousandths.
        unit_minor: the price of one unit before the discount, in minor units.
        discount_bp: in hundredths of a percent.
        returned: how much of it came back, in thousandths.
    """
    return {
        "line_no": line_no, "sku": sku, "name": name, "quantity_milli": quantity_milli,
        "unit_price_minor": unit_minor, "discount_bp": discount_bp,
        "net_unit_price_minor": half_up(unit_minor * (WHOLE_BP - discount_bp), WHOLE_BP),
        "amount_minor": imported_amount(unit_minor, quantity_milli, discount_bp), "returned_milli": returned,
    }  # fmt: skip


def source_order(
    place: tuple[str, int],
    source_id: str,
    number: int | None,
    lines: list[Values],
    *,
    customer_id: str,
    status: OrderStatus,
    currency: str,
    placed: datetime,
    ship_to: JsonObject,
    warehouse: str = MAIN,
    carrier: str = "",
    tracking_number: str = "",
    shipped_at: datetime | None = None,
    note: str = "",
) -> SourceOrder:
    """An order with what follows from its lines.

    Args:
        place: file and row.
        source_id: its number as the source writes it; look-ups find it.
        number: to be kept within its day.
        lines: at least one.
        placed: in the business time zone, which decides its day.
    """
    values = {
        "source_id": source_id, "source_key": match_key(source_id), "customer_id": customer_id, "status": status,
        "currency": currency, "warehouse": warehouse, "total_minor": sum(line["amount_minor"] for line in lines),
        "line_count": len(lines), "placed_at": placed, "business_date": placed.date().isoformat(), "ship_to": ship_to,
        "note": note, "carrier": carrier, "tracking_number": tracking_number, "shipped_at": shipped_at,
        "twin_key": twin_key(customer_id, [(line["sku"], line["quantity_milli"]) for line in lines]),
    }  # fmt: skip
    return SourceOrder(*place, number, values, lines)


def filled(**fields: str) -> JsonObject:
    """An address without its empty fields."""
    return {name: value for name, value in fields.items() if value}
