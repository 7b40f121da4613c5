"""Postal addresses as people write them, in the parts that the tools take. What is unclear is not guessed."""

import re
from typing import Final

from graph.planner.phrase import fold

_LABELS: Final = {
    "line1": r"line ?1|street|street and number|街道|地址",
    "line2": r"line ?2|apartment|房间",
    "city": r"city|town|城市|市",
    "region": r"region|state|province|省份?|州",
    "postal_code": r"postal[ _]?code|post ?code|zip(?: ?code)?|邮编|邮政编码",
    "country": r"country|国家",
}
_POSTAL: Final = (
    r"(?:[A-Z]{1,2}[0-9][0-9A-Z]?\s?[0-9][A-Z]{2}|(?:[A-Z]{1,2}-)?[0-9]{4,6}(?:-[0-9]{3,4})?"
    r"|[A-Z][0-9][A-Z]\s?[0-9][A-Z][0-9])"
)
_SECOND: Final = r"(?i)(?:apt|apartment|suite|unit|flat|floor|building|room|#)\b.*|.*(?:室|楼|号楼|单元)"


def address(raw: str) -> dict[str, str] | None:
    """The parts of an address in one line; None where street, city and country cannot be told apart.

    Labels (``street: …, city: …, country: …``) are taken as they are. Otherwise commas part street, city (with postal
    code or region) and country, in this order: ``Obere Str. 57, 12209 Berlin, Germany``.
    """
    parts = [part.strip(' .;。；"“”') for part in re.split(r"[,，;；\n]", raw)]
    parts = [part for part in parts if part]
    return _labelled(parts) or _ordered(parts)


def _labelled(parts: list[str]) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for part in parts:
        label, colon, _ = fold(part).partition(":")
        name = next((n for n, p in _LABELS.items() if re.fullmatch(rf"(?i)\s*(?:{p})\s*", label)), None)
        if not colon or name is None:
            return None
        found[name] = part[len(label) + 1 :].strip()
    return found if {"line1", "city", "country"} <= found.keys() else None


def _ordered(parts: list[str]) -> dict[str, str] | None:
    if len(parts) < 3:
        return None
    found = {"line1": parts[0], "country": parts[-1]}
    if re.search("[0-9]", parts[-1]):
        return None
    for part in parts[1:-1]:
        for name, value in _middle(part, has_city="city" in found).items():
            if name in found:
                return None
            found[name] = value
    return found if "city" in found else None


def _middle(part: str, *, has_city: bool) -> dict[str, str]:
    """What one part between street and country says."""
    text = fold(part)
    if re.fullmatch(_POSTAL, text):
        return {"postal_code": part}
    if re.fullmatch(_SECOND, text) and not has_city:
        return {"line2": part}
    name = "region" if has_city else "city"
    if found := re.fullmatch(rf"(?P<code>{_POSTAL})\s+(?P<name>\D+)|(?P<name2>\D+?)\s+(?P<code2>{_POSTAL})", text):
        code, said = ("code", "name") if found["code"] else ("code2", "name2")
        return {name: part[slice(*found.span(said))], "postal_code": part[slice(*found.span(code))]}
    return {name: part}
