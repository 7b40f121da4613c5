"""What "it" is: the order or product that the user named last. Only the user's own words are looked at."""

import re
from collections.abc import Sequence
from typing import Final

from graph.planner.entities import FULL_ORDER_ID, ORDER_ID, order_ids, skus
from graph.planner.phrase import fold

_IT: Final = re.compile(
    r"(?i)\b(?:it|that (?:order|one|product)|this (?:order|one|product)|the same (?:order|product))\b(?!'s| is| was)"
    r"|它|(?:这|那|该)(?:个|张|笔)?(?:订单|商品|产品)|[这那该]单"
)
_OF_PRODUCTS: Final = re.compile(r"(?i)\b(?:stock|inventory|price|cost|product)\b|库存|多少钱|价格|商品|产品")
_NAMED: Final = re.compile(
    rf"(?i)\borders?\s*(?:number|no\.?)?\s*[:#]?\s*(?:{ORDER_ID})|{FULL_ORDER_ID}|订单\s*号?\s*(?:{ORDER_ID})"
)


def resolve_references(message: str, earlier: Sequence[str]) -> str:
    """The message with its first "it" replaced by what the user named last.

    Args:
        message: the last human message.
        earlier: the human messages before it, oldest first.

    Returns:
        The message as it is where it names its own, where nothing was named before, or where several were at once.
    """
    text = fold(message)
    found = _IT.search(text)
    if found is None or skus(text) or re.search(ORDER_ID, text, re.IGNORECASE):
        return message
    wanted = skus if _OF_PRODUCTS.search(text) else _orders
    named = next((names for said in reversed(earlier) if (names := wanted(fold(said)))), [])
    if len(named) != 1:
        return message
    return f"{message[: found.start()]} {named[0]} {message[found.end() :]}".strip()


def _orders(text: str) -> list[str]:
    """Orders that were called orders: "orders in 1997" names none."""
    return list(dict.fromkeys(number for m in _NAMED.finditer(text) for number in order_ids(m.group())))
