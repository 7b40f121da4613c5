"""How much of a product there is."""

import re
from dataclasses import dataclass
from typing import Final

from graph.planner.entities import sku_spans, warehouse_span
from graph.planner.intents.product_reference import Product, product_in, resolve
from graph.planner.intents.single import told
from graph.planner.knowledge import Intent, Known
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, READ_EN
from graph.planner.steps import Call, Step

_OPENS: Final = (
    rf"(?i)^{POLITE}(?:{READ_EN}).*\b(?:stock|inventory|on hand|available|availability|(?:are|is) left|do we have|"
    r"have we got|warehouse|reserved)\b"
    r"|^(?:and |the )*(?:current )?(?:stock|inventory|availability)(?: level)? (?:of|for)\b"
    r"|^[\w' -]+ (?:stock|inventory)(?: level)?\W*$"
    r"|库存|存货|现货|有货|还有多少|还剩多少|剩多少|剩余|缺货吗|够不够|占用|预留"
)
_FILLER: Final = (
    rf"(?i)^{POLITE}|\b(?:how|much|many|what(?:'s| is)?|show|check|tell|get|give|list|look|up|me|is|are|"
    r"do|does|have|has|we|you|i|there|any|still|currently|now|units?|pieces?|of|for|the|in|on|our|current|stock|inventory|levels?|left|"
    r"hand|available|availability|got|right|at|with|status|quantity|amount|enough|and|also|then|please)\b"
    r"|请问|请|帮我|麻烦|查询|查看|查一下|查下|查|看一下|看看|看|告诉我|目前|现在|当前|有没有|还有|剩余|剩下|剩|多少|几个|情况|"
    r"库存量|库存|存货|现货|数量|仓库|商品|产品|可用|我们|一下|[还有几个件箱瓶货在里中的是吗呢么和能缺]"
)


@dataclass(frozen=True)
class Stock:
    """The stock of a product, in one warehouse or in all."""

    product: Product
    warehouse: str = ""

    def next(self, known: Known) -> Step:
        """The SKU first, then its stock."""
        sku = resolve(self.product, known)
        if not isinstance(sku, str):
            return sku
        return Call("get_stock", {"sku": sku} | ({"warehouse": self.warehouse} if self.warehouse else {}))


def _opens(clause: Phrase) -> bool:
    return re.search(_OPENS, clause.spoken) is not None


def _read(request: Request) -> list[Intent]:
    text = request.phrase.text
    place = warehouse_span(text)
    warehouse = place[2] if place else ""
    codes = [sku for _, _, sku in sku_spans(text)]
    if codes:
        return [Stock(Product(sku=sku), warehouse) for sku in dict.fromkeys(codes)]
    rest = text[: place[0]] + "," + text[place[1] :] if place else text
    name = re.sub(r"\s+", " ", re.sub(_FILLER, " ", rest)).strip(" '")
    product = product_in(name, name)
    if product:
        return [Stock(product, warehouse)]
    return [
        told(
            request.language,
            "Stock of which product? Please give its SKU, for example NW-011.",
            "请问要查哪个商品的库存？请给出货号，例如 NW-011。",
        )
    ]


FAMILY: Final = Family("get_stock", _opens, _read)
