"""Sales, added up by product, category, customer, country or month."""

import re
from typing import Final

from graph.planner.dates import period
from graph.planner.intents.single import OneCall
from graph.planner.knowledge import Intent
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, READ_EN
from graph.planner.steps import Call

_OPENS: Final = (
    rf"(?i)^{POLITE}(?:{READ_EN})?.*\b(?:sales|revenue|turnover|best[- ]sell(?:ing|ers?)|top(?: [0-9]+)? "
    r"(?:products?|customers?|categor(?:y|ies)|countr(?:y|ies)|months?))\b|销售额|销量|销售|营业额|卖得最好|畅销|最好卖|业绩"
)
_GROUPS: Final = (
    ("month", r"(?i)\bmonth(?:s|ly)?\b|按月|每月|各月|月度|逐月"),
    ("country", r"(?i)\bcountr(?:y|ies)\b|国家|各国|按国|哪国"),
    ("category", r"(?i)\bcategor(?:y|ies)\b|类别|分类|品类|各类"),
    ("customer", r"(?i)\b(?:customers?|clients?)\b|客户|顾客"),
    ("product", r"(?i)\b(?:products?|items?|articles?|best[- ]sell)|商品|产品|卖得最好|畅销|最好卖|货品"),
)
_LIMIT: Final = r"(?i)\b(?:top|first|best)\s+(?P<n>[0-9]{1,3})\b|\b(?P<m>[0-9]{1,3}) best\b|前(?P<z>[0-9]{1,3})"


def _opens(clause: Phrase) -> bool:
    return re.search(_OPENS, clause.spoken) is not None and not re.search(r"(?i)\bsales orders?\b|订单", clause.spoken)


def _read(request: Request) -> list[Intent]:
    """Without a word on how to group: by month, where the user only asks how much was sold."""
    when, spans = period(request.phrase.text, request.today)
    text = request.phrase.without(spans).text
    group = next((name for name, pattern in _GROUPS if re.search(pattern, text)), "month")
    found: dict[str, object] = {"group_by": group, **when.arguments()}
    if limit := re.search(_LIMIT, text):
        found["limit"] = max(1, min(100, int(next(n for n in limit.groups() if n))))
    return [OneCall(Call("sales_summary", found))]


FAMILY: Final = Family("sales_summary", _opens, _read)
