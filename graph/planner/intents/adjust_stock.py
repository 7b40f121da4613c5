"""Corrections of stock: take some out, put some in, or set what was counted (which needs the present stock first)."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from graph.planner.answers.shapes import on_hand
from graph.planner.entities import sku_spans, warehouse_span
from graph.planner.intents.cancel_order import reason_of
from graph.planner.intents.order_lines import read_lines
from graph.planner.intents.product_reference import Product, product_in, resolve
from graph.planner.intents.single import told
from graph.planner.intents.stock import Stock
from graph.planner.knowledge import Intent, Known
from graph.planner.numerals import DIGITS, MEASURE, QUANTITY, Quantity, as_argument, negative, quantity
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, POLITE_ZH, conditional, hedged, is_question, negated_zh
from graph.planner.steps import Call, Step

_STOCK: Final = r"(?:stock|inventory|stock level|on[- ]hand(?: quantity)?)"
_DOWN: Final = (
    r"(?:take(?: out| away)?|remove|deduct|subtract|write[- ]?off|pull|discard|scrap|decrease|reduce|lower|dispose of|"
    r"minus)"
)
_UP: Final = r"(?:add|put(?: back)?|increase|receive|book in|restock|raise|return|plus)"
_SET: Final = r"(?:set|correct|change|adjust|update|fix)"
_UNIT: Final = r"(?:\s*(?:x|×|\*|units?|pieces?|pcs|items?|boxes|box|cases|bottles)\b)?(?:\s*of)?(?:\s+the)?"
_SIGNED: Final = rf"(?P<sign>[+-]\s?)?(?P<q>{QUANTITY})"
_END: Final = r"(?=\s*(?:[,;:.!()]|\s-|$|\b(?:because|since|due|as|for|they|it|reason)\b))"
_PLACE: Final = rf"\s+(?:out of|from|off|to|into|in|onto|back (?:in)?to)\s+(?:the\s+|our\s+)?(?:{_STOCK}|shel(?:f|ves))"
_P: Final = r"(?P<p>[^,;:!?]+?)"
_ENGLISH: Final = tuple(
    re.compile(rf"^{POLITE}(?:(?P<down>{_DOWN})|(?P<up>{_UP})|(?P<set>{_SET}))\s+{shape}", re.IGNORECASE)
    for shape in (
        rf"{_SIGNED}{_UNIT}\s+{_P}{_PLACE}\b",
        rf"(?:the\s+)?{_STOCK}\s+(?:of|for)\s+{_P}\s+(?P<how>by|to)\s+{_SIGNED}{_UNIT}",
        rf"(?:the\s+)?{_P}(?:'s)?\s+(?:{_STOCK}\s+)?(?P<how>by|to)\s+{_SIGNED}{_UNIT}{_END}",
        rf"{_SIGNED}{_UNIT}\s+(?:to|from|for|into|off|out of)\s+(?:the\s+)?(?:{_STOCK}\s+(?:of|for)\s+)?{_P}{_END}",
        rf"{_SIGNED}{_UNIT}\s+(?P<p>\S*[0-9]\S*?){_END}",
        rf"(?:the\s+)?(?:{_STOCK}\s+(?:of|for)\s+)?(?P<p>\S*[0-9]\S*)(?:\s+{_STOCK})?\s+(?:by\s+)?{_SIGNED}",
    )
)
_TO_PRODUCT: Final = _ENGLISH[3]
"""The shape "add 20 to NW-011": what is added to a product is stock."""
_GONE: Final = r"(?i)write|discard|scrap|dispose"
_DOWN_ZH: Final = r"减少|减去|减掉|扣减|扣除|扣掉|扣|报废|报损|出库(?!记录|历史)|移除|拿走|拿掉|取出|去掉|下调|减"
_UP_ZH: Final = r"增加|添加|(?<!出)入库(?!记录|历史)|补货|补充|加上|上调|放入|加|补"
_SET_ZH: Final = r"调整为|调整到|调整成|调为|调到|改为|改成|设为|设置为|设成|修正为|更正为|盘点为|更新为|调整"
_CHINESE: Final = re.compile(rf"(?P<down>{_DOWN_ZH})|(?P<up>{_UP_ZH})|(?P<set>{_SET_ZH})")
_ROOM_ZH: Final = (
    rf"(?:库存量|库存|存货|数量|仓库|从|给|将|把|中|里|的|在|了|各|和|跟|与|及|商品|产品|{MEASURE}|为|到|[\s:x×*、,])*"
)
MOST_STRANGE: Final = 4
"""Characters before a Chinese verb that mean nothing to the grammar (盘点后) and still leave it a command."""
_MENTION: Final = rf"(?i)\b(?:{_DOWN}|{_UP}|{_SET}|adjust\w*)\b.*\b{_STOCK}\b|\b{_STOCK}\b.*\b(?:by|to)\s+[+-]?{DIGITS}"


@dataclass(frozen=True)
class AdjustStock:
    """Change the stock of a product by ``delta``, or, where ``counted``, to it."""

    product: Product
    delta: Quantity
    reason: str
    warehouse: str = ""
    counted: bool = False

    def next(self, known: Known) -> Step:
        """The SKU, where a count was given the present stock, then the adjustment."""
        sku = resolve(self.product, known)
        if not isinstance(sku, str):
            return sku
        place = {"warehouse": self.warehouse} if self.warehouse else {}
        delta = self.delta
        if self.counted:
            look = Call("get_stock", {"sku": sku} | place)
            if not known.offers("get_stock"):
                return known.say(
                    "Please say by how many the stock changes, for example: add 5", "请说明增减多少，例如：增加5个"
                )
            stock = known.result(look)
            if stock is None or stock.error:
                return look
            present = on_hand(stock.body, self.warehouse)
            if present is None:
                return known.say(f"In which warehouse was {sku} counted?", f"请问 {sku} 是在哪个仓库盘点的？")
            found = as_argument(Decimal(str(self.delta)) - present)
            if found == 0:
                return known.say(
                    f"{sku} already has {self.delta} on hand; nothing to change.",
                    f"{sku} 现有库存已是 {self.delta}，无需调整。",
                )
            delta = found
        return Call("adjust_stock", {"sku": sku, "delta": delta, "reason": self.reason} | place)


def _opens(clause: Phrase) -> bool:
    text = clause.spoken
    if re.search(r"(?i)\border\s+#?(?:SO)?[0-9]|\borders\b|订单", text):
        return False
    if _english(text) or re.search(_MENTION, text):
        return True
    found = _CHINESE.search(text)
    return (
        found is not None
        and re.search("库存|入库|出库|报废|报损|补货|盘点|NW-", text) is not None
        and _amount_zh(text) is not None
    )


def _english(text: str) -> re.Match[str] | None:
    return next((m for pattern in _ENGLISH if (m := pattern.search(text)) and _is_adjustment(m)), None)


def _is_adjustment(found: re.Match[str]) -> bool:
    """Whether a match speaks of stock: "set NW-011 to 5" and "add 3 NW-042" could mean anything, an order too."""
    how, signed = found.groupdict().get("how"), bool(found["sign"])
    if re.search(rf"(?i)\b{_STOCK}\b|shelf|shelves", found.string):
        return not found["set"] or how is not None or signed
    if not sku_spans(found["p"]) and not re.fullmatch("[0-9]{4,}", found["p"]):
        return False
    if found["set"]:
        return how == "by" or signed
    return how is not None or found.re is _TO_PRODUCT or re.match(_GONE, found["down"] or "") is not None


def _commands(clause: Phrase) -> bool:
    return _english(clause.spoken) is not None or (_CHINESE.search(clause.spoken) is not None and _opens(clause))


def _read(request: Request) -> list[Intent]:
    phrase = request.phrase
    found = _english(phrase.spoken)
    if found:
        told_to = request.commands and not is_question(phrase) and not conditional(phrase.spoken[found.end() :])
        return (_english_intents(found, request) if told_to else []) or _mentioned(request)
    return _chinese(request) or _mentioned(request)


def _english_intents(found: re.Match[str], request: Request) -> list[Intent]:
    """One adjustment per product: "take 2 of NW-011 and 3 of NW-042 out of stock". None where a part is unclear."""
    raw, text = (s[slice(*found.span("p"))] for s in (request.phrase.raw, request.phrase.text))
    how, sign = found.groupdict().get("how"), (found["sign"] or "").strip()
    amount = quantity(found["q"])
    if how is None:
        raw, text = f"{found['q']} x {raw}", f"{found['q']} x {text}"
    wanted = read_lines(raw, text, alone=how is not None)
    if amount is None or wanted.unclear or hedged(text) or not all(how or line.quantity for line in wanted.lines):
        return []
    rest = request.phrase.part(found.end())
    place = warehouse_span(rest.text) or warehouse_span(found["p"])
    if place and place[2] in rest.text:
        rest = rest.without([place[:2]])
    down = bool(found["down"]) != (sign == "-")
    reason = reason_of(rest, request)
    return [
        AdjustStock(
            line.product, _signed(line.quantity or amount, down=down and how != "to"), reason,
            place[2] if place else "", counted=how == "to",
        )
        for line in wanted.lines
    ]  # fmt: skip


def _signed(amount: Quantity, *, down: bool) -> Quantity:
    return negative(amount) if down else amount


def _amount_zh(text: str) -> re.Match[str] | None:
    """The first quantity outside SKUs and outside warehouse codes, sign and measure word with it."""
    blanked = list(text)
    for start, end, _ in sku_spans(text):
        blanked[start:end] = "#" * (end - start)
    return re.search(rf"(?P<sign>[+-]\s*)?(?P<q>{QUANTITY})\s*(?:{MEASURE})?", "".join(blanked))


def _chinese(request: Request) -> list[Intent]:
    phrase = request.phrase
    verbs, amount = list(_CHINESE.finditer(phrase.spoken)), _amount_zh(phrase.spoken)
    value = quantity(amount["q"]) if amount else None
    if not verbs or not amount or value is None or not request.commands or is_question(phrase):
        return []
    verb = verbs[0]
    codes = [code for code in sku_spans(phrase.text) if code[0] < max(verb.end(), amount.end()) + 3]
    end = max([verb.end(), amount.end(), *[e for _, e, _ in codes]])
    if negated_zh(phrase.spoken[: verb.start()]) or conditional(phrase.spoken[end:]):
        return []
    if phrase.spoken[verb.end() :].startswith("了") and not re.search("[把将请帮]", phrase.spoken[: verb.start()]):
        return []  # 库存减少了5个 tells what happened
    if verb["set"] == "调整" and not amount["sign"]:
        return []  # neither "to" nor a sign: 调整5个 does not say which way
    products = [Product(sku=sku) for _, _, sku in codes] or _named_zh(phrase.part(0, end), verb, amount)
    strange = re.sub(
        _ROOM_ZH, "", re.sub(r"[0-9A-Za-z_-]+", "", re.sub(rf"^{POLITE_ZH}", "", phrase.text[: verb.start()]))
    )
    if not products or (codes and len(strange) > MOST_STRANGE) or (len(codes) > 1 and len(verbs) > 1):
        return []
    place = warehouse_span(phrase.text)
    down = bool(verb["down"]) != ((amount["sign"] or "").strip() == "-")
    counted = bool(verb["set"]) and not amount["sign"]
    behind = re.match(r"\s*(?:的?库存|存货|的)*", phrase.text[end:])
    reason = reason_of(phrase.part(end + (behind.end() if behind else 0)), request)
    delta = _signed(value, down=down and not counted)
    return [AdjustStock(product, delta, reason, place[2] if place else "", counted) for product in products]


def _named_zh(core: Phrase, verb: re.Match[str], amount: re.Match[str]) -> list[Product]:
    cut = sorted([verb.span(), amount.span()], reverse=True)
    raw = core.raw
    for start, end in cut:
        raw = raw[:start] + " " + raw[end:]
    raw = re.sub(rf"^{POLITE_ZH}|库存量|库存|存货|数量|仓库|从|[的中里了]", " ", raw)
    name = " ".join(raw.split())
    product = product_in(name, name)
    return [product] if product else []


def _mentioned(request: Request) -> list[Intent]:
    codes = sku_spans(request.phrase.text)
    if codes:
        return [Stock(Product(sku=codes[0][2]))]
    return [
        told(
            request.language,
            "I have changed nothing. To adjust stock, say for example: Take 5 of NW-011 out of stock, broken",
            "我没有做任何更改。要调整库存，请说，例如：「NW-011 库存减少5个，破损」",
        )
    ]


FAMILY: Final = Family("adjust_stock", _opens, _read, commands=_commands)
