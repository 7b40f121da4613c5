"""The one shape of every list, and its cursor: bounded pages in a stable order, nothing cut in the middle of a row."""

import base64
import hashlib
import json
from typing import Final, Generic, TypeVar

from erp_mcp.contract import JsonObject, Wire
from erp_mcp.errors import ErpError

DEFAULT_LIMIT: Final = 20

Item = TypeVar("Item")


class Page(Wire, Generic[Item]):
    """A page of a list. ``total`` counts all rows that fit; ``next_cursor`` is there while more follow."""

    items: list[Item]
    returned: int
    total: int
    next_cursor: str | None = None
    note: str


def encode_cursor(filters: JsonObject, position: list[str]) -> str:
    """An opaque cursor.

    Args:
        filters: the list's name and everything that selects or orders its rows.
        position: the sort key of the last row shown.
    """
    text = json.dumps([_mark(filters), *position])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str, filters: JsonObject, parts: int) -> list[str]:
    """The position inside a cursor.

    Args:
        cursor: as a client sent it.
        filters: of this call; they must be those that the cursor was made with.
        parts: how many texts the position has.

    Raises:
        ErpError: ``invalid_cursor``.
    """
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        raise invalid_cursor(cursor) from None
    if (
        not isinstance(values, list)
        or len(values) != parts + 1
        or not all(isinstance(v, str) and _storable(v) for v in values)
    ):
        raise invalid_cursor(cursor)
    if values[0] != _mark(filters):
        raise invalid_cursor(cursor, "belongs to a list with other filters")
    return values[1:]


def invalid_cursor(cursor: str, why: str = "was not made by this list") -> ErpError:
    """The refusal of a cursor, with the cursor's beginning in it."""
    shown = cursor[:40].encode("ascii", "backslashreplace").decode()
    hint = "Call again without cursor, then pass next_cursor unchanged and with the same filters."
    return ErpError("invalid_cursor", f"The cursor {shown!r} {why}.", hint)


def _storable(text: str) -> bool:
    """Whether both databases can compare with it: no NUL, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _mark(filters: JsonObject) -> str:
    return hashlib.sha256(json.dumps(filters, sort_keys=True).encode()).hexdigest()[:16]
