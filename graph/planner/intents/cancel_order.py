"""Cancelling orders: look each one up, then cancel it; the ERP, not the planner, decides whether it may be.

Without any words of the user's that could be a reason, the reason is "requested by the user".
"""

import re
from dataclasses import dataclass
from typing import Final

from graph.planner.entities import ORDER_ID, customer, order_ids, reason_in
from graph.planner.intents.single import OneCall, nothing_changed, told
from graph.planner.knowledge import Intent, Known
from graph.planner.phrase import Language, Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, POLITE_ZH, conditional, is_question
from graph.planner.steps import Call, Step

_VERB: Final = r"(?:cancel|void|call off|annul|revoke)"
_VERB_ZH: Final = r"(?:取消|撤销|撤单|作废|退订|(?i:cancel))"
_IDS: Final = (
    rf"(?P<ids>(?:{ORDER_ID})(?:\s*(?:,\s*and\b|,|\band\b|&|\+|\bas well as\b|和|、|跟|与|及|以及)\s*"
    rf"(?:(?:the )?orders?\b|订单)?\s*(?:{ORDER_ID}))*)"
)
_NOUN: Final = (
    r"(?:(?:the|my|our|this|that)\s+)?(?:[\w. -]{1,40}?'s\s+)?(?:(?:customer|sales|open|new)\s+)?(?:orders?\b)?"
    r"\s*(?:number|no\.?|nr\.?|id)?\s*:?\s*"
)
_NOUN_ZH: Final = (
    r"\s*(?:客户\s*\S{1,30}?\s*的)?\s*(?:这个|这张|这笔|该|第)?\s*(?:订单号?|单号|单子|单|(?i:orders?))?\s*"
    r"(?:为|是)?:?\s*"
)
_COMMANDS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^{POLITE}{_VERB}\s+{_NOUN}{_IDS}(?!'s)",
        (
            rf"^{POLITE}(?:(?:(?:i|we) (?:want|need|would like)|(?:i|we)'d like)(?: to have| to see)?|have|get)"
            rf"\s+{_NOUN}{_IDS}\s+(?:to be )?cancell?ed\b"
        ),
        rf"^{POLITE_ZH}{_VERB_ZH}(?:一下|掉)?{_NOUN_ZH}{_IDS}(?!'s|\s*(?:的|里|中))(?:\s*(?:号|这个|这张|这笔)*(?:订单|单子|单)?)",
        (
            rf"^{POLITE_ZH}{_NOUN_ZH}{_IDS}\s*(?:(?:号|这个|这张|这笔|的)*(?:订单|单子|单)|号)?"
            rf"(?:帮我|给我|都|全部|请|也|一起|[\s,])*{_VERB_ZH}(?P<done>掉|了|一下|吧)*"
            r"(?!\s*(?:原因|理由|记录|时间|日期|状态|的|费|申请|政策|没|不))"
        ),
    )
)
_MENTION: Final = rf"(?i)\b(?:{_VERB}|cancell?ing|cancell?ation)\b|取消(?!的)|撤销|撤单|作废|退订"
_PAST: Final = r"(?i)\bcancell?ed orders?\b|已取消|被取消|取消了的|取消状态"
_GREETING: Final = (
    r"(?i)(?:\W|\b(?:hi|hello|hey|dear|good|morning|afternoon|team|there|all|ok|okay|please|yes|sure|no|sorry|thanks|"
    r"you)\b|你好|您好|谢谢|好的|麻烦|请|那)*"
)
DEFAULT_REASON: Final[dict[Language, str]] = {"en": "requested by the user", "zh": "用户要求"}


@dataclass(frozen=True)
class CancelOrder:
    """Cancel one order, for a reason in the user's words."""

    order_id: str
    reason: str

    def next(self, known: Known) -> Step:
        """First the order, then, where it exists, the cancellation."""
        look = Call("get_order", {"order_id": self.order_id})
        if known.offers("get_order"):
            order = known.result(look)
            if order is None or order.error:
                return look
        return Call("cancel_order", {"order_id": self.order_id, "reason": self.reason})


def reason_of(rest: Phrase, request: Request) -> str:
    """The reason behind a command, else what was said just before it, else the default in the user's language."""
    return reason_in(rest) or said_before(request) or DEFAULT_REASON[request.language]


def said_before(request: Request) -> str:
    """What the user said just before the command, greetings apart."""
    if re.fullmatch(_GREETING, request.lead.text):
        return ""
    return reason_in(request.lead)


def _opens(clause: Phrase) -> bool:
    if _command(clause):
        return True
    return re.search(_MENTION, clause.spoken) is not None and re.search(_PAST, clause.spoken) is None


def _command(phrase: Phrase) -> re.Match[str] | None:
    return next((m for pattern in _COMMANDS if (m := pattern.search(phrase.spoken))), None)


def _read(request: Request) -> list[Intent]:
    command = _command(request.phrase)
    if command and request.commands and not _only_talks(command, request.phrase):
        reason = reason_of(request.phrase.part(command.end()), request)
        return [CancelOrder(order_id, reason) for order_id in order_ids(command.group("ids"))]
    return _mentioned(request)


def _only_talks(command: re.Match[str], phrase: Phrase) -> bool:
    """订单11074取消了 tells what happened (把…取消了 commands); a question or a condition behind it is no command."""
    told_as_past = command.groupdict().get("done") == "了" and not re.search("[把将请帮]", command.group())
    return told_as_past or is_question(phrase) or conditional(phrase.spoken[command.end() :])


def _mentioned(request: Request) -> list[Intent]:
    ids = order_ids(request.phrase.spoken)
    if ids:
        note = nothing_changed(request.language, f"Cancel order {ids[0]}, <reason>", f"取消订单 {ids[0]}，<原因>")
        return [OneCall(Call("get_order", {"order_id": i}), note) for i in ids]
    who = customer(request.phrase)
    if who and request.commands:
        note = (
            "请问要取消哪一个订单？请给出订单号。" if request.language == "zh" else "Which of these? Give its number."
        )
        return [OneCall(Call("list_orders", {"customer": who}), note)]
    return [
        told(
            request.language,
            "Which order? To cancel one, say for example: Cancel order SO19980506-11074, ordered by mistake",
            "请问是哪一个订单？要取消，请说，例如：「取消订单 SO19980506-11074，重复下单」",
        )
    ]


FAMILY: Final = Family("cancel_order", _opens, _read, commands=lambda clause: _command(clause) is not None)
