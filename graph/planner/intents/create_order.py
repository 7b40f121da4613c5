"""New orders: a customer and lines of quantity and product. Whatever cannot be read is asked for, never guessed."""

import re
from dataclasses import dataclass
from typing import Final

from graph.planner.entities import FULL_ORDER_ID, customer_span, warehouse_span
from graph.planner.intents.order_lines import Lines, cut, read_lines
from graph.planner.intents.single import told
from graph.planner.knowledge import Intent, Known
from graph.planner.numerals import QUANTITY
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, POLITE_ZH, conditional, is_question
from graph.planner.steps import Call, Step

_MAKE: Final = r"(?:create|place|make|enter|open|put in|set up|raise|start|add|book|submit|write up|new)"
_ORDER_ZH: Final = (
    r"(?:下单|下一?[个张]?(?:新)?订单|下[个了]?单|(?:订购|订货|采购|购买)(?![了过记历])|创建(?:一?[个张])?新?的?(?:销售)?订单|"
    r"新建(?:一?[个张])?(?:销售)?订单|新增(?:一?[个张])?订单|录入(?:一?[个张])?新?订单|建(?:一?[个张])?新?订单|"
    r"开(?:一?[个张])?新?订单|开单|买(?![了过得])|订(?![单了过]))"
)
_HEADS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            rf"^{POLITE}{_MAKE}\s+(?:(?:a|an|the|one|another)\s+)?(?:new\s+)?(?:(?:sales|customer)\s+)?orders?\b"
            r"(?!\s*[#:]?\s*(?:SO)?[0-9]{5,})"
        ),
        (
            rf"^{POLITE}(?:order|sell)\s+(?!#?[0-9]{{5,}}(?!\s*(?:x|×|\*|units|of)\b))"
            rf"(?=[\"“]|(?:the following|for|of)\b|{QUANTITY}(?![0-9])(?:\W+\w)|\S*[0-9]\S*\s*[x×*:]\s*[0-9]|NW)"
        ),
        rf"^{POLITE_ZH}(?:\ufffb|[\s,]|客户|顾客|要|想|给|为|帮|替)*{_ORDER_ZH}",
    )
)
_MENTION: Final = (
    r"(?i)\b(?:create|place|make)\b[^,;.]*\border\b|\b(?:should|shall|may|can|must) (?:i|we) order\b"
    r"|(?:创建|新建)[^,。;]*订单|下单"
)
_NOTE: Final = re.compile(
    r"(?i)[,;.(\s]*\b(?:with )?(?:a )?note\s*(?:[:=]|(?<=[,;.] note)\s)\s*(?P<n>.+)$"
    r"|[,;。\s]*备注\s*[:为是]?\s*(?P<z>.+)$",
    re.DOTALL,
)


@dataclass(frozen=True)
class CreateOrder:
    """A new order."""

    customer: str
    wanted: Lines
    warehouse: str = ""
    note: str = ""

    def next(self, known: Known) -> Step:
        """What is missing is asked; names become SKUs; then the order."""
        if not self.customer and self.wanted.question() is None:
            return known.say(
                "For which customer? Please give the id or the exact name, for example ALFKI.",
                "请问是哪个客户？请给出客户编号或全名，例如 ALFKI。",
            )
        lines = self.wanted.resolved(known)
        if not isinstance(lines, list):
            return lines
        extra = {"warehouse": self.warehouse, "note": self.note}
        return Call("create_order", {"customer": self.customer, "lines": lines} | {k: v for k, v in extra.items() if v})


def _opens(clause: Phrase) -> bool:
    if re.search(FULL_ORDER_ID, clause.spoken, re.IGNORECASE):
        return False
    return _head(clause) is not None or re.search(_MENTION, clause.spoken) is not None


def _head(phrase: Phrase) -> re.Match[str] | None:
    """The command's head, with the customer's name blanked so that 给 ALFKI 下单 and ALFKI要订 look alike."""
    spoken = _blank(phrase.spoken, customer_span(phrase))
    return next((m for pattern in _HEADS if (m := pattern.search(spoken))), None)


def _blank(text: str, span: tuple[int, int] | None) -> str:
    return text if span is None else text[: span[0]] + "\ufffb" * (span[1] - span[0]) + text[span[1] :]


def _read(request: Request) -> list[Intent]:
    phrase = request.phrase
    head = _head(phrase)
    if head is None or not request.commands or is_question(phrase) or conditional(phrase.spoken[head.end() :]):
        return [
            told(
                request.language,
                "I have changed nothing. To place an order, say for example: Order 12 x NW-011 for ALFKI",
                "我没有做任何更改。要下单，请说，例如：「给 ALFKI 下单：NW-011 x 12，NW-042 x 3」",
            )
        ]
    return [read_order(phrase, head.end())]


def read_order(phrase: Phrase, start: int) -> CreateOrder:
    """Customer, warehouse and note from the whole command, lines from what is left behind ``start``."""
    noted = _NOTE.search(phrase.text, start)
    note = phrase.raw[noted.start("n") if noted["n"] else noted.start("z") :].strip() if noted else ""
    body = phrase.part(0, noted.start()) if noted else phrase
    who = customer_span(body)
    name = body.raw[who[0] : who[1]].strip(' "“”「」') if who else ""
    raw, text = cut(body.raw, who), cut(body.text, who)
    place = warehouse_span(text)
    if place:
        raw, text = cut(raw, place[:2]), cut(text, place[:2])
    return CreateOrder(name, read_lines(raw[start:], text[start:]), place[2] if place else "", note)


FAMILY: Final = Family("create_order", _opens, _read, commands=lambda clause: _head(clause) is not None)
