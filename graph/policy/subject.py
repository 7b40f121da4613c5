"""What rules look at: one call, its preview, who asks, and what else they asked for that day. Pure data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Day:
    """What a requester has got in 24 hours, or may still get.

    Args:
        count: how many other approvals.
        totals: their largest amounts, added up per currency.
    """

    count: int = 0
    totals: Mapping[str, Decimal] = field(default_factory=dict)

    def plus(self, previews: Iterable[Json]) -> "Day":
        """With further previews."""
        count, totals = self.count, dict(self.totals)
        for preview in previews:
            count += 1
            for currency, amount in largest_amounts(preview).items():
                totals[currency] = totals.get(currency, Decimal()) + amount
        return Day(count, totals)


def largest_amounts(preview: Json) -> dict[str, Decimal]:
    """The largest amount of a preview in each of its currencies, without its sign; never a sum over currencies."""
    largest: dict[str, Decimal] = {}
    for money in preview.get("money", []):
        currency, amount = str(money["currency"]), abs(Decimal(str(money["amount"])))
        largest[currency] = max(largest.get(currency, amount), amount)
    return largest


@dataclass(frozen=True)
class Subject:
    """One gated call.

    Args:
        tool: its name.
        arguments: what would run, in the ERP's own form where there is a preview.
        preview: what the approver is shown.
        requested_by: who asks.
        day: what else they asked for in the 24 hours before.
    """

    tool: str
    arguments: Json
    preview: Json
    requested_by: str
    day: Day = Day()

    @classmethod
    def of(cls, tool: str, arguments: Json, preview: Json, requested_by: str, day: Day | None = None) -> "Subject":
        """A call as the ERP planned it; a tool without a preview of its own is looked at by its arguments."""
        return cls(tool, preview.get("arguments") or arguments, preview, requested_by, day or Day())

    @property
    def reversibility(self) -> str:
        """How far it can be taken back; ``unknown`` for tools of other servers."""
        return str(self.preview.get("reversibility", {}).get("kind", "unknown"))

    @property
    def currencies(self) -> list[str]:
        """The currencies that rules are asked about, one after the other; one without a name where no money moves."""
        return sorted(largest_amounts(self.preview)) or [""]

    def total(self, currency: str) -> Decimal | None:
        """The largest amount in a currency: 0 where the ERP says that no money moves, None where nobody knows."""
        found = largest_amounts(self.preview)
        if not found and self.reversibility == "unknown":
            return None
        return found.get(currency, Decimal())

    def day_total(self, currency: str) -> Decimal | None:
        """The same with the other amounts of the day in that currency."""
        total = self.total(currency)
        return None if total is None else total + self.day.totals.get(currency, Decimal())

    @property
    def day_count(self) -> int:
        """How many approvals of the day there are with this one."""
        return self.day.count + 1
