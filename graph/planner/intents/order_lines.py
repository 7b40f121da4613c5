"""Lines of quantity and product as people write them, for orders, changes, returns and quotes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from erp_mcp.contract import JsonObject
from graph.planner.entities import sku_spans
from graph.planner.intents.product_reference import Product, product_in, resolve
from graph.planner.knowledge import Known
from graph.planner.numerals import MEASURE, QUANTITY, Quantity, quantity
from graph.planner.steps import Step

_JUNK: Final = (
    r"(?i)^(?:\s|[,;:.!?、。()]|\b(?:and|with|containing|of|for|the following|the|following|items?|lines?|products?|"
    r"consisting|please|pls|thanks|thank you|also|plus|order|an?(?=\s+order)|to|from|by|it|should|contain|asap|"
    r"urgently|customer|client)\b|商品|产品|内容|包括|包含|分别|请|谢谢|给|为|客户|顾客|的|和|以及|还有|及|一共|了|吧)+"
)
_TAIL: Final = (
    r"(?i)(?:\s|[,;:.!?、。()]|\b(?:and|for|please|pls|thanks|thank you|to|from|by|asap|customer|client|in|at)\b"
    r"|给|为|客户|顾客|的|谢谢|吧|了|发货|从)+$"
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
    """A product and how many of it; ``quantity`` is None where the user did not say."""

    product: Product
    quantity: Quantity | None


@dataclass(frozen=True)
class Lines:
    """Lines as read, and the words that could not be read as one."""

    lines: tuple[Line, ...]
    unclear: tuple[str, ...] = ()

    def question(self) -> tuple[str, str] | None:
        """What has to be asked (English, Chinese) before these lines can be used; None where all is clear."""
        if self.unclear:
            words = self.unclear[0]
            return (
                f"I could not read “{words}” as quantity and product. Please write each line like: 12 x NW-011",
                f"我看不懂「{words}」。请按「数量 + 货号」写每一行，例如：NW-011 x 12",
            )
        if not self.lines:
            return ("Which products, and how many? For example: 12 x NW-011", "请问是什么商品、多少？例如：NW-011 x 12")
        if missing := [line for line in self.lines if not line.quantity]:
            what = missing[0].product.sku or missing[0].product.name
            return (f"How many of {what}?", f"请问 {what} 要多少？")
        return None

    def resolved(self, known: Known) -> list[JsonObject] | Step:
        """The lines as arguments, names turned into SKUs; or the step that leads there."""
        if question := self.question():
            return known.say(*question)
        return arguments_of(self.lines, known)


def arguments_of(lines: Sequence[Line], known: Known) -> list[JsonObject] | Step:
    """Lines as arguments, one search after the other for those that were given by name."""
    found: list[JsonObject] = []
    for line in lines:
        sku = resolve(line.product, known)
        if not isinstance(sku, str):
            return sku
        found.append({"sku": sku, "quantity": line.quantity or 0})
    return found


def cut(text: str, span: tuple[int, int] | None) -> str:
    """The span as a gap of the same length, which also parts two lines."""
    return text if span is None else text[: span[0]] + "," * (span[1] - span[0]) + text[span[1] :]


def read_lines(raw: str, text: str, *, alone: bool = False) -> Lines:
    """Order lines in ``text`` (folded; ``raw`` is the same as typed), and the words that are none.

    ``alone``: a product may stand without a quantity, by name too.
    """
    each = _EACH.search(text)
    common = quantity(each["q"] or each["z"]) if each else None
    if each:
        raw, text = cut(raw, each.span()), cut(text, each.span())
    lines: list[Line] = []
    unclear: list[str] = []
    for start, end in _items(text):
        item = _line(raw[start:end], text[start:end], common, alone=alone)
        if isinstance(item, Line):
            lines.append(item)
        elif item:
            unclear.append(item)
    return Lines(tuple(lines), tuple(unclear))


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


def _line(raw: str, text: str, common: Quantity | None, *, alone: bool) -> Line | str:
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
        numbers = re.findall(QUANTITY, rest)
        if len(numbers) > 1:  # "12 NW-011 less 10 %": what the second number means is not ours to guess
            return raw.strip()
        return Line(Product(sku=codes[0][2]), quantity(numbers[0]) if numbers else common)
    found = _FIRST.match(text) or _LAST.match(text)
    product = product_in(raw[slice(*found.span("p"))], found["p"]) if found else None
    if found and product:
        return Line(product, quantity(found["q"]))
    named = product_in(raw, text) if common or alone else None
    return Line(named, common) if named else raw.strip()
