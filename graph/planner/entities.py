"""Order numbers, SKUs, customers, warehouses and reasons in folded text."""

import re
from typing import Final

from graph.planner.phrase import Phrase

_ISO_DAY: Final = r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}(?![0-9])"
ORDER_ID: Final = (
    r"(?:(?<![0-9A-Za-z])SO\s*[0-9]{8}\s*-\s*[0-9]{4,}"
    rf"|(?<![0-9A-Za-z.-])(?<!SO )(?!{_ISO_DAY})(?:#\s?)?(?!SO\s*[0-9]{{8}})[A-Za-z]{{0,3}}[0-9]{{3,}}(?!\s*[年月天]))"
    r"(?![0-9A-Za-z])"
)
"""An order's number as people type it: in full, with stray spaces, or the number it was imported with."""

FULL_ORDER_ID: Final = r"(?:(?<![0-9A-Za-z])SO\s*[0-9]{8}\s*-\s*[0-9]{4,}|#\s?W?[0-9]{4,})(?![0-9A-Za-z])"
"""An order's number that cannot be anything else."""

SKU: Final = (
    r"(?:(?<![0-9A-Za-z-])NW\s*-?\s*[0-9]{3}"
    r"|(?<![0-9A-Za-z-])(?!SO\s*-?\s*[0-9]{8})[A-Za-z]{1,6}\s?-\s?[0-9]{2,}[A-Za-z]{0,2}"
    r"|(?<![0-9A-Za-z-])(?!SO[0-9]{8})(?=[0-9A-Za-z-]*[A-Za-z])(?=[0-9A-Za-z-]*[0-9]{2})"
    r"[0-9A-Za-z]+(?:-[0-9A-Za-z]+)*)(?![0-9A-Za-z]|-[0-9])"
)
"""A token that can only be a SKU: letters and digits together (``NW-011``, ``85123A``); stray spaces are forgiven."""

LABELLED_SKU: Final = (
    r"(?:\b(?:sku|product|item|article|part)s?\b(?:\s*(?:code|number|no\.?|id))?|货号|商品编号|商品|产品|品号|料号)"
    r"\s*[:#]?\s*(?P<labelled>[0-9A-Za-z][0-9A-Za-z._/-]*[0-9][0-9A-Za-z._/-]*(?<![._/-]))"
)
"""A SKU of digits only needs its label (``item 1151293680``)."""

_STOPPER: Final = (
    r"\s+(?:from|between|since|in|on|during|with|before|after|until|till|by|to|that|which|who|and|for|containing|of|"
    r"last|this|yesterday|today|please|pls|via|at|because|due|status|reason|note|were|are|is|was|have|has|placed|made|"
    r"over|under|still|order|orders|but|if)\b"
)
_NAME_TAIL: Final = rf"[\w.&'/ -]*?(?=\s*(?:[,;:!?。、()\"“”]|$|\.(?:\s|$))|{_STOPPER}|\s+[0-9]|\s*[\u3400-\u9fff])"
_NAME: Final = r"[^\W\d_]" + _NAME_TAIL
_LATIN_NAME: Final = r"[A-Za-z][A-Za-z0-9_.&'-]*(?: [A-Za-z][A-Za-z0-9_.&'-]*)*"
_CUSTOMER_FORMS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?i:\b(?:for|of|from|by|to|customer|client)|客户|顾客)\s*:?\s*[\"“「](?P<c>[^\"”」]+)[\"”」]",
        (
            r"(?i:\b(?:customer|client|account|buyer)\s+(?:(?:id|number|no\.?)\s*)?[:#]?\s*(?!orders?\b)"
            rf"(?P<c>[0-9]{{4,}}|{_NAME}))"
        ),
        rf"(?:客户|顾客|会员)\s*(?:编号|名称|名)?\s*[:是为]?\s*(?P<c>[0-9]{{4,}}|{_LATIN_NAME})",
        r"(?<![0-9A-Za-z_-])(?P<c>[A-Z]{5}|[a-z]+_[a-z]+_[0-9]{3,})(?![0-9A-Za-z_])",
        rf"\b(?i:for|of|from|by|to)\s+(?P<c>[A-ZÀ-Þ](?i:{_NAME_TAIL}))",
        rf"(?:给|为|替|帮)\s*(?P<c>{_LATIN_NAME})",
        r"\bfor\s+(?P<c>[a-z]{5})\s*(?:[:.,!?]|$)",
    )
)
"""Ways to name a customer, surest first: quoted, labelled, by code, by a capitalised name after a preposition."""


def order_ids(text: str) -> list[str]:
    """The order numbers in ``text``, in order, each once, cleaned."""
    return list(dict.fromkeys(clean_order_id(m.group()) for m in re.finditer(ORDER_ID, text, re.IGNORECASE)))


def clean_order_id(token: str) -> str:
    """An order number without what people add (``so 19980506 - 11074``, ``#11074``); ``#W237`` keeps its own ``#``."""
    bare = re.sub(r"\s+", "", token)
    if bare[:2].lower() == "so":
        return bare.upper()
    return bare[1:] if re.fullmatch(r"#[0-9]+", bare) else bare


def skus(text: str) -> list[str]:
    """The SKUs in ``text``, in order, each once."""
    return list(dict.fromkeys(sku for _, _, sku in sku_spans(text)))


def sku_spans(text: str) -> list[tuple[int, int, str]]:
    """Start, end and value of each SKU in ``text``."""
    found = [(m.start(), m.end(), m.group("labelled")) for m in re.finditer(LABELLED_SKU, text, re.IGNORECASE)]
    for m in re.finditer(SKU, text, re.IGNORECASE | re.ASCII):
        if not any(s < m.end() and m.start() < e for s, e, _ in found) and not _is_count(m.group()):
            found.append((m.start(), m.end(), m.group()))
    return [(s, e, clean_sku(v)) for s, e, v in sorted(found)]


def clean_sku(token: str) -> str:
    """A SKU without stray spaces; the default data's ``nw 011`` is ``NW-011``. Otherwise as typed."""
    bare = re.sub(r"\s*-\s*|\s+", lambda m: "-" if "-" in m.group() else "", token.strip())
    northwind = re.fullmatch(r"NW-?([0-9]{3})", bare, re.IGNORECASE)
    return f"NW-{northwind[1]}" if northwind else bare


def _is_count(token: str) -> bool:
    """``10x`` and ``x10`` are quantities, ``2nd`` and ``30days`` are words, ``C536379``-like codes are not."""
    return re.fullmatch(r"(?i:x[0-9]+|[0-9]+(?:x|st|nd|rd|th|pcs|units?|days?|kg))", token) is not None


def customer(phrase: Phrase) -> str | None:
    """The customer that is named: by label, by a code, after ``for``/``of``, with ``'s``, or in Chinese."""
    span = customer_span(phrase)
    return phrase.raw[span[0] : span[1]].strip(" \"'“”「」") if span else None


def customer_span(phrase: Phrase) -> tuple[int, int] | None:
    """Where the customer's id or name stands, without its label."""
    for form in _CUSTOMER_FORMS:
        for found in form.finditer(phrase.text):
            if not skus(found.group("c")) and not re.match(r"(?i:so)?[0-9]{8}", found.group("c")):
                return found.span("c")
    return None


WAREHOUSE: Final = (
    r"\b(?:in|at|from|to|into|of|for)?\s*(?:the\s+)?warehouse\s+[\"“]?(?P<w1>[A-Za-z0-9_-]+)[\"”]?"
    r"|\b(?:in|at|from|to|into)\s+(?:the\s+)?(?P<w2>[A-Z][A-Z0-9_-]{2,})(?:\s+warehouse)?\b(?!\s+stock)"
    r"|(?:仓库|仓)\s*[:]?\s*(?P<w3>[A-Za-z][A-Za-z0-9_-]*)|(?P<w4>[A-Z][A-Za-z0-9_-]*)\s*(?:仓库|仓)"
)


def warehouse_span(text: str) -> tuple[int, int, str] | None:
    """Start, end and code of the warehouse that is named, or None."""
    for found in re.finditer(WAREHOUSE, text):
        code = next(g for g in found.groups() if g)
        if not skus(code):
            return found.start(), found.end(), code
    return None


_REASON_LEAD: Final = (
    r"(?i:[\s,;:.!?、。()\ufffc-]|\b(?:because(?: of)?|since|as|due to|for the reason|the reason is|reason is|reason|"
    r"on account of|instead|please|pls|thanks|thank you|and)\b:?"
    r"|因为|由于|原因[是为]?|理由[是为]?|谢谢|了(?=[,。;]|$)|吧|掉|并且|并|然后|同时|请)*"
)
_REASON_TAIL: Final = (
    r"(?i)[\s,，.。;；!！]*(?:\b(?:and|then|also|but|please|pls|thanks|thank you|thx)|谢谢|并|然后|同时)?"
    r"[\s,，.。;；!！]*$"
)


def reason_in(phrase: Phrase) -> str:
    """The user's reason in what is left of a command: without lead-in, closing marks and thanks; "" where none is."""
    lead = re.match(_REASON_LEAD, phrase.text)
    start = lead.end() if lead else 0
    raw = phrase.raw[start:].strip()
    raw = re.sub(_REASON_TAIL, "", raw)
    return re.sub(r"\s+", " ", raw).strip('"“”「」()（） ')
