"""Which lines of an order come back, and what is refunded for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.domain.money import money_string
from erp_mcp.domain.quantity import quantity_string, to_milli
from erp_mcp.domain.refunds import refund_of
from erp_mcp.errors import ErpError
from erp_mcp.queries.lookup import find_product
from erp_mcp.store.tables import order_lines, return_lines
from erp_mcp.store.transaction import Tx


@dataclass(frozen=True)
class LineBack:
    """A line of an order of which something comes back.

    Args:
        line_no: in the order.
        sku: as the line has it.
        name: as it was when the order was placed.
        quantity_milli: what comes back now, in thousandths.
        net_unit_minor: per unit as placed, in minor units.
        refund_minor: for what comes back now.
        returned_milli: what had come back before.
    """

    line_no: int
    sku: str
    name: str
    quantity_milli: int
    net_unit_minor: int
    refund_minor: int
    returned_milli: int

    def as_json(self, currency: str) -> JsonObject:
        """The line as an approver reads it."""
        return {
            "line_no": self.line_no,
            "sku": self.sku,
            "name": self.name,
            "quantity": quantity_string(self.quantity_milli),
            "net_unit_price": money_string(self.net_unit_minor, currency),
            "refund": money_string(self.refund_minor, currency),
        }


def lines_back(tx: Tx, order: sa.Row[Any], wanted: Sequence[tuple[str, Decimal]]) -> list[LineBack]:
    """Find what comes back in the order; of a SKU with several lines the first line comes back first.

    Args:
        tx: read only.
        order: a row of ``orders``.
        wanted: SKU as typed and quantity; lines of one SKU are merged.

    Raises:
        ErpError: ``return_exceeds_order`` with all such SKUs, also for one that the order does not have;
            ``product_not_found``, ``ambiguous``; ``invalid_argument`` for a quantity that the product does not allow.
    """
    asked: dict[str, tuple[str, int]] = {}
    for i, (typed, quantity) in enumerate(wanted):
        product = find_product(tx, typed)
        milli = to_milli(quantity, product.quantity_places, f"lines[{i}].quantity")
        asked[product.sku] = (product.name, milli + asked.get(product.sku, ("", 0))[1])
    rows = _rows(tx, order.id)
    _refuse_too_many(order, asked, rows)
    return [line for sku, (_, milli) in asked.items() for line in _taken(sku, milli, rows)]


def _rows(tx: Tx, order_id: str) -> Sequence[sa.Row[Any]]:
    refunded = (
        sa.select(return_lines.c.line_no, sa.func.sum(return_lines.c.amount_minor).label("minor"))
        .where(return_lines.c.order_id == order_id)
        .group_by(return_lines.c.line_no)
        .subquery()
    )
    return tx.connection.execute(
        sa.select(order_lines, sa.func.coalesce(refunded.c.minor, 0).label("refunded_minor"))
        .outerjoin(refunded, refunded.c.line_no == order_lines.c.line_no)
        .where(order_lines.c.order_id == order_id)
        .order_by(order_lines.c.line_no)
    ).all()


def _taken(sku: str, milli: int, rows: Sequence[sa.Row[Any]]) -> list[LineBack]:
    found = []
    for row in rows:
        left = row.quantity_milli - row.returned_milli
        now = min(milli, left)
        if row.sku != sku or now == 0:
            continue
        milli -= now
        refund = refund_of(
            row.net_unit_price_minor, now, left_milli=left, left_minor=row.amount_minor - int(row.refunded_minor)
        )
        found.append(LineBack(row.line_no, sku, row.name, now, row.net_unit_price_minor, refund, row.returned_milli))
    return found


def _refuse_too_many(order: sa.Row[Any], asked: dict[str, tuple[str, int]], rows: Sequence[sa.Row[Any]]) -> None:
    problems = []
    for sku, (name, milli) in asked.items():
        bought = sum(row.quantity_milli for row in rows if row.sku == sku)
        returned = sum(row.returned_milli for row in rows if row.sku == sku)
        if milli > bought - returned:
            quantities = {"requested": milli, "bought": bought, "returned_before": returned}
            problems.append({"sku": sku, "name": name} | {k: quantity_string(v) for k, v in quantities.items()})
    if problems:
        each = "; ".join(
            f"{p['sku']} {p['name']}: {p['requested']} asked, {p['bought']} bought, "
            f"{p['returned_before']} returned before"
            for p in problems
        )
        raise ErpError(
            "return_exceeds_order",
            f"More than order {order.id} has left to return: {each}.",
            "Ask the user which lines and how many come back; get_order shows what was bought and returned.",
            order_id=order.id,
            lines=problems,
        )
