"""Customers: finding them by words, one as filed, what they bought, and, with a person's consent, what they owe."""

import re
from typing import Final

from graph.planner.dates import period
from graph.planner.entities import customer
from graph.planner.intents.single import OneCall, leftover, told
from graph.planner.knowledge import Intent
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, READ_EN, READ_ZH, conditional, refuses
from graph.planner.steps import Call

_DATA_EN: Final = (
    r"(?:address|phone(?: number)?|telephone(?: number)?|e-?mail(?: address)?|contact(?: person| details)?|details)"
)
_DATA_ZH: Final = r"(?:信息|资料|详情|地址|电话|手机|邮箱|联系人|联系方式)"
_FIND: Final = (
    rf"(?i)^{POLITE}(?:(?:find|search|look|list|show|which|any|who)\b.*\bcustomers\b"
    r"|(?:find|search|look up|look for|which)\b.*\bcustomer\b)"
    r"|(?:查找|搜索|搜一?下?|找一?下?|列出|哪[个位些]|有哪些).*客户|是哪[个位家]客户|客户.*有哪些"
)
_SHOW: Final = (
    rf"(?i)^{POLITE}(?:{READ_EN}.*\b(?:customer|client)\b|(?:{READ_EN})?.*\b{_DATA_EN} (?:of|for|at)\b"
    rf"|(?:{READ_EN})?.*'s {_DATA_EN}\b|who is our contact|who is [A-Z])"
    rf"|(?:客户|顾客).*{_DATA_ZH}|的{_DATA_ZH}(?:\W|是|$)|{READ_ZH}\s*(?:客户|顾客)\s*[A-Za-z0-9]|^\W*(?:客户|顾客)\s*[A-Za-z0-9]+\W*$"
)
_BOUGHT: Final = (
    rf"(?i)^{POLITE}(?:(?:what|how much|which|how many)\b.*\b(?:has|have|did|does|do)\b.*"
    r"\b(?:buy|bought|purchased?|spend|spent|order (?:the )?most)\b"
    r"|.*\bpurchases (?:of|by|for|from)\b|.*'s (?:purchases|spending|purchase history)\b)"
    r"|买[过了](?:什么|哪些|多少)|购买(?:记录|历史|了|过)|消费(?:了|记录|金额|多少|额)|一共消费|买得最多|采购(?:了|过|记录)"
)
_OWES: Final = (
    rf"(?i)^{POLITE}(?:(?:what|how much)\b.*\b(?:owes?|owing)\b|(?:{READ_EN})?.*\bbalance\b|"
    rf"(?:{READ_EN})?.*\b(?:credit limit|open amount|outstanding amount)\b|does .*\bowe\b)"
    r"|欠(?:我们|款|多少|了)|余额|信用额度|应收"
)
_FILLER: Final = (
    r"(?i)\b(?:what|what's|how|much|many|which|who|is|are|has|have|did|does|do|the|a|an|our|us|of|for|at|by|from|in|with|"
    r"buy|bought|purchased?|purchases?|spending|spend|spent|order|most|owes?|owing|check|show|me|tell|get|give|find|"
    r"search|look|up|list|any|all|customers?|clients?|called|named|name|names|containing|contains?|whose|that|balance|open|outstanding|"
    r"account|amount|credit|limit|address|phone|telephone|number|e-?mail|contact|person|details|about|please|and|also|"
    r"products?|so|far|history|now|currently|can|could|you|in total|total|altogether|'s)\b"
    r"|查找|搜索|搜一下|搜|找一下|找|列出|查询|查看|查一下|查|看一下|看看|看|显示|告诉我|请问|请|帮我|哪个|哪位|哪些|哪家|有哪些|客户|顾客|"
    r"名字里?|名称里?|包含|信息|资料|详情|地址|电话|手机|邮箱|联系人|联系方式|号码|什么|多少钱|多少|一共|总共|消费|购买|采购|记录|历史|"
    r"商品|产品|最多|欠款|欠|我们|余额|信用额度|额度|应收|金额|买得|一下|[的是有买过了吗呢和在叫为里含额]"
)


def _who(phrase: Phrase) -> str:
    return customer(phrase) or leftover(phrase.text, _FILLER)


def _opens_find(clause: Phrase) -> bool:
    return re.search(_FIND, clause.spoken) is not None and not re.search(r"(?i)\borders?\b|订单", clause.spoken)


def _read_find(request: Request) -> list[Intent]:
    query = leftover(request.phrase.text, _FILLER)
    if not query:
        return [told(request.language, "Which words should the customer's name have?", "请问要查找哪个客户？")]
    return [OneCall(Call("find_customers", {"query": query}))]


def _opens_show(clause: Phrase) -> bool:
    text = clause.spoken
    return re.search(_SHOW, text) is not None and not re.search(r"(?i)\border\b|订单|商品|产品|\bproduct\b", text)


def _read_show(request: Request) -> list[Intent]:
    who = _who(request.phrase)
    return [OneCall(Call("get_customer", {"customer": who}))] if who else [_which(request)]


def _which(request: Request) -> Intent:
    return told(
        request.language,
        "Which customer? Please give the id or the exact name, for example ALFKI.",
        "请问是哪个客户？请给出客户编号或全名，例如 ALFKI。",
    )


def _opens_bought(clause: Phrase) -> bool:
    return re.search(_BOUGHT, clause.spoken) is not None


def _read_bought(request: Request) -> list[Intent]:
    when, spans = period(request.phrase.text, request.today)
    phrase = request.phrase.without(spans)
    who = _who(phrase)
    if not who:
        return [_which(request)]
    return [OneCall(Call("get_customer_purchases", {"customer": who} | when.arguments()))]


def _opens_balance(clause: Phrase) -> bool:
    return re.search(_OWES, clause.spoken) is not None


def _read_balance(request: Request) -> list[Intent]:
    """A person has to agree first, so it is asked for only where the user plainly does."""
    spoken = request.phrase.spoken
    if not request.commands or refuses(spoken) or conditional(spoken) or re.search(r"(?i)n't\b|不要|别|勿", spoken):
        return [told(request.language, "I have looked up nothing.", "我没有查询任何内容。")]
    who = _who(request.phrase)
    return [OneCall(Call("check_balance", {"customer": who}))] if who else [_which(request)]


FIND: Final = Family("find_customers", _opens_find, _read_find)
SHOW: Final = Family("get_customer", _opens_show, _read_show)
BOUGHT: Final = Family("get_customer_purchases", _opens_bought, _read_bought)
BALANCE: Final = Family("check_balance", _opens_balance, _read_balance)
