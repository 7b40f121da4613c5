"""Who asks at the ERP's door, and what they may: by the process boundary, or by a token."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

PERSONAL: Final = "personal:read"
"""The scope with which personal data of people is shown; without it those fields are left out."""

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
    """

    name: str
    scopes: frozenset[str] | None
    customer: str | None = None
    assurance: Assurance = "asserted"

    @property
    def is_trusted(self) -> bool:
        """Whether nothing is kept from them, so that nothing need be checked."""
        return self.scopes is None and self.customer is None

    def lacks(self, needed: Iterable[str]) -> list[str]:
        """The scopes of ``needed`` that they do not have, sorted; empty where they may."""
        return [] if self.scopes is None else sorted(set(needed) - self.scopes)


TRUSTED: Final = Principal("local", None)
"""Whoever started this process, over stdio or in it: they could read the database as well."""
