"""Days and periods as people write them, in English and Chinese, counted from a given today.

A day without a year is the latest such day that is not in the future. Weeks begin on Monday. Anything that could be
read two ways (06/05/1998) is not a date here.
"""

import calendar
import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from graph.planner.numerals import quantity

_MONTHS: Final = (
    {m.lower(): n for n, m in enumerate(calendar.month_name) if m}
    | {m.lower(): n for n, m in enumerate(calendar.month_abbr) if m}
    | {"sept": 9}
)
_MONTH: Final = rf"(?:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_NUM: Final = "[0-9零〇一二两三四五六七八九十百]+"
_ATOMS: Final = (
    r"(?P<iso>(?<![0-9])[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}(?![0-9]))",
    rf"(?P<mdy>\b{_MONTH}\s+[0-9]{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+[0-9]{{4}})?)",
    rf"(?P<dmy>\b[0-9]{{1,2}}(?:st|nd|rd|th)?(?:\s+of)?\s+{_MONTH}(?:,?\s+[0-9]{{4}})?)",
    rf"(?P<my>\b{_MONTH},?\s+[0-9]{{4}}\b|(?<![0-9])[0-9]{{4}}-[0-9]{{2}}(?![-0-9]))",
    (
        r"(?P<zh>(?:(?:[0-9]{4}|[零〇一二三四五六七八九]{4}|今|去|前)年)?\s*"
        r"(?:[0-9]{1,2}|十[一二]?|[一二三四五六七八九])月份?"
        r"(?:\s*(?:[0-9]{1,2}|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])[日号])?)"
    ),
    (
        r"(?P<year>(?:(?<=in )|(?<=for )|(?<=since )|(?<=during )|(?<=from )|(?<=to )|(?<=of )|(?<=before )|"
        r"(?<=after ))(?:19|20)[0-9]{2}\b|(?<![0-9])(?:19|20)[0-9]{2}年)"
    ),
    r"(?P<word>\b(?:the day before yesterday|today|yesterday)\b|今天|今日|昨天|昨日|前天)",
    (
        r"(?P<span>\b(?:this|last|past|previous|current)\s+(?:week|month|quarter|year)\b"
        r"|(?:这|本|上)(?:一|个|一个)?(?:周|星期|礼拜|月|季度)|今年|去年|前年)"
    ),
    (
        r"(?P<ago>\b(?:last|past|previous)\s+(?:[0-9]+|[a-z]+)\s+(?:days?|weeks?|months?|years?)\b"
        rf"|(?:最近|过去|近)\s*{_NUM}\s*(?:个)?(?:天|日|周|星期|月|年))"
    ),
)
_ATOM: Final = re.compile("|".join(_ATOMS), re.IGNORECASE)
_BEFORE: Final = re.compile(
    r"(?i)(?:\b(?P<since>since|starting(?: from)?|as of)|\b(?P<start>from)|\b(?P<after>after)"
    r"|\b(?P<until>until|till|through|up to|by|to)|\b(?P<before>before)|\b(?:on|in|during|of|for|over|between)"
    r"|(?P<zsince>从|自)|在)\s*(?:the\s+)?$"
)
_AFTER: Final = re.compile(
    r"(?i)^\s*(?:(?P<since>以来|起|开始|之后|以后|后|on(?:wards?)?\b)|(?P<before>以前|之前|前)|(?P<until>为止|止|截止)|内|里)"
)
_NUMBERED: Final = re.compile(r"(?i).*[0-9]{1,2}\b")
"""A day with its number: "from 1 May" begins a period, "from yesterday" and "from May 1998" are one."""
_ONE: Final = timedelta(days=1)
_BETWEEN: Final = re.compile(r"(?i)^\s*(?:and|to|until|till|through|-|~|到|至|和)\s*$")


@dataclass(frozen=True)
class Period:
    """Days from ``first`` to ``last``, both included; None where that side is open."""

    first: date | None
    last: date | None

    def arguments(self) -> dict[str, str]:
        """``date_from`` and ``date_to`` as the tools take them; an open side is left out."""
        found = {"date_from": self.first, "date_to": self.last}
        return {name: day.isoformat() for name, day in found.items() if day is not None}


def period(text: str, today: date) -> tuple[Period, list[tuple[int, int]]]:
    """The period that ``text`` names, and where it stands (so that it can be blanked out). Open on both sides if none.

    ``today`` is the business day that relative words count from.
    """
    atoms = [(m.start(), m.end(), p) for m in _ATOM.finditer(text) if (p := _atom(m, today))]
    if not atoms:
        return Period(None, None), []
    start, end, first = atoms[0]
    if len(atoms) > 1 and _BETWEEN.match(text[end : atoms[1][0]]):
        return Period(first.first, atoms[1][2].last), [_grown(text, start, atoms[1][1])]
    found = _bounded(text, start, end, first)
    spans = [_grown(text, start, end)]
    for start, end, more in atoms[1:2]:
        other = _bounded(text, start, end, more)
        found = Period(found.first or other.first, found.last or other.last)
        spans.append(_grown(text, start, end))
    return found, spans


def _grown(text: str, start: int, end: int) -> tuple[int, int]:
    before, after = _BEFORE.search(text[:start]), _AFTER.match(text[end:])
    return (before.start() if before else start), end + (after.end() if after else 0)


def _bounded(text: str, start: int, end: int, named: Period) -> Period:
    found = (_BEFORE.search(text[:start]), _AFTER.match(text[end:]))
    said = {name for m in found if m for name, value in m.groupdict().items() if value}
    if "before" in said:
        return Period(None, named.first - _ONE if named.first else None)
    if "after" in said:
        return Period(named.last + _ONE if named.last else None, None)
    if "until" in said:
        return Period(None, named.last)
    since = said & {"since", "zsince"} or ("start" in said and _NUMBERED.match(text[start:end]))
    return Period(named.first, None) if since else named


def _atom(found: re.Match[str], today: date) -> Period | None:
    kind = found.lastgroup or ""
    try:
        return _READERS[kind](found.group().strip().lower(), today)
    except (ValueError, OverflowError):
        return None


def _iso(text: str, today: date) -> Period:
    return _day(*(int(part) for part in re.split(r"[-/.]", text)))


def _english(text: str, today: date) -> Period:
    month = next(_MONTHS[w] for w in re.findall("[a-z]+", text) if w in _MONTHS)
    numbers = [int(n) for n in re.findall("[0-9]+", text)]
    year = next((n for n in numbers if n > 31), None)
    day = next((n for n in numbers if n <= 31), None)
    return _on(year, month, day, today)


def _month_year(text: str, today: date) -> Period:
    if text[0].isdigit():
        return _month(int(text[:4]), int(text[5:7]))
    return _english(text, today)


def _chinese(text: str, today: date) -> Period:
    found = re.match(r"(?:(.+?)年)?\s*(.+?)月份?\s*(?:(.+?)[日号])?$", text)
    if not found:
        raise ValueError(text)
    said, month, day = found.groups()
    relative = {"今": today.year, "去": today.year - 1, "前": today.year - 2}
    year = (relative.get(said) or _digits(said)) if said else None
    return _on(year, _number(month), _number(day) if day else None, today)


def _year(text: str, today: date) -> Period:
    year = int(text[:4])
    return Period(date(year, 1, 1), date(year, 12, 31))


def _word(text: str, today: date) -> Period:
    days = {"today": 0, "今天": 0, "今日": 0, "yesterday": 1, "昨天": 1, "昨日": 1}.get(text, 2)
    day = today - timedelta(days=days)
    return Period(day, day)


def _span(text: str, today: date) -> Period:
    if text == "前年":
        return _year(str(today.year - 2), today)
    back = 1 if re.match("last|past|previous|上|去", text) else 0
    if re.search("week|周|星期|礼拜", text):
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return Period(monday, monday + timedelta(days=6))
    if re.search("quarter|季度", text):
        number = today.year * 4 + (today.month - 1) // 3 - back
        first = date(number // 4, number % 4 * 3 + 1, 1)
        return Period(first, _month(first.year, first.month + 2).last)
    if re.search("month|月", text):
        number = today.year * 12 + today.month - 1 - back
        return _month(number // 12, number % 12 + 1)
    return _year(str(today.year - back), today)


def _ago(text: str, today: date) -> Period:
    found = re.search(
        rf"(?:last|past|previous)\s+([0-9]+|[a-z]+)\s+([a-z]+)|(?:最近|过去|近)\s*({_NUM})\s*个?(天|日|周|星期|月|年)",
        text,
    )
    if not found:
        raise ValueError(text)
    count, unit = _number(found[1] or found[3]), found[2] or found[4]
    if re.match("day|天|日", unit):
        return Period(today - timedelta(days=count - 1), today)
    if re.match("week|周|星期", unit):
        return Period(today - timedelta(days=7 * count - 1), today)
    months = today.year * 12 + today.month - 1 - count * (12 if re.match("year|年", unit) else 1)
    year, month = months // 12, months % 12 + 1
    return Period(date(year, month, min(today.day, calendar.monthrange(year, month)[1])), today)


_READERS: Final = {
    "iso": _iso,
    "mdy": _english,
    "dmy": _english,
    "my": _month_year,
    "zh": _chinese,
    "year": _year,
    "word": _word,
    "span": _span,
    "ago": _ago,
}


def _number(text: str) -> int:
    value = quantity(text)
    if not isinstance(value, int):
        raise ValueError(text)  # noqa: TRY004 - the text, not its type, is wrong
    return value


def _digits(text: str) -> int:
    return int(
        "".join(
            str("零一二三四五六七八九".index(c)) if c in "零一二三四五六七八九" else c for c in text.replace("〇", "零")
        )
    )


def _day(year: int, month: int, day: int) -> Period:
    found = date(year, month, day)
    return Period(found, found)


def _month(year: int, month: int) -> Period:
    return Period(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))


def _on(year: int | None, month: int, day: int | None, today: date) -> Period:
    """A day or a month; without a year, the latest that has begun."""
    if year is None:
        year = today.year if (month, day or 1) <= (today.month, today.day) else today.year - 1
    return _month(year, month) if day is None else _day(year, month, day)
