"""What lines cost today: one SKU's quantities merged, then the tier, then the amounts (DESIGN section 6)."""

from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from typing import NamedTuple

import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.domain.money import money_string
from erp_mcp.domain.pricing import PricedLine, Tier, price
from erp_mcp.domain.quantity import quantity_string, to_milli
from erp_mcp.queries.lookup import find_product
from erp_mcp.store.prepared import Prepared, Row, listed, one_of
from erp_mcp.store.tables import price_tiers
from erp_mcp.store.transaction import Tx


class QuotedLine(NamedTuple):
    """One SKU with its whole quantity.

    Args:
        sku: as the product is filed.
        name: the product's.
        currency: of its money.
        discontinued: it has a price, and cannot be ordered.
        quantity_milli: in thousandths.
        priced: list price, discount, net price and amount, in minor units.
    """

    sku: str
    name: str
    currency: str
    discontinued: bool
    quantity_milli: int
    priced: PricedLine

    def as_json(self) -> JsonObject:
        """The line as an approver reads it; ``discount_percent`` is off the list price."""
        return {
            "sku": self.sku,
            "name": self.name,
            "quantity": quantity_string(self.quantity_milli),
            "list_price": money_string(self.priced.list_price_minor, self.currency),
            "discount_percent": percent_string(self.priced.discount_bp),
            "net_unit_price": money_string(self.priced.net_unit_price_minor, self.currency),
            "amount": money_string(self.priced.amount_minor, self.currency),
        }


def percent_string(basis_points: int) -> str:
    """Hundredths of a percent as people read them: 1250 is ``"12.5"``."""
    return quantity_string(basis_points * 10)


def quote_lines(tx: Tx, lines: Sequence[tuple[str, Decimal]], field: str = "lines") -> list[QuotedLine]:
    """Price lines at today's prices, in the order in which their SKUs first appear.

    Args:
        tx: read only.
        lines: SKU as typed and quantity; one SKU may come more than once.
        field: the argument's name, for messages.

    Raises:
        ErpError: ``product_not_found``, ``ambiguous``, or ``invalid_argument`` for more decimal places than the product
            allows.
    """
    merged: dict[str, tuple[Row, int]] = {}
    for i, (sku, quantity) in enumerate(lines):
        product = find_product(tx, sku)
        milli = to_milli(quantity, product.quantity_places, f"{field}[{i}].quantity")
        merged[product.sku] = (product, merged[product.sku][1] + milli if product.sku in merged else milli)
    tiers = _tiers(tx, list(merged))
    return [
        QuotedLine(
            product.sku,
            product.name,
            product.currency,
            product.discontinued,
            milli,
            price(product.unit_price_minor, tiers.get(product.sku, ()), milli),
        )
        for product, milli in merged.values()
    ]


@cache
def _tiers_of(count: int) -> Prepared:
    return Prepared(sa.select(price_tiers).where(one_of(price_tiers.c.sku, count)))


def _tiers(tx: Tx, skus: Sequence[str]) -> dict[str, list[Tier]]:
    found: dict[str, list[Tier]] = {}
    for row in tx.rows(_tiers_of(len(skus)), **listed(skus)):
        found.setdefault(row.sku, []).append(Tier(row.min_quantity_milli, row.discount_bp, row.unit_price_minor))
    return found
