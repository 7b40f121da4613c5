"""New orders: a customer and lines of quantity and product. Whatever cannot be read is asked for, never guessed."""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from graph.planner.entities import FULL_ORDER_ID, customer_span, sku_spans, warehouse_span
from graph.planner.intents.product_reference import Product, product_in, resolve
from graph.planner.intents.single import told
from graph.planner.knowledge import Intent, Known
from graph.planner.numerals import MEASURE, QUANTITY, Quantity, quantity
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, POLITE_ZH, conditional, is_question
from graph.planner.steps import Call, Step

_MAKE: Final = r"(?:create|place|make|enter|open|put in|set up|raise|start|add|book|submit|write up|new)"
_ORDER_ZH: Final = (
    r"(?:下单|下一?[个张]?(?:新)?订单|下[个了]?单|订购|订货|采购|购买|创建(?:一?[个张])?新?的?(?:销售)?订单|"
    r"新建(?:一?[个张])?(?:销售)?订单|新增(?:一?[个张])?订单|录入(?:一?[个张])?新?订单|建(?:一?[个张])?新?订单|"
    r"开(?:一?[个张])?新?订单|开单|买|订(?!单))"
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
_JUNK: Final = (
    r"(?i)^(?:\s|[,;:.!?、。()]|\b(?:and|with|containing|of|for|the following|the|following|items?|lines?|products?|"
    r"consisting|please|pls|thanks|thank you|also|plus|order|an?(?=\s+order)|to|from|by|it|should|contain|asap|"
    r"urgently|customer|client)\b|商品|产品|内容|包括|包含|分别|请|谢谢|给|为|客户|顾客|的|和|以及|还有|及|一共|了|吧)+"
)
_TAIL: Final = (
    r"(?i)(?:\s|[,;:.!?、。()]|\b(?:and|for|please|pls|thanks|thank you|to|from|by|asap|customer|client|in|at)\b"
    r"|给|为|客户|顾客|的|谢谢|吧|了|发货|从)+$"
)
_NOTE: Final = re.compile(
    r"(?i)[,;.(\s]*\b(?:with )?(?:a )?note\s*[:=]\s*(?P<n>.+)$|[,;。\s]*备注\s*[:为是]?\s*(?P<z>.+)$", re.DOTALL
)
_SPLIT: Final = re.compile(r"(?i),(?![0-9]{3}(?![0-9]))|[、;\n]|\b(?:and|plus)\b|&|\+|和|以及|还有|及|跟")
_EACH: Final = re.compile(
    rf"(?i)(?P<q>{QUANTITY})\s*(?:units?|pieces?|pcs)?\s*(?:of\s+)?each\b(?:\s+of)?"
    rf"|各(?:要|订)?\s*(?P<z>{QUANTITY})\s*(?:{MEASURE})?"
)
_UNIT: Final = rf"(?:\s*(?:[x×*:]|units?|pieces?|pcs|items?|boxes|box|cases|bottles|packs?|{MEASURE}))?(?:\s+of\b)?"
_FIRST: Final = re.compile(rf"(?i)^\W*(?:x\s*)?(?P<q>{QUANTITY}){_UNIT}\s*(?P<p>.+)$")
_LAST: Final = re.compile(rf"(?i)^(?P<p>.+?)\s*[x×*:(]?\s*(?P<q>{QUANTITY})\s*(?:x|units?|pieces?|pcs|{MEASURE})?\W*$")


@dataclass(frozen=True)
class Line:
    """What is ordered and how many; ``quantity`` is None where the user did not say."""

    product: Product
    quantity: Quantity | None


@dataclass(frozen=True)
class CreateOrder:
    """A new order. ``unclear`` holds the words that could not be read as a line."""

    customer: str
    lines: tuple[Line, ...]
    unclear: tuple[str, ...] = ()
    warehouse: str = ""
    note: str = ""

    def next(self, known: Known) -> Step:
        """What is missing is asked; names become SKUs; then the order."""
        if question := self._question():
            return known.say(*question)
        lines: list[dict[str, Quantity]] = []
        for line in self.lines:
            sku = resolve(line.product, known)
            if not isinstance(sku, str):
                return sku
            lines.append({"sku": sku, "quantity": line.quantity or 0})
        extra = {"warehouse": self.warehouse, "note": self.note}
        return Call("create_order", {"customer": self.customer, "lines": lines} | {k: v for k, v in extra.items() if v})

    def _question(self) -> tuple[str, str] | None:
        if self.unclear:
            words = self.unclear[0]
            return (
                f"I could not read “{words}” as quantity and product. Please write each line like: 12 x NW-011",
                f"我看不懂「{words}」。请按「数量 + 货号」写每一行，例如：NW-011 x 12",
            )
        if not self.lines:
            return (
                "What should the order contain? For example: 12 x NW-011",
                "请问要订什么商品、多少？例如：NW-011 x 12",
            )
        if missing := [line for line in self.lines if not line.quantity]:
            what = missing[0].product.sku or missing[0].product.name
            return (f"How many of {what}?", f"请问 {what} 要多少？")
        if not self.customer:
            return (
                "For which customer? Please give the id or the exact name, for example ALFKI.",
                "请问是哪个客户？请给出客户编号或全名，例如 ALFKI。",
            )
        return None


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
    raw, text = _cut(body.raw, who), _cut(body.text, who)
    place = warehouse_span(text)
    if place:
        raw, text = _cut(raw, place[:2]), _cut(text, place[:2])
    lines, unclear = read_lines(raw[start:], text[start:])
    return CreateOrder(name, tuple(lines), tuple(unclear), place[2] if place else "", note)


def _cut(text: str, span: tuple[int, int] | None) -> str:
    """The span as a gap of the same length, which also parts two lines."""
    return text if span is None else text[: span[0]] + "," * (span[1] - span[0]) + text[span[1] :]


def read_lines(raw: str, text: str) -> tuple[list[Line], list[str]]:
    """Order lines in ``text`` (folded; ``raw`` is the same as typed), and the words that are none."""
    each = _EACH.search(text)
    common = quantity(each["q"] or each["z"]) if each else None
    if each:
        raw, text = _cut(raw, each.span()), _cut(text, each.span())
    lines: list[Line] = []
    unclear: list[str] = []
    for start, end in _items(text):
        item = _line(raw[start:end], text[start:end], common)
        if isinstance(item, Line):
            lines.append(item)
        elif item:
            unclear.append(item)
    return lines, unclear


def _items(text: str) -> list[tuple[int, int]]:
    """The stretches between separators, and between SKUs where several stand in one stretch."""
    cuts = [0, *(p for m in _SPLIT.finditer(text) for p in m.span()), len(text)]
    found: list[tuple[int, int]] = []
    for start, end in zip(cuts[::2], cuts[1::2], strict=True):
        codes = [(start + s, start + e) for s, e, _ in sku_spans(text[start:end])]
        sku_first = bool(codes) and not re.search(QUANTITY, text[start : codes[0][0]])
        inner = [s for s, _ in codes[1:]] if sku_first else [e for _, e in codes[:-1]]
        edges = [start, *inner, end]
        found += list(pairwise(edges))
    return found


def _line(raw: str, text: str, common: Quantity | None) -> Line | str:
    """One line; or the words that are no line, "" where there are none."""
    lead = re.match(_JUNK, text)
    start = lead.end() if lead else 0
    end = len(re.sub(_TAIL, "", text)) if start < len(text) else start
    raw, text = raw[start:end], text[start:end]
    if not text.strip():
        return ""
    codes = sku_spans(text)
    if codes:
        rest = text[: codes[0][0]] + " " + text[codes[0][1] :]
        number = re.search(QUANTITY, rest)
        return Line(Product(sku=codes[0][2]), quantity(number.group()) if number else common)
    found = _FIRST.match(text) or _LAST.match(text)
    product = product_in(raw[slice(*found.span("p"))], found["p"]) if found else None
    if found and product:
        return Line(product, quantity(found["q"]))
    named = product_in(raw, text) if common else None
    return Line(named, common) if named else raw.strip()


FAMILY: Final = Family("create_order", _opens, _read, commands=lambda clause: _head(clause) is not None)
