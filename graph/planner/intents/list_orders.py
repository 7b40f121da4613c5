"""Lists of orders, by customer, status, product and time."""

import re
from typing import Final

from graph.planner.dates import period
from graph.planner.entities import FULL_ORDER_ID, customer, skus
from graph.planner.intents.single import OneCall
from graph.planner.knowledge import Intent
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, READ_EN, READ_ZH
from graph.planner.steps import Call

_STATUS: Final = (
    (
        ("pending", "confirmed"),
        (
            r"\b(?:open|outstanding|unshipped|undelivered|unfulfilled|not (?:yet )?shipped|active)\b"
            r"|未完成|未发货|没发货|未结|进行中"
        ),
    ),
    (("pending",), r"\b(?:pending|unconfirmed|awaiting confirmation)\b|待确认|待处理|未确认"),
    (("confirmed",), r"\bconfirmed\b|已确认|确认了的|待发货"),
    (("shipped",), r"\b(?:shipped|in transit|on (?:the|its|their) way)\b|已发货|运输中|在途|配送中"),
    (("completed",), r"\b(?:completed?|delivered|finished|closed|fulfilled)\b|已完成|完成的|已送达|已签收"),
    (("cancelled",), r"\bcancell?ed\b|已取消|取消了?的|被取消"),
)
_NOUN: Final = r"(?i)\borders\b(?!\s+\d)|订单|单子"
_BUYERS: Final = r"\bwho (?:has |have )?(?:ordered|bought)\b|谁(?:订|买)[了过]"
_SHAPE: Final = (
    rf"(?i)^{POLITE}(?:{READ_EN}|(?:all|the|my|our|recent|latest|last|open|pending|confirmed|shipped|completed|delivered|"
    r"cancell?ed|outstanding|unshipped|today's|yesterday's)\b|orders\b|[\w. -]{2,40}?'s?\s)"
)
_LIMIT: Final = (
    r"(?i)\b(?:last|latest|first|top|recent|newest|most recent|show(?: me)?)\s+(?P<n>[0-9]{1,3})\b(?:\s+\w+)?\s+orders"
    r"|(?:最近|最新|前)(?:的)?(?P<z>[0-9]{1,3})(?:个|张|笔|条)"
)


def statuses(text: str) -> tuple[str, ...]:
    """The order statuses that ``text`` asks for; "open" means those that can still be cancelled."""
    return next((names for names, pattern in _STATUS if re.search(pattern, text, re.IGNORECASE)), ())


def _opens(clause: Phrase) -> bool:
    text = clause.spoken
    if not re.search(rf"{_NOUN}|{_BUYERS}", text) or re.search(FULL_ORDER_ID, text, re.IGNORECASE):
        return False
    if re.search(_BUYERS, text):
        return bool(skus(text))
    if re.search("订单|单子", text):
        return re.search(rf"{READ_ZH}|的|所有|全部|清单|列表|未|已|待|^\W*\S{{0,4}}订单\W*$", text) is not None
    return re.search(_SHAPE, text) is not None


def _read(request: Request) -> list[Intent]:
    text = request.phrase.text
    when, spans = period(text, request.today)
    phrase = request.phrase.without(spans)
    found: dict[str, object] = {}
    if who := customer(phrase) or _possessor(phrase):
        found["customer"] = who
    if codes := skus(phrase.text):
        found["sku"] = codes[0]
    found |= when.arguments()
    if limit := re.search(_LIMIT, text):
        found["limit"] = max(1, min(100, int(limit["n"] or limit["z"])))
    if re.search(r"(?i)\b(?:in detail|with (?:lines|details|items)|detailed)\b|明细|详细|详情", text):
        found["detail"] = True
    wanted = statuses(phrase.spoken)
    return [OneCall(Call("list_orders", found | {"status": s})) for s in wanted] or [
        OneCall(Call("list_orders", found))
    ]


def _possessor(phrase: Phrase) -> str | None:
    """``Alfreds Futterkiste's orders``, ``Alfreds Futterkiste的订单``."""
    found = re.search(r"(?P<c>[A-ZÀ-Þ][\w.&-]*(?: [\w.&-]+)*)'s?\s+(?:\w+\s+){0,2}orders", phrase.text) or re.search(
        r"(?P<c>[A-Za-z][A-Za-z0-9_.&'-]*(?: [A-Za-z][A-Za-z0-9_.&'-]*)*)\s*的?(?:\S{0,6})订单", phrase.text
    )
    if not found:
        return None
    name = re.sub(rf"(?i)^{POLITE}(?:{READ_EN}\s*)*(?:(?:me|all|the)\s+)*", "", phrase.raw[slice(*found.span("c"))])
    return name if name and not skus(name) else None


FAMILY: Final = Family("list_orders", _opens, _read)
