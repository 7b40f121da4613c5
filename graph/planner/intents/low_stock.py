"""What is running low, and how a product's stock came to be."""

import re
from dataclasses import dataclass
from typing import Final

from graph.planner.dates import period
from graph.planner.entities import sku_spans, warehouse_span
from graph.planner.intents.product_reference import Product, product_in, resolve
from graph.planner.intents.single import OneCall, leftover
from graph.planner.knowledge import Intent, Known
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, READ_EN
from graph.planner.steps import Call, Step

_LOW: Final = (
    rf"(?i)^{POLITE}(?:{READ_EN})?.*\b(?:running (?:low|out)|low (?:in |on )?stock|low[- ]stock|"
    r"below (?:the |their )?reorder|"
    r"(?:need|have)s? to (?:be )?(?:re-?order|restock|buy again)|to reorder|short (?:of|on) stock|out of stock)\b"
    r"|库存不足|低库存|库存低|库存偏低|需要补货|要补货|该补货|快没货|缺货|库存预警"
)
_HISTORY: Final = (
    rf"(?i)^{POLITE}(?:{READ_EN})?.*\b(?:(?:stock|inventory) (?:history|movements?|moves|changes)|"
    r"(?:movements?|moves|history) (?:of|for)|"
    r"why did .*\b(?:stock|inventory)\b|why has .*\b(?:stock|inventory)\b|who (?:has )?(?:adjusted|changed))\b"
    r"|出入库|库存(?:的)?(?:记录|变动|变化|历史|流水|明细)|库存.*(?:为什么|怎么).*变|谁(?:调整|改|动)了"
)
_FILLER: Final = (
    r"(?i)\b(?:show|me|the|stock|inventory|history|movements?|moves|changes|of|for|why|did|has|have|change|changed|who|"
    r"adjusted|and|what|is|are|list|in|please|how|quantity)\b|库存|出入库|记录|变动|变化|历史|流水|明细|查看|查询|查|显示|为什么|"
    r"怎么|谁|调整|原因|请|[的了变是改动看]"
)


@dataclass(frozen=True)
class StockHistory:
    """The moves of a product's stock."""

    product: Product
    filters: tuple[tuple[str, str], ...] = ()

    def next(self, known: Known) -> Step:
        """The SKU first, then its moves."""
        sku = resolve(self.product, known)
        return Call("stock_history", {"sku": sku} | dict(self.filters)) if isinstance(sku, str) else sku


def _opens_low(clause: Phrase) -> bool:
    return re.search(_LOW, clause.spoken) is not None and not sku_spans(clause.spoken)


def _read_low(request: Request) -> list[Intent]:
    place = warehouse_span(request.phrase.text)
    return [OneCall(Call("list_low_stock", {"warehouse": place[2]} if place else {}))]


def _opens_history(clause: Phrase) -> bool:
    return re.search(_HISTORY, clause.spoken) is not None


def _read_history(request: Request) -> list[Intent]:
    text = request.phrase.text
    when, spans = period(text, request.today)
    filters = {name: day for name, day in when.arguments().items() if name == "date_from"}
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    if place := warehouse_span(text):
        filters["warehouse"] = place[2]
        text = text[: place[0]] + " " + text[place[1] :]
    codes = sku_spans(text)
    name = "" if codes else leftover(text, _FILLER)
    product = Product(sku=codes[0][2]) if codes else product_in(name, name)
    return [StockHistory(product, tuple(filters.items()))] if product else []


LOW: Final = Family("list_low_stock", _opens_low, _read_low)
HISTORY: Final = Family("stock_history", _opens_history, _read_history)
