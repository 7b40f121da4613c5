"""Goods that come back, and what goes out for them. Where no quantity is said, the whole line of the order is meant."""

import re
from dataclasses import dataclass
from typing import Final

from erp_mcp.contract import JsonObject
from graph.planner.entities import ORDER_ID, clean_order_id
from graph.planner.intents.cancel_order import reason_of
from graph.planner.intents.order_changes import present_lines
from graph.planner.intents.order_lines import Line, Lines, read_lines
from graph.planner.intents.product_reference import resolve
from graph.planner.intents.single import OneCall, nothing_changed, told
from graph.planner.knowledge import Intent, Known
from graph.planner.numerals import as_argument
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, POLITE_ZH, conditional, is_question
from graph.planner.steps import Call, Step

_O: Final = rf"(?:the\s+)?(?:order\s*(?:number|no\.?)?\s*)?(?P<o>{ORDER_ID})"
_O_ZH: Final = rf"(?:订单号?|单号)?\s*(?P<o>{ORDER_ID})(?:号)?(?:订单)?"
_FROM: Final = r"(?:from|of|in|on)"
_FOR: Final = r"(?:for|with|against|into|to)"
_SWAP: Final = r"(?:exchange|swap|replace)"
_BACK: Final = (
    r"(?:(?:the )?(?:customer|client) (?:wants to |would like to )?)?"
    r"(?:returns?|sends? back|takes? back|refund|send(?:s|ing)? back|returned)"
)
_ZH: Final = rf"^{POLITE_ZH}(?:客户|顾客)?(?:要求|想|要)?[把将]?\s*{_O_ZH}"
_NEW: Final = r"(?P<new>[^,;:]+?(?:\s*(?:,|\band\b)\s*[0-9]+\s*x?\s*[^,;:]+?)*)"
_END: Final = r"(?=\s*(?:[,;:.!]|$|\b(?:because|since|due|as it|as they)\b))"
_COMMANDS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^{POLITE}{_SWAP}\s+(?P<old>.+?)\s+{_FROM}\s+{_O}\s+{_FOR}\s+{_NEW}{_END}",
        rf"^{POLITE}{_SWAP}\s+(?P<old>.+?)\s+{_FOR}\s+{_NEW}\s+{_FROM}\s+{_O}",
        (
            rf"^{POLITE}{_BACK}\s+(?:(?P<all>everything|all(?: items| of it)?|the whole|all lines)\s+{_FROM}\s+"
            rf"|(?P<all2>the whole )){_O}"
        ),
        rf"^{POLITE}{_BACK}\s+(?P<old>[^;]+?)\s+{_FROM}\s+{_O}",
        rf"^{POLITE}{_BACK}\s+(?P<all>{_O})(?=\s*(?:[,;:.!]|$|\b(?:because|since|due)\b))",
        rf"{_ZH}\s*(?:里面?|中)?的?\s*(?P<old>[^,;。]+?)\s*(?:换成|更换为|换为|调换为|替换为|替换成)\s*(?P<new>[^,;。]+)",
        rf"{_ZH}\s*(?P<all>整单退货|全部退货|全部退掉|全部退回|全退|整单退)(?:了|掉)?",
        rf"{_ZH}\s*(?:里面?|中)?的?\s*(?:退货|退掉|退回|退还|退)(?P<old>[^,;。]*[0-9A-Za-z][^,;。]*)",
        rf"{_ZH}\s*(?:里面?|中)?的?\s*(?P<old>[^,;。]*[0-9A-Za-z][^,;。]*?)\s*(?:退货|退掉|退回|退还|退)(?:了|掉|货)?",
        rf"^{POLITE_ZH}(?:退货|退掉|退回|退还|退)\s*{_O_ZH}\s*(?:里面?|中)?的\s*(?P<old>[^,;。]+)",
        rf"^{POLITE_ZH}(?P<all>{_O_ZH}\s*(?:退货|退掉)|(?:退货|退掉)\s*{_O_ZH.replace('<o>', '<o2>')})(?:了|掉)?",
    )
)
_MENTION: Final = (
    rf"(?i)\b(?:return(?:ing)?|exchange|swap|refund|send back)\b.*(?:{ORDER_ID})"
    rf"|(?:{ORDER_ID}).*(?:退货|退掉|换货|换成)|(?:退货|换货).*(?:{ORDER_ID})"
)


@dataclass(frozen=True)
class RequestReturn:
    """A return: ``back`` empty means everything; ``out`` is what is sent in exchange."""

    order_id: str
    back: tuple[Line, ...]
    reason: str
    out: tuple[Line, ...] = ()

    def next(self, known: Known) -> Step:
        """The order first; then the return, with the quantities that the user left out taken from its lines."""
        look = Call("get_order", {"order_id": self.order_id})
        order = known.result(look)
        if order is None or order.error:
            return look
        present = {
            sku: as_argument(amount)
            for sku, amount in present_lines(order.body, less_returned=True).items()
            if amount > 0
        }
        back = self._back(present, known)
        if not isinstance(back, list):
            return back
        found: JsonObject = {"order_id": self.order_id, "lines": back, "reason": self.reason}
        if self.out:
            out = self._out(back, known)
            if not isinstance(out, list):
                return out
            found["exchange_for"] = out
        return Call("request_return", found)

    def _back(self, present: JsonObject, known: Known) -> list[JsonObject] | Step:
        if not self.back:
            if not present:
                return known.say(
                    f"I could not read the lines of order {self.order_id}.", f"读不到订单 {self.order_id} 的明细。"
                )
            return [{"sku": sku, "quantity": amount} for sku, amount in present.items()]
        found: list[JsonObject] = []
        for line in self.back:
            sku = resolve(line.product, known)
            if not isinstance(sku, str):
                return sku
            sku = next((have for have in present if have.casefold() == sku.casefold()), sku)
            amount = line.quantity or present.get(sku)
            if not amount:
                return known.say(f"How many of {sku} come back?", f"请问 {sku} 退多少？")
            found.append({"sku": sku, "quantity": amount})
        return found

    def _out(self, back: list[JsonObject], known: Known) -> list[JsonObject] | Step:
        found: list[JsonObject] = []
        for place, line in enumerate(self.out):
            sku = resolve(line.product, known)
            if not isinstance(sku, str):
                return sku
            same = back[place]["quantity"] if len(self.out) == len(back) else None
            amount = line.quantity or same
            if not amount:
                return known.say(f"How many of {sku} are sent instead?", f"请问换多少 {sku}？")
            found.append({"sku": sku, "quantity": amount})
        return found


def _command(phrase: Phrase) -> re.Match[str] | None:
    return next((m for pattern in _COMMANDS if (m := pattern.search(phrase.spoken))), None)


def _opens(clause: Phrase) -> bool:
    return _command(clause) is not None or re.search(_MENTION, clause.spoken) is not None


def _read(request: Request) -> list[Intent]:
    phrase = request.phrase
    found = _command(phrase)
    if found and request.commands and not is_question(phrase) and not conditional(phrase.spoken[found.end() :]):
        return [_return(found, request)]
    ids = dict.fromkeys(clean_order_id(m.group()) for m in re.finditer(ORDER_ID, phrase.spoken, re.IGNORECASE))
    example = next(iter(ids), "11074")
    note = nothing_changed(
        request.language, f"Return 2 NW-016 from order {example}, damaged", f"订单 {example} 退货 NW-016 2个，破损"
    )
    return [OneCall(Call("get_order", {"order_id": order_id}), note) for order_id in ids]


def _return(found: re.Match[str], request: Request) -> Intent:
    groups = found.groupdict()
    order_id = clean_order_id(groups.get("o") or groups.get("o2") or "")
    back, out = _lines(found, "old", request), _lines(found, "new", request)
    for lines in (back, out):
        if lines.unclear:
            return told(request.language, *(lines.question() or ("", "")))
    reason = reason_of(request.phrase.part(found.end()), request)
    everything = bool(groups.get("all") or groups.get("all2"))
    if not back.lines and not everything:
        return told(request.language, *(back.question() or ("", "")))
    return RequestReturn(order_id, back.lines, reason, out.lines)


def _lines(found: re.Match[str], name: str, request: Request) -> Lines:
    if not found.groupdict().get(name):
        return Lines(())
    span = slice(*found.span(name))
    return read_lines(request.phrase.raw[span], request.phrase.text[span], alone=True)


FAMILY: Final = Family("request_return", _opens, _read, commands=lambda clause: _command(clause) is not None)
