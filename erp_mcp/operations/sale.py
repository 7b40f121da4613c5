"""What must hold before a sale can be promised: sold at all, one currency, enough in the warehouse."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import sqlalchemy as sa

from erp_mcp.domain.quantity import quantity_string
from erp_mcp.errors import ErpError
from erp_mcp.operations.order_effects import NewLine
from erp_mcp.operations.quoting import QuotedLine, quote_lines
from erp_mcp.store.tables import stock
from erp_mcp.store.transaction import Tx


@dataclass(frozen=True)
class Sale:
    """Lines that can be sold now.

    Args:
        lines: one per SKU, at today's prices.
        available: per SKU before the sale, in thousandths.
    """

    lines: tuple[QuotedLine, ...]
    available: dict[str, int]

    @property
    def total_minor(self) -> int:
        """The sum of the lines, in minor units."""
        return sum(line.priced.amount_minor for line in self.lines)


def quote_sale(
    tx: Tx, lines: Sequence[tuple[str, Decimal]], *, currency: str, whose: str, warehouse: str, field: str = "lines"
) -> Sale:
    """Price a new order's lines as of today and make sure that it can be placed.

    Args:
        tx: read only.
        lines: SKU as typed and quantity; lines of one SKU are merged before the tier is chosen.
        currency: of the order.
        whose: whose currency that is, for the message: ``customer ALFKI is billed``.
        warehouse: that it goes out of.
        field: the argument's name, for messages.

    Raises:
        ErpError: ``product_discontinued``, ``mixed_currencies``, ``insufficient_stock`` (all shortages together), and
            what ``quote_lines`` raises.
    """
    quoted = tuple(quote_lines(tx, lines, field))
    refuse_discontinued(quoted)
    refuse_other_currencies(quoted, currency, whose)
    available = available_in(tx, warehouse, [line.sku for line in quoted])
    refuse_shortages(warehouse, [(line.sku, line.name, line.quantity_milli) for line in quoted], available)
    return Sale(quoted, available)


def new_line(line: QuotedLine) -> NewLine:
    """A priced line as an order keeps it."""
    priced = line.priced
    return NewLine(
        line.sku, line.name, line.quantity_milli,
        priced.list_price_minor, priced.discount_bp, priced.net_unit_price_minor, priced.amount_minor,
    )  # fmt: skip


def refuse_discontinued(lines: Iterable[QuotedLine]) -> None:
    """Raises ``product_discontinued``, naming every such line."""
    gone = [line for line in lines if line.discontinued]
    if gone:
        raise ErpError(
            "product_discontinued",
            f"No longer sold: {', '.join(f'{line.sku} {line.name}' for line in gone)}.",
            "Ask the user for another product; get_product shows what is known about one.",
            skus=[line.sku for line in gone],
        )


def refuse_other_currencies(lines: Iterable[QuotedLine], currency: str, whose: str) -> None:
    """Raises ``mixed_currencies`` where a line is not priced in the order's currency."""
    priced_in = sorted({line.currency for line in lines})
    if priced_in not in ([], [currency]):
        raise ErpError(
            "mixed_currencies",
            f"One order has one currency; {whose} in {currency}, and the products are priced in "
            f"{', '.join(priced_in)}.",
            "Place one order per currency, for a customer who is billed in it; get_product shows a product's currency.",
            currencies=sorted({*priced_in, currency}),
        )


def available_in(tx: Tx, warehouse: str, skus: Iterable[str]) -> dict[str, int]:
    """What can be promised now, in thousandths; a product that the warehouse does not keep counts as 0."""
    wanted = list(skus)
    free = (stock.c.on_hand_milli - stock.c.reserved_milli).label("free")
    here = sa.select(stock.c.sku, free).where(stock.c.warehouse == warehouse, stock.c.sku.in_(wanted))
    found = {row.sku: row.free for row in tx.connection.execute(here)}
    return {sku: found.get(sku, 0) for sku in wanted}


def refuse_shortages(warehouse: str, needs: Iterable[tuple[str, str, int]], available: Mapping[str, int]) -> None:
    """Raises ``insufficient_stock`` with all shortages together.

    Args:
        warehouse: where it is taken from.
        needs: SKU, name and how many thousandths are wanted.
        available: per SKU, in thousandths.
    """
    shortages = [
        {"sku": sku, "name": name, "requested": quantity_string(milli), "available": quantity_string(available[sku])}
        for sku, name, milli in needs
        if milli > available[sku]
    ]
    if shortages:
        each = "; ".join(
            f"{s['sku']} {s['name']}: {s['requested']} wanted, {s['available']} available" for s in shortages
        )
        raise ErpError(
            "insufficient_stock",
            f"Not enough in {warehouse}: {each}.",
            "Ask the user for other quantities; get_stock shows every warehouse.",
            warehouse=warehouse,
            shortages=shortages,
        )
