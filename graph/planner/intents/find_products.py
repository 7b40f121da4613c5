"""Searching products by words."""

import re
from typing import Final

from graph.planner.entities import sku_spans
from graph.planner.intents.single import OneCall, leftover, told
from graph.planner.knowledge import Intent
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE
from graph.planner.steps import Call

_OPENS: Final = (
    rf"(?i)^{POLITE}(?:(?:find|search|look|list|show|which|what|any|do you have|are there)\b.*"
    r"\b(?:products?|items|articles)\b|search for\b(?!.*\b(?:customers?|orders?)\b)"
    r"|what(?:'s| is) the (?:sku|code|product number|item number) (?:of|for)\b"
    r"|(?:which|what) \w+s (?:do (?:you|we) have|are (?:in stock|available)))"
    r"|(?:查找|搜索|搜一?下?|找一?下?|列出|有哪些|哪些|有什么).*(?:商品|产品|货品)|(?:商品|产品).*(?:有哪些|搜索)"
    r"|的货号|货号是|SKU是|^\W*(?:搜索|搜一?下)|有哪些有货|有什么有货"
)
_NOT: Final = r"(?i)\b(?:stock history|running low|low stock|reorder|best|most|top)\b|补货|不足|最好|最多|畅销"
_FILLER: Final = (
    r"(?i)\b(?:find|search|look|for|up|list|show|me|which|what|what's|is|are|any|do|you|we|have|there|the|a|an|all|our|"
    r"products?|items|articles|sku|code|number|of|with|in|name|names|named|called|containing|contain|whose|category|"
    r"contains|like|that|and|also|please|available|stock|can|could|from|has|their)\b"
    r"|查找|搜索|搜一下|搜|找一下|找|列出|显示|有哪些|哪些|有什么|请|帮我|商品|产品|货品|名字里?|名称里?|名称|包含|含有|货号|类别|分类|"
    r"有货的?|什么|多少|所有|一下|(?i:SKU)|[里有的是带叫为吗呢和了含]"
)


def _opens(clause: Phrase) -> bool:
    text = clause.spoken
    return bool(re.search(_OPENS, text)) and not re.search(_NOT, text) and not sku_spans(text)


def _read(request: Request) -> list[Intent]:
    query = leftover(request.phrase.text, _FILLER)
    if not query:
        return [told(request.language, "Which words should the products have?", "请问要搜索什么商品？")]
    if re.search(r"(?i)\b(?:which|what) \w{3,}s (?:do|are)\b", request.phrase.spoken):
        query = re.sub(r"(?<=[a-z]{3})(?<!s)s\b", "", query)  # parts of words count: "cheese" finds cheeses too
    found: dict[str, object] = {"query": query}
    if re.search(r"(?i)\b(?:in stock|available)\b|有货|现货", request.phrase.spoken):
        found["in_stock_only"] = True
    return [OneCall(Call("search_products", found))]


FAMILY: Final = Family("search_products", _opens, _read)
