"""Quantities as people write them in English and Chinese, exact: an int where whole, else a decimal string."""

import re
from decimal import Decimal
from typing import Final

from cn2an import cn2an

Quantity = int | str

_UNITS: Final = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS: Final = {w: n for n, w in enumerate(_UNITS)} | {w: 20 + 10 * n for n, w in enumerate(_TENS)} | {"a": 1, "an": 1}

DIGITS: Final = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?"
_WORD: Final = rf"\b(?:(?:{'|'.join(_TENS)})[- ](?:{'|'.join(_UNITS[1:10])})|{'|'.join(_UNITS + _TENS)})\b"
_HAN: Final = "[零〇一二两三四五六七八九十百千万俩仨]+"
_DOZEN_EN: Final = rf"(?:\bhalf (?:a )?dozen|\b(?:(?:a|an|{DIGITS}|{_WORD}) )?dozens?)\b(?: of\b)?"
_DOZEN_ZH: Final = rf"(?:半|{_HAN}|{DIGITS})\s*打(?![印破折包开])半?"
MEASURE: Final = "个|件|箱|瓶|盒|包|袋|罐|支|只|台|套|份|条|块|听|桶|公斤|千克|单位"
_HALF_ZH: Final = rf"{_HAN}(?:{MEASURE})半|半(?=\s*(?:{MEASURE}))"

QUANTITY: Final = rf"(?:{_DOZEN_EN}|{_DOZEN_ZH}|{_HALF_ZH}|(?<![0-9.]){DIGITS}|{_WORD}|{_HAN})"
"""Pattern of one quantity in folded text; give what it finds to ``quantity``."""


def quantity(text: str) -> Quantity | None:
    """The number that ``text`` says: digits, words, dozens (一打, 半打, half a dozen), halves (三个半).

    Returns:
        An int where whole, else a decimal string such as ``"2.5"``; None where it says no number.
    """
    value = _decimal(text.strip().lower())
    if value is None:
        return None
    return as_argument(value)


def as_argument(value: Decimal) -> Quantity:
    """A decimal as an argument: an int where whole, else a decimal string."""
    return int(value) if value == value.to_integral_value() else format(value.normalize(), "f")


def negative(value: Quantity) -> Quantity:
    """The same amount with its sign turned."""
    if isinstance(value, int):
        return -value
    return value[1:] if value.startswith("-") else f"-{value}"


def _decimal(text: str) -> Decimal | None:
    if "dozen" in text:
        head = re.sub(r"\s*dozens?.*$", "", text)
        return Decimal(6) if head.startswith("half") else _times(12, head or "1")
    if "打" in text:
        head, _, tail = text.partition("打")
        dozens = Decimal(6) if head == "半" else _times(12, head)
        return dozens + 6 if dozens is not None and tail == "半" else dozens
    if text.startswith("半"):
        return Decimal("0.5")
    if text.endswith("半"):
        whole = _decimal(re.sub(rf"(?:{MEASURE})?半$", "", text))
        return None if whole is None else whole + Decimal("0.5")
    return _plain(text)


def _times(factor: int, text: str) -> Decimal | None:
    value = _plain(text.strip())
    return None if value is None else value * factor


def _plain(text: str) -> Decimal | None:
    if re.fullmatch(DIGITS, text):
        return Decimal(text.replace(",", ""))
    if text in _WORDS:
        return Decimal(_WORDS[text])
    parts = re.split(r"[- ]", text)
    if len(parts) == 2 and all(p in _WORDS for p in parts):
        return Decimal(sum(_WORDS[p] for p in parts))
    if not re.fullmatch(_HAN, text):
        return None
    try:
        return Decimal(str(cn2an(text.replace("俩", "二").replace("仨", "三").replace("〇", "零"), "smart")))
    except (ValueError, KeyError, IndexError):  # cn2an lets the latter two out on malformed numerals (十二十二)
        return None
