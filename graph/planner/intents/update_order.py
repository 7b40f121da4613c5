"""How people say that an order changes: its quantities, its note, its address."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from graph.planner.addresses import address
from graph.planner.entities import ORDER_ID, clean_order_id
from graph.planner.intents.order_changes import Edit, UpdateOrder
from graph.planner.intents.order_lines import read_lines
from graph.planner.intents.single import OneCall, missed, nothing_changed, told
from graph.planner.knowledge import Intent
from graph.planner.phrase import Phrase, clauses
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, POLITE_ZH, conditional, is_question
from graph.planner.steps import Call

_O: Final = rf"(?:the\s+)?(?:order\s*(?:number|no\.?)?\s*|(?=SO|\#))(?P<o>{ORDER_ID})"
_O_ZH: Final = rf"(?:订单号?|单号)?\s*(?P<o>{ORDER_ID})(?:号)?(?:订单)?"
_CHANGE: Final = r"(?:change|set|update|correct|adjust)"
_DROP_ZH: Final = r"(?:删除|删掉|去掉|移除|拿掉|减少|减掉|减去)"
_V: Final = r"(?P<v>.+)$"
_TO: Final = r"\s*(?:to|:)\s*"
_TO_ZH: Final = r"(?:改|调整|变更|修改|更新|换|设)(?:为|成|到)\s*:?\s*"
_IN_ZH: Final = r"\s*(?:里面?|中|上)?的?\s*"
_FORMS: Final[tuple[tuple[str, str], ...]] = (
    ("note", rf"^{POLITE}(?:add|put|attach|write)\s+(?:a\s+|the\s+)?note\s+(?:to|on|for)\s+{_O}\s*[:,]?\s*{_V}"),
    ("note", rf"^{POLITE}{_CHANGE}\s+(?:the\s+)?note\s+(?:of|on|for|in)\s+{_O}{_TO}{_V}"),
    (
        "ship_to",
        rf"^{POLITE}{_CHANGE}\s+(?:the\s+)?(?:\w+ |ship-to )?address\s+(?:of|for|on)\s+{_O}{_TO}{_V}",
    ),
    ("ship_to", rf"^{POLITE}(?:ship|send|deliver|redirect)\s+{_O}\s+to\s*:?\s*{_V}"),
    ("lines", rf"^{POLITE}{_CHANGE}\s+(?:the\s+)?lines\s+(?:of|in|on|for)\s+{_O}{_TO}{_V}"),
    (
        "set",
        (
            rf"^{POLITE}{_CHANGE}\s+(?:the\s+)?(?:quantity\s+(?:of|for)\s+)?(?P<p>[^,;]+?)\s+(?:in|on|of|for)\s+{_O}"
            r"\s+to\s+(?P<q>[^,;]+?)\W*$"
        ),
    ),
    ("set", rf"^{POLITE}{_CHANGE}\s+{_O}\s*[:,]\s*(?P<p>[^,;]+?)\s+to\s+(?P<q>[^,;]+?)\W*$"),
    ("add", rf"^{POLITE}add\s+(?P<l>.+?)\s+(?:to|onto|in)\s+{_O}\W*$"),
    ("drop", rf"^{POLITE}(?:remove|delete|drop|take)\s+(?P<l>.+?)\s+(?:from|off|out of)\s+{_O}\W*$"),
    (
        "note",
        rf"^{POLITE_ZH}(?:给|为)?{_O_ZH}\s*的?(?:加上?|添加|写|改|更新)?(?:一?[个条])?备注\s*(?:{_TO_ZH}|为|:)?\s*{_V}",
    ),
    (
        "ship_to",
        rf"^{POLITE_ZH}{_O_ZH}\s*的?(?:(?:收货|送货|配送|邮寄)?地址\s*{_TO_ZH}|(?:改|转)?(?:寄|送|发)到)\s*{_V}",
    ),
    ("set", rf"^{POLITE_ZH}{_O_ZH}{_IN_ZH}(?P<p>[^,;。]+?)\s*的?(?:数量)?{_TO_ZH}(?P<q>[^,;。]+?)\W*$"),
    ("add", rf"^{POLITE_ZH}(?:在|往|向|给|为)?{_O_ZH}{_IN_ZH}(?:再)?(?:增加|添加|追加|加上|加)\s*(?P<l>[^,;。]+?)\W*$"),
    (
        "drop",
        rf"^{POLITE_ZH}(?:从|在)?{_O_ZH}{_IN_ZH}(?:(?P<l>[^,;。]+?)\s*{_DROP_ZH}|{_DROP_ZH}\s*(?P<l2>[^,;。]+?))\W*$",
    ),
)
_FREE: Final = frozenset({"note", "ship_to", "lines"})
_COMMANDS: Final = tuple((kind, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for kind, pattern in _FORMS)
_MENTION: Final = (
    rf"(?i)\b(?:change|update|modify|edit|amend|add|remove)\b.*\border\s*#?\s*(?:{ORDER_ID})"
    rf"|(?:修改|更改|改|加|删).*订单\s*(?:{ORDER_ID})|订单\s*(?:{ORDER_ID}).*(?:修改|更改|改为|改成|增加|添加|删除|去掉)"
)


def _command(phrase: Phrase) -> tuple[str, re.Match[str]] | None:
    return next(((kind, m) for kind, pattern in _COMMANDS if (m := pattern.search(phrase.spoken))), None)


def _opens(clause: Phrase) -> bool:
    return _command(clause) is not None or re.search(_MENTION, clause.spoken) is not None


def _read(request: Request) -> list[Intent]:
    phrase = request.phrase
    command, rest = _first(phrase)
    if command and request.commands and not is_question(phrase) and not conditional(_behind(command[1], phrase)):
        kind, found = command
        order_id = clean_order_id(found["o"])
        return [_READERS[kind](order_id, found, request), *_further(order_id, rest, request)]
    ids = [clean_order_id(m.group()) for m in re.finditer(ORDER_ID, phrase.spoken, re.IGNORECASE)]
    note = ""
    if ids:
        note = nothing_changed(request.language, f"Add 3 NW-042 to order {ids[0]}", f"订单 {ids[0]} 加3个NW-042")
    return [OneCall(Call("get_order", {"order_id": order_id}), note) for order_id in dict.fromkeys(ids)]


def _first(phrase: Phrase) -> tuple[tuple[str, re.Match[str]] | None, list[Phrase]]:
    """The command that a segment begins with, and the clauses behind it. A note or an address takes all the rest."""
    whole = _command(phrase)
    if whole and whole[0] in _FREE:
        return whole, []
    parts = clauses(phrase)
    for count, part in enumerate(parts, start=1):
        if found := _command(phrase.part(0, part.end)):
            return found, [p.phrase for p in parts[count:]]
    return None, []


def _behind(found: re.Match[str], phrase: Phrase) -> str:
    return phrase.spoken[max(found.end("o"), found.end()) :]


def _further(order_id: str, rest: list[Phrase], request: Request) -> list[Intent]:
    """Changes that go on without naming the order: "…, and add 3 NW-001", ，去掉 NW-042."""
    found: list[Intent] = []
    for part in rest:
        words = re.sub(r"(?i)^\W*(?:and|then|also|再|并且|并|然后|同时)?\W*|\W*$", "", part.raw)
        if not words or re.fullmatch(r"(?i)please|thanks|thank you|谢谢", words):
            continue
        for form in ("{w} to order {o}", "{w} from order {o}", "change order {o}: {w}", "订单{o}{w}", "订单{o}加{w}"):
            said = Phrase.of(
                form.format(w=re.sub(r"(?i)^(?:change|set|update)\s+", "", words) if ":" in form else words, o=order_id)
            )
            if command := _command(said):
                found.append(_READERS[command[0]](order_id, command[1], replace(request, phrase=said)))
                break
        else:
            found.append(missed(words, request.language))
    return found


def _said(found: re.Match[str], name: str, request: Request) -> tuple[str, str]:
    """What a group caught: as typed, and folded."""
    span = slice(*found.span(name))
    return request.phrase.raw[span].strip(), request.phrase.text[span].strip()


def _note(order_id: str, found: re.Match[str], request: Request) -> Intent:
    return UpdateOrder(order_id, note=_said(found, "v", request)[0].strip(' "“”「」'))


def _ship_to(order_id: str, found: re.Match[str], request: Request) -> Intent:
    parts = address(_said(found, "v", request)[0])
    if parts is None:
        return ask_address(request)
    return UpdateOrder(order_id, ship_to=tuple(parts.items()))


def ask_address(request: Request) -> Intent:
    """The question for an address that could not be told apart."""
    return told(
        request.language,
        "I could not read that address. Please write: street, city, postal code, country",
        "我看不懂这个地址。请按「街道，城市，邮编，国家」写。",
    )


def _whole(order_id: str, found: re.Match[str], request: Request) -> Intent:
    wanted = read_lines(*_said(found, "v", request))
    return _asked(wanted.question(), request) or UpdateOrder(order_id, whole=wanted.lines)


def _set(order_id: str, found: re.Match[str], request: Request) -> Intent:
    (raw_p, p), (raw_q, q) = _said(found, "p", request), _said(found, "q", request)
    wanted = read_lines(f"{raw_q} x {raw_p}", f"{q} x {p}")
    return _asked(wanted.question(), request) or UpdateOrder(order_id, tuple(Edit("set", li) for li in wanted.lines))


def _add(order_id: str, found: re.Match[str], request: Request) -> Intent:
    wanted = read_lines(*_said(found, "l", request))
    return _asked(wanted.question(), request) or UpdateOrder(order_id, tuple(Edit("add", li) for li in wanted.lines))


def _drop(order_id: str, found: re.Match[str], request: Request) -> Intent:
    group = "l" if found["l"] else "l2"
    wanted = read_lines(*_said(found, group, request), alone=True)
    question = wanted.question() if wanted.unclear or not wanted.lines else None
    return _asked(question, request) or UpdateOrder(order_id, tuple(Edit("drop", li) for li in wanted.lines))


def _asked(question: tuple[str, str] | None, request: Request) -> Intent | None:
    return told(request.language, *question) if question else None


_READERS: Final[dict[str, Callable[[str, re.Match[str], Request], Intent]]] = {
    "note": _note,
    "ship_to": _ship_to,
    "lines": _whole,
    "set": _set,
    "add": _add,
    "drop": _drop,
}

FAMILY: Final = Family("update_order", _opens, _read, commands=lambda clause: _command(clause) is not None)
