"""Quotes: what lines cost today and whether they could be delivered. Nothing is locked, nothing reserved."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cache
from typing import NotRequired

import sqlalchemy as sa

from erp_mcp.contract import Wire, WireRow
from erp_mcp.domain.money import money_string
from erp_mcp.domain.quantity import quantity_string, to_milli
from erp_mcp.errors import ErpError
from erp_mcp.operations.quoting import QuotedLine, percent_string, quote_lines
from erp_mcp.queries.lookup import find_customer, find_product
from erp_mcp.queries.page import Page
from erp_mcp.queries.totals import MoneyTotal
from erp_mcp.store.prepared import Prepared, Row, listed, one_of
from erp_mcp.store.tables import stock
from erp_mcp.store.transaction import Tx

NO_PROMISE = "Today's prices and availability: a quote neither locks the price nor reserves stock."


class QuoteLine(WireRow):
    """One SKU with its whole quantity. ``available`` is what all warehouses together could promise now."""

    sku: str
    name: str
    quantity: str
    list_price: str
    discount_percent: str
    net_unit_price: str
    amount: str
    currency: str
    available: str
    problem: NotRequired[str]


def _quote_line(line: QuotedLine, available_milli: int) -> QuoteLine:
    shown: QuoteLine = {
        "sku": line.sku,
        "name": line.name,
        "quantity": quantity_string(line.quantity_milli),
        "list_price": money_string(line.priced.list_price_minor, line.currency),
        "discount_percent": percent_string(line.priced.discount_bp),
        "net_unit_price": money_string(line.priced.net_unit_price_minor, line.currency),
        "amount": money_string(line.priced.amount_minor, line.currency),
        "currency": line.currency,
        "available": quantity_string(available_milli),
    }
    if line.discontinued:
        shown["problem"] = "discontinued: it cannot be ordered"
    elif available_milli < line.quantity_milli:
        shown["problem"] = f"only {quantity_string(available_milli)} available"
    return shown


class Quote(Wire):
    """What lines cost on a day; one total per currency. ``problems`` says why an order like this would be refused."""

    quoted_on: str
    customer_id: str | None = None
    customer_name: str | None = None
    lines: list[QuoteLine]
    totals: list[MoneyTotal]
    problems: list[str]
    note: str


class Named(Wire):
    """A product that is only named."""

    sku: str
    name: str


class QuoteComparison(Page[QuoteLine]):
    """The same quantity of several products, cheapest first; what cannot be compared stands apart."""

    quantity: str
    missing: list[str]
    discontinued: list[Named]


def quote(tx: Tx, lines: Sequence[tuple[str, Decimal]], customer: str | None) -> Quote:
    """Price lines as an order of today would.

    Args:
        tx: the transaction.
        lines: SKU as typed and quantity; the lines of one SKU are merged before the tier is chosen.
        customer: id or exact name; prices are the same for everybody, so it is only named and checked.

    Raises:
        ErpError: what the look-ups raise; ``invalid_argument`` for a quantity that the product does not allow.
    """
    buyer = None if customer is None else find_customer(tx, customer)
    quoted = quote_lines(tx, lines)
    available = _available(tx, [line.sku for line in quoted])
    shown = [_quote_line(line, available.get(line.sku, 0)) for line in quoted]
    problems = [f"{line['sku']} {line['name']}: {line['problem']}" for line in shown if "problem" in line]
    currencies = sorted({line.currency for line in quoted})
    if len(currencies) > 1:
        problems.append(f"one order has one currency, and these are priced in {', '.join(currencies)}")
    elif buyer is not None and buyer.currency != currencies[0]:
        problems.append(f"customer {buyer.id} is billed in {buyer.currency}, and these are priced in {currencies[0]}")
    return Quote.model_construct(
        quoted_on=tx.business_date.isoformat(),
        customer_id=None if buyer is None else buyer.id,
        customer_name=None if buyer is None else buyer.name,
        lines=shown,
        totals=_totals(quoted),
        problems=problems,
        note=f"{NO_PROMISE} create_order places an order.",
    )


def comparison(tx: Tx, skus: Sequence[str], quantity: Decimal) -> QuoteComparison:
    """The same quantity of each product, each at its own tier.

    Args:
        tx: the transaction.
        skus: as typed; one that comes twice is compared once.
        quantity: of each.

    Raises:
        ErpError: ``ambiguous``; ``invalid_argument`` for a quantity that one of the products does not allow.
    """
    quoted: dict[str, QuotedLine] = {}
    missing: list[str] = []
    for sku in skus:
        product = _product_or_none(tx, sku)
        if product is None:
            missing.append(sku)
        elif product.sku not in quoted:
            to_milli(quantity, product.quantity_places, f"quantity of {product.sku}")  # so that its refusal names it
            (quoted[product.sku],) = quote_lines(tx, [(product.sku, quantity)], "skus")
    sold = [line for line in quoted.values() if not line.discontinued]
    sold.sort(key=lambda line: (line.currency, line.priced.amount_minor, line.sku))
    available = _available(tx, [line.sku for line in sold])
    several = len({line.currency for line in sold}) > 1
    order = "Cheapest first within each currency; currencies are not compared." if several else "Cheapest first."
    return QuoteComparison.model_construct(
        items=[_quote_line(line, available.get(line.sku, 0)) for line in sold],
        returned=len(sold),
        total=len(sold),
        note=f"{order} {NO_PROMISE}",
        quantity=quantity_string(int(quantity * 1000)),
        missing=list(dict.fromkeys(missing)),
        discontinued=[Named(sku=line.sku, name=line.name) for line in quoted.values() if line.discontinued],
    )


def _product_or_none(tx: Tx, sku: str) -> Row | None:
    try:
        return find_product(tx, sku)
    except ErpError as error:
        if error.code != "product_not_found":
            raise
        return None


def _totals(lines: Iterable[QuotedLine]) -> list[MoneyTotal]:
    sums: dict[str, int] = {}
    for line in lines:
        sums[line.currency] = sums.get(line.currency, 0) + line.priced.amount_minor
    return [MoneyTotal(currency=code, amount=money_string(minor, code)) for code, minor in sorted(sums.items())]


def _available(tx: Tx, skus: Sequence[str]) -> dict[str, int]:
    return {row.sku: int(row.milli) for row in tx.rows(_available_of(len(skus)), **listed(skus))}


@cache
def _available_of(count: int) -> Prepared:
    total = sa.func.sum(stock.c.on_hand_milli - stock.c.reserved_milli).label("milli")
    return Prepared(sa.select(stock.c.sku, total).where(one_of(stock.c.sku, count)).group_by(stock.c.sku))
