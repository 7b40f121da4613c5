"""Postal addresses as they are kept and compared: field by field, with what is empty left out."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from erp_mcp.contract import Change, JsonObject

FIELDS: Final = ("line1", "line2", "city", "region", "postal_code", "country")
REQUIRED: Final = ("line1", "city", "country")
"""Without these no tool takes an address, so one that lacks them cannot be put back by a tool."""


def filled(address: Mapping[str, Any]) -> JsonObject:
    """An address as it is kept."""
    return {name: address[name] for name in FIELDS if address.get(name)}


def address_changes(target: str, label: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """Each field that differs.

    Args:
        target: whose address it is.
        label: what it is called there, for example ``ship to``.
        before: as kept.
        after: as it would be kept.
    """
    for name in FIELDS:
        old, new = before.get(name) or "", after.get(name) or ""
        if old != new:
            yield Change(target=target, field=f"{label}, {name.replace('_', ' ')}", before=old, after=new)


def can_be_given(address: Mapping[str, Any]) -> bool:
    """Whether a tool would take this address as an argument."""
    return all(address.get(name) for name in REQUIRED)
