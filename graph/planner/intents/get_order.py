"""One order: what is in it, how far it is."""

import re
from typing import Final

from graph.planner.entities import FULL_ORDER_ID, ORDER_ID, order_ids, sku_spans
from graph.planner.intents.single import OneCall
from graph.planner.knowledge import Intent
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, READ_EN, READ_ZH
from graph.planner.steps import Call

_NAMED: Final = (
    rf"(?i)\border(?:'s)?\s*(?:number|no\.?|nr\.?|id)?\s*[:#]?\s*(?:{ORDER_ID})"
    rf"|(?:订单|单号)\s*(?:号|编号)?\s*[:是为#]?\s*(?:{ORDER_ID})|(?:{ORDER_ID})\s*(?:号|这个|这张)?(?:订单|这单)"
)
_READS: Final = (
    rf"(?i)^{POLITE}{READ_EN}[^0-9]*(?:{ORDER_ID})\W*(?:[a-z ]*)?$"
    rf"|^[^0-9]*{READ_ZH}[^0-9]*(?:{ORDER_ID})|(?:{ORDER_ID})[^0-9]*{READ_ZH}"
)
_BARE: Final = rf"(?i)^\W*(?:{ORDER_ID})\W*$"


def _opens(clause: Phrase) -> bool:
    text = clause.spoken
    if re.search(_NAMED, text) or re.search(FULL_ORDER_ID, text, re.IGNORECASE) or re.match(_BARE, text):
        return True
    if all(re.fullmatch("(?:19|20)[0-9]{2}", number) for number in order_ids(text)):
        return False  # "What did BONAP buy in 1997?": a year, unless it is called an order
    return re.search(_READS, text) is not None and not re.search(r"(?i)\borders\b", text) and not sku_spans(text)


def _read(request: Request) -> list[Intent]:
    return [OneCall(Call("get_order", {"order_id": order_id})) for order_id in order_ids(request.phrase.spoken)]


FAMILY: Final = Family("get_order", _opens, _read)
