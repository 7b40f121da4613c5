"""Where an order is."""

import re
from dataclasses import dataclass
from typing import Final

from graph.planner.entities import FULL_ORDER_ID, ORDER_ID, order_ids
from graph.planner.knowledge import Intent, Known
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, READ_EN
from graph.planner.steps import Call, Step

_OPENS: Final = (
    rf"(?i)^{POLITE}(?:(?:{READ_EN}|track)\b.*\b(?:ship(?:ped|ping|ment)?|deliver(?:y|ed)|track(?:ing)?|parcel|package|carrier|"
    r"arrived?|whereabouts|on (?:its|the) way)\b|track\b|where(?:'s| is)\b.*\border\b|(?:tracking|shipping|delivery)\b)"
    r"|物流|快递|运单|发货|到哪|送到|配送|签收|运输|寄出"
)


@dataclass(frozen=True)
class Whereabouts:
    """Where one order's parcel is; from the order itself where shipping cannot be asked."""

    order_id: str

    def next(self, known: Known) -> Step:
        """One call."""
        tool = "check_shipping" if known.offers("check_shipping") else "get_order"
        return Call(tool, {"order_id": self.order_id})


def _opens(clause: Phrase) -> bool:
    text = clause.spoken
    if not re.search(ORDER_ID, text, re.IGNORECASE) or not re.search(_OPENS, text) or re.search(r"\bgoing\b", text):
        return False
    return re.search(rf"(?i)\border\b|单|{FULL_ORDER_ID}", text) is not None


def _read(request: Request) -> list[Intent]:
    return [Whereabouts(order_id) for order_id in order_ids(request.phrase.spoken)]


FAMILY: Final = Family("check_shipping", _opens, _read)
