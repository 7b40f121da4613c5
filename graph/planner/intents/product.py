"""What a product is and costs."""

import re
from dataclasses import dataclass
from typing import Final

from graph.planner.entities import sku_spans
from graph.planner.intents.product_reference import Product, product_in, resolve
from graph.planner.knowledge import Intent, Known
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, READ_EN, READ_ZH
from graph.planner.steps import Call, Step

_PRICE: Final = (
    rf"(?i)^{POLITE}(?:what(?:'s| is| are)? (?:the )?(?:list |unit |current )?price|how much (?:is|are|does|do)|"
    r"(?:the )?prices? (?:of|for)\b|what does .* cost)|\b(?:price|cost)\b.*\?"
    r"|多少钱|价格|单价|售价|什么价|价钱|停产|在卖|在售|折扣|便宜|\b(?:cheaper|discounts?|tiers?)\b"
)
_ABOUT: Final = (
    rf"(?i)^{POLITE}(?:{READ_EN}).*\b(?:product|item|article|sku)\b|(?:商品|产品)\s*(?:信息|详情|资料|[A-Za-z0-9])"
)
_FILLER: Final = (
    rf"(?i)^{POLITE}|\b(?:what(?:'s)?|is|are|the|list|unit|current|price|prices|of|for|how|much|does|do|cost|costs|show|me|"
    r"tell|about|get|details?|on|product|item|article|sku|info|information|a|an|one|give|look|up|find|check|view|see|did|it|this|that|they|still|sold|"
    r"and|also|please)\b|多少钱|价格|单价|售价|什么价|价钱|请问|请|帮我|查询|查看|查一下|查|看一下|看看|看|告诉我|商品|产品|信息|详情|"
    r"资料|什么|[的是吗呢卖]"
)


@dataclass(frozen=True)
class ShowProduct:
    """One product: name, price, tiers."""

    product: Product

    def next(self, known: Known) -> Step:
        """The SKU first, then the product."""
        sku = resolve(self.product, known)
        return Call("get_product", {"sku": sku}) if isinstance(sku, str) else sku


def _opens(clause: Phrase) -> bool:
    text = clause.spoken
    if re.search(_PRICE, text) or re.search(_ABOUT, text):
        return True
    return bool(sku_spans(text)) and re.search(rf"(?i)^{POLITE}{READ_EN}|{READ_ZH}|^\W*[\w-]+\W*$", text) is not None


def _read(request: Request) -> list[Intent]:
    codes = list(dict.fromkeys(sku for _, _, sku in sku_spans(request.phrase.text)))
    if codes:
        return [ShowProduct(Product(sku=sku)) for sku in codes]
    name = re.sub(r"\s+", " ", re.sub(_FILLER, " ", request.phrase.text)).strip()
    product = product_in(name, name)
    return [ShowProduct(product)] if product else []


FAMILY: Final = Family("get_product", _opens, _read, weak=True)
