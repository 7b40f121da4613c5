"""Who may approve what. Pure: no database, no framework."""

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Policy:
    """The rules that an approval has to meet.

    Args:
        name: which rule asks; kept with the approval.
        approvers: how many distinct people have to sign.
    """

    name: str = "default"
    approvers: int = 1

    def asks(self, tool: str, preview: Json, requested_by: str) -> Json:
        """What a proposal needs; kept with the approval, so that a later look shows what was asked."""
        return {"rule": self.name, "approvers": self.approvers}

    def forbids(self, by: str, asked: Json, requested_by: str) -> str | None:
        """Why this person may not decide this approval, or None where they may."""
        return None if by.strip() else "Nobody is named as the one who decides."
