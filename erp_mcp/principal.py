"""Who asks at the ERP's door, and what they may: by the process boundary, or by a token."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

PERSONAL: Final = "personal:read"
"""The scope with which personal data of people is shown; without it those fields are left out."""
DECIDE: Final = "approvals:decide"
"""The scope of people who look at approvals and decide them, where the server keeps some."""

EVERYTHING: Final = "*"
"""The scope that stands for all of them."""
_NAME: Final = re.compile(r"[^\x00-\x20\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]{0,98}[^\x00-\x20\x7f-\x9f])?")

Assurance = Literal["asserted", "token"]
"""How surely a name is known: somebody's word, or a token that the server checked."""


@dataclass(frozen=True)
class Principal:
    """Who asks.

    Args:
        name: as the records name them.
        scopes: what they may do, such as ``orders:read``; None is everything.
        customer: the id of the one customer whose records they may see; None is every customer.
        assurance: how surely ``name`` is known.
        inside: whether they are in the process, or started it, so that nothing need be checked.
        stranger: whether they came without a token, so that only public reads are there for them.
    """

    name: str
    scopes: frozenset[str] | None
    customer: str | None = None
    assurance: Assurance = "asserted"
    inside: bool = False
    stranger: bool = False

    def lacks(self, needed: Iterable[str]) -> list[str]:
        """The scopes of ``needed`` that they do not have, sorted; empty where they may."""
        return [] if self.scopes is None else sorted(set(needed) - self.scopes)

    @property
    def sees_people(self) -> bool:
        """Whether they are shown personal data."""
        return self.scopes is None or PERSONAL in self.scopes


TRUSTED: Final = Principal("local", None, inside=True)
"""Whoever started this process, over stdio or in it: they could read the database as well."""


def is_name(text: str) -> bool:
    """Whether somebody can be called that: 1 to 100 printable characters, no spaces around them."""
    return _NAME.fullmatch(text) is not None


def read_scopes(given: Iterable[str]) -> frozenset[str] | None:
    """Scopes as a principal has them: ``*`` is everything, None."""
    scopes = frozenset(given)
    return None if EVERYTHING in scopes else scopes
