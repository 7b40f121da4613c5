"""A customer's address, telephone number or e-mail address."""

import re
from typing import Final

from graph.planner.addresses import address
from graph.planner.intents.single import OneCall, told
from graph.planner.intents.update_order import ask_address
from graph.planner.knowledge import Intent
from graph.planner.phrase import Phrase
from graph.planner.request import Family, Request
from graph.planner.speech import POLITE, POLITE_ZH, is_question
from graph.planner.steps import Call

_FIELD: Final = (
    r"(?P<f>(?:e-?mail|phone|telephone|mobile|postal|billing)?\s*(?:address|number)|phone|telephone|mobile|e-?mail)"
)
_FIELD_ZH: Final = r"(?P<f>电话号码|电话|手机号码|手机号|手机|邮箱地址|邮箱|电子邮件|邮件地址|收货地址|地址)"
_CHANGE: Final = r"(?:change|set|update|correct)"
_WHO: Final = r"(?:the\s+)?(?:customer\s+|client\s+)?(?P<c>[^,;:]+?)"
_COMMANDS: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"^{POLITE}{_CHANGE}\s+(?:the\s+)?{_FIELD}\s+(?:of|for)\s+{_WHO}\s+(?:to|:)\s*:?\s*(?P<v>.+)$",
        rf"^{POLITE}{_CHANGE}\s+{_WHO}'s?\s+{_FIELD}\s+(?:to|:)\s*:?\s*(?P<v>.+)$",
        rf"^{POLITE}{_WHO}\s+(?:has |have )?(?P<f>moved)\s+to\s+(?P<v>.+)$",
        rf"^{POLITE_ZH}(?:客户|顾客)?\s*(?P<c>[A-Za-z0-9][^,;:的]*?)\s*(?P<f>搬家|搬)了?\W*(?:新?地址(?:是|为|:))?\s*(?P<v>.+)$",
        rf"^{POLITE}{_CHANGE}\s+(?:the\s+)?(?:customer|client)\s+(?P<c>[^,;:]+?)\s*[:,]\s*{_FIELD}\s*(?:to|:|=)?\s*(?P<v>.+)$",
        (
            rf"^{POLITE_ZH}(?:客户|顾客)?\s*(?P<c>[A-Za-z0-9][^,;:的]*?)\s*的\s*{_FIELD_ZH}\s*"
            r"(?:改|更新|变更|修改|设|换|更改)(?:为|成|到)\s*:?\s*(?P<v>.+)$"
        ),
        rf"^{POLITE_ZH}(?:更新|修改|更改)\s*(?:客户|顾客)?\s*(?P<c>[A-Za-z0-9][^,;:的]*?)\s*的\s*{_FIELD_ZH}\s*(?:为|成|到|:)\s*:?\s*(?P<v>.+)$",
    )
)
_MENTION: Final = (
    rf"(?i)\b{_CHANGE}\b.*\b(?:e-?mail|phone|telephone|address)\b|(?:修改|更改|更新|改).*(?:电话|手机|邮箱|地址)"
)


def _command(phrase: Phrase) -> re.Match[str] | None:
    return next((m for pattern in _COMMANDS if (m := pattern.search(phrase.spoken))), None)


def _opens(clause: Phrase) -> bool:
    if re.search(r"(?i)\border\b|订单", clause.spoken):
        return False
    if re.search("[\u3400-\u9fff]", clause.spoken) and re.search("搬家?了", clause.spoken):
        return True
    return _command(clause) is not None or re.search(_MENTION, clause.spoken) is not None


def _read(request: Request) -> list[Intent]:
    found = _command(request.phrase)
    if found is None or not request.commands or is_question(request.phrase):
        return [
            told(
                request.language,
                "I have changed nothing. To do it, say for example: Change the phone of ALFKI to +49 30 0074321",
                "我没有做任何更改。要更改，请说，例如：「把客户 ALFKI 的电话改为 +49 30 0074321」",
            )
        ]
    who = request.phrase.raw[slice(*found.span("c"))].strip(' "“”「」')
    value = re.sub(
        r"(?i)[\s.。!！,，;；]*(?:\b(?:please|thanks|thank you)|谢谢)?[\s.。!！,，;；]*$",
        "",
        request.phrase.raw[slice(*found.span("v"))],
    )
    return [_change(who, found["f"].lower(), value.strip(' "“”「」'), request)]


def _change(who: str, field: str, value: str, request: Request) -> Intent:
    if re.search("mail|邮箱|邮件", field):
        return OneCall(Call("update_customer", {"customer": who, "email": value}))
    if re.search("phone|mobile|number|电话|手机", field):
        return OneCall(Call("update_customer", {"customer": who, "phone": value}))
    parts = address(value)
    return OneCall(Call("update_customer", {"customer": who, "address": parts})) if parts else ask_address(request)


FAMILY: Final = Family("update_customer", _opens, _read, commands=lambda clause: _command(clause) is not None)
