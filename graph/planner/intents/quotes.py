"""What quantities would cost today, and which of several products is cheapest."""

import re
from dataclasses import dataclass
from typing import Final

from graph.planner.entities import customer_span, sku_spans
from graph.planner.intents.order_lines import Lines, cut, read_lines
from graph.planner.intents.product_reference import Product, product_in, resolve
from graph.planner.intents.single import told
from graph.planner.knowledge import Intent, Known
from graph.planner.numerals import MEASURE, QUANTITY, Quantity, quantity
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, POLITE_ZH
from graph.planner.steps import Call, Step

_ASKS: Final = re.compile(
    rf"(?i)^{POLITE}(?:(?:give me |make |get |compute |calculate |i need |create )?(?:a |the |me )*(?:price )?"
    r"(?:quote|quotation)(?: me)?\b(?: for| of| on)?"
    r"|what (?:would|will|does|do|is|are)(?: the (?:price|cost) (?:of|for))?\b"
    r"|how much (?:would|will|is|are|for|do|does)\b|price (?:of|for)\b)"
    rf"|^{POLITE_ZH}(?:\ufffb|[\s,]|客户|给|为)*(?:报一?个?价|报价|询价|算一下|算算)[单]?"
)
_QUOTE: Final = r"(?i)\b(?:quote|quotation)\b|报价|询价|报一?个?价"
_COST: Final = r"(?i)\b(?:cost|costs|price|how much)\b|多少钱|价格|价钱"
_AMOUNT: Final = (
    rf"(?i)(?<![A-Za-z0-9-])(?:[0-9]+(?:\.[0-9]+)?|half a dozen|a dozen|dozen|(?:{QUANTITY})\s*(?:{MEASURE}|打))"
    r"(?![0-9-]|\s*%)"
)
_COMPARE: Final = r"(?i)\b(?:compare|comparison|cheaper|cheapest)\b|比较|对比|比一比|更便宜|最便宜|哪个便宜"
_NO_LINE: Final = (
    r"(?i)\b(?:cost|costs|price|would|today|us|me|be|come to|in total|altogether|if (?:i|we) (?:buy|order))\b"
    r"|一共|总共|要?多少钱|是?多少|价格|价钱|[吗呢要买]"
)
_NO_NAME: Final = (
    r"(?i)\b(?:compare|comparison|which|what|is|are|the|cheaper|cheapest|price|prices|of|for|or|and|with|to|between|at|"
    r"units?|pieces?|each|please|buying|buy|better|me|one|versus|vs)\b|比较|对比|比一比|更便宜|最便宜|哪个|便宜|价格|的|请|买|各|要|一下"
)


@dataclass(frozen=True)
class QuoteLines:
    """The price of lines."""

    wanted: Lines
    customer: str = ""

    def next(self, known: Known) -> Step:
        """Names become SKUs; then the quote."""
        lines = self.wanted.resolved(known)
        if not isinstance(lines, list):
            return lines
        return Call("compute_quote", {"lines": lines} | ({"customer": self.customer} if self.customer else {}))


@dataclass(frozen=True)
class Compare:
    """One quantity of several products, side by side."""

    products: tuple[Product, ...]
    quantity: Quantity

    def next(self, known: Known) -> Step:
        """Names become SKUs; then the comparison."""
        codes: list[str] = []
        for product in self.products:
            sku = resolve(product, known)
            if not isinstance(sku, str):
                return sku
            codes.append(sku)
        return Call("compare_quotes", {"skus": codes, "quantity": self.quantity})


def _without_skus(text: str) -> str:
    for start, end, _ in sku_spans(text):
        text = text[:start] + "#" * (end - start) + text[end:]
    return text


def _opens(clause: Phrase) -> bool:
    text = clause.spoken
    if re.search(_QUOTE, text):
        return True
    return re.search(_COST, text) is not None and re.search(_AMOUNT, _without_skus(text)) is not None


def _read(request: Request) -> list[Intent]:
    phrase = request.phrase
    who = customer_span(phrase)
    name = phrase.raw[who[0] : who[1]].strip(' "“”「」') if who else ""
    raw, text = cut(phrase.raw, who), cut(phrase.text, who)
    head = _ASKS.match(text.replace(",", "\ufffb") if who and who[0] < 8 else text)
    start = head.end() if head else 0
    for found in reversed(list(re.finditer(_NO_LINE, text))):
        if found.start() >= start:
            raw, text = cut(raw, found.span()), cut(text, found.span())
    return [QuoteLines(read_lines(raw[start:], text[start:]), name)]


def _opens_compare(clause: Phrase) -> bool:
    found = re.search(_COMPARE, clause.spoken)
    return found is not None and (
        len(sku_spans(clause.spoken)) != 1 or re.search("(?i)^comp|比较|对比", found.group()) is not None
    )


def _read_compare(request: Request) -> list[Intent]:
    text = request.phrase.text
    amount = re.search(_AMOUNT, _without_skus(text))
    many = quantity(re.sub(rf"\s*(?:{MEASURE})$", "", amount.group())) if amount else 1
    codes = [sku for _, _, sku in sku_spans(text)]
    products = [Product(sku=sku) for sku in dict.fromkeys(codes)] or _named(text, amount)
    if len(products) < 2 or not many:
        return [
            told(
                request.language,
                "Which products should I compare? For example: Compare NW-011 and NW-012 for 20 pieces",
                "请问要比较哪些商品？例如：比较 NW-011、NW-012 各20个的价格",
            )
        ]
    return [Compare(tuple(products), many)]


def _named(text: str, amount: re.Match[str] | None) -> list[Product]:
    rest = text if amount is None else text[: amount.start()] + " " + text[amount.end() :]
    parts = re.split(r"(?i),|、|\bor\b|\band\b|\bversus\b|\bvs\.?|\bwith\b|和|跟|与|还是", rest)
    names = [" ".join(re.sub(_NO_NAME, " ", part).split()) for part in parts]
    return [product for name in names if (product := product_in(name, name))]


QUOTE: Final = Family("compute_quote", _opens, _read, weak=True)
COMPARE: Final = Family("compare_quotes", _opens_compare, _read_compare)
