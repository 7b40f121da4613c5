"""Reading one product: today's list price, its volume tiers, and how much is available in all."""

import sqlalchemy as sa

from erp_mcp.contract import Wire
from erp_mcp.domain.money import money_string
from erp_mcp.domain.pricing import Tier
from erp_mcp.domain.quantity import quantity_string
from erp_mcp.queries.lookup import find_product
from erp_mcp.store.prepared import Prepared
from erp_mcp.store.tables import price_tiers, stock
from erp_mcp.store.transaction import Tx

_TIERS = Prepared(
    sa.select(price_tiers).where(price_tiers.c.sku == sa.bindparam("sku")).order_by(price_tiers.c.min_quantity_milli)
)
_AVAILABLE = Prepared(
    sa.select(sa.func.sum(stock.c.on_hand_milli - stock.c.reserved_milli)).where(stock.c.sku == sa.bindparam("sku"))
)


class PriceTier(Wire):
    """From ``min_quantity`` on, one unit costs ``unit_price``; ``discount_percent`` where the tier is a discount."""

    min_quantity: str
    discount_percent: str | None = None
    unit_price: str


class ProductDetail(Wire):
    """A product as it is sold today. ``version`` rises with each change of it."""

    sku: str
    name: str
    category: str | None = None
    pack: str | None = None
    unit_price: str
    currency: str
    price_tiers: list[PriceTier]
    quantity_places: int
    discontinued: bool
    available: str
    version: int


def product_detail(tx: Tx, sku: str) -> ProductDetail:
    """One product.

    Raises:
        ErpError: ``product_not_found``, ``ambiguous``.
    """
    row = find_product(tx, sku)
    return ProductDetail(
        sku=row.sku,
        name=row.name,
        category=row.category or None,
        pack=row.pack or None,
        unit_price=money_string(row.unit_price_minor, row.currency),
        currency=row.currency,
        price_tiers=[_shown(tier, row.unit_price_minor, row.currency) for tier in tiers_of(tx, row.sku)],
        quantity_places=row.quantity_places,
        discontinued=row.discontinued,
        available=quantity_string(_available(tx, row.sku)),
        version=row.version,
    )


def tiers_of(tx: Tx, sku: str) -> list[Tier]:
    """A product's price tiers, shallowest first.

    Args:
        tx: the transaction.
        sku: exactly as the product's row has it.
    """
    return [Tier(row.min_quantity_milli, row.discount_bp, row.unit_price_minor) for row in tx.rows(_TIERS, sku=sku)]


def _shown(tier: Tier, list_price_minor: int, currency: str) -> PriceTier:
    return PriceTier(
        min_quantity=quantity_string(tier.min_quantity_milli),
        discount_percent=None if tier.discount_bp is None else quantity_string(tier.discount_bp * 10),
        unit_price=money_string(tier.net_price(list_price_minor), currency),
    )


def _available(tx: Tx, sku: str) -> int:
    return int(tx.value(_AVAILABLE, sku=sku) or 0)
