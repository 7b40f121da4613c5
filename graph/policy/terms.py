"""What a policy asks for one call: every matching rule's demand, all of which have to be met."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from checkpoints.records import Assurance

Json = dict[str, Any]

EVERYBODY: Final = "*"
"""As an approver: whoever the policy knows."""

_ASSURANCES: Final[tuple[Assurance, ...]] = ("asserted", "token")


@dataclass(frozen=True)
class Ask:
    """One rule's demand.

    Args:
        rule: which rule.
        approvers: roles and people of whom somebody has to sign; None for any named person.
        count: how many distinct ones.
        why: the condition that was met, or why it counts as met.
    """

    rule: str
    approvers: tuple[str, ...] | None = None
    count: int = 1
    why: str = ""

    def in_words(self) -> str:
        """Such as ``big-orders: 2 of manager``."""
        people = f"{self.count} {'person has' if self.count == 1 else 'people have'} to sign"
        if self.approvers in {None, (EVERYBODY,)}:
            return f"{self.rule}: {people}"
        return f"{self.rule}: {self.count} of {', '.join(self.approvers or ())} to sign"


@dataclass(frozen=True)
class Terms:
    """Everything that one approval has to meet.

    Args:
        asks: the demands; a set of signers has to meet every one.
        automatic: the rule that signs in a person's place; None where a person has to.
        requester_may_approve: whether who asks may sign, too.
        assurance: how surely each signer has to be known, at least.
        expires: how long it may wait; None for as long as the settings say.
        notes: conditions that could not be evaluated, and what was made of that.
    """

    asks: tuple[Ask, ...]
    automatic: str | None = None
    requester_may_approve: bool = False
    assurance: Assurance = "asserted"
    expires: timedelta | None = None
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The largest number of people that one rule wants."""
        return max(ask.count for ask in self.asks)

    def and_also(self, other: "Terms") -> "Terms":
        """The strictest combination of two: what meets it meets both."""
        expiries = [one for one in (self.expires, other.expires) if one is not None]
        return Terms(
            asks=tuple(dict.fromkeys([*self.asks, *other.asks])),
            automatic=other.automatic if self.automatic else None,
            requester_may_approve=self.requester_may_approve and other.requester_may_approve,
            assurance=stricter(self.assurance, other.assurance),
            expires=min(expiries) if expiries else None,
            notes=tuple(dict.fromkeys([*self.notes, *other.notes])),
        )

    def in_words(self) -> str:
        """For a person, on one line."""
        if self.automatic:
            return f"{self.automatic}: signed by this rule of the policy, without a person"
        parts = ["; ".join(dict.fromkeys(ask.in_words() for ask in self.asks))]
        if self.assurance != "asserted":
            parts.append(f"known by {self.assurance}")
        return ", ".join(parts)

    def as_json(self) -> Json:
        """The form that is kept with the approval."""
        return {
            "rules": [
                {"rule": ask.rule, "approvers": None if ask.approvers is None else list(ask.approvers),
                 "count": ask.count, "why": ask.why}
                for ask in self.asks
            ],
            "count": self.count, "automatic": self.automatic, "requester_may_approve": self.requester_may_approve,
            "assurance": self.assurance, "notes": list(self.notes),
            "expires_seconds": None if self.expires is None else int(self.expires.total_seconds()),
        }  # fmt: skip

    @classmethod
    def from_json(cls, kept: Json) -> "Terms":
        """Reads what was kept; an approval of a release that kept less asked for any named person."""
        asks = [
            Ask(
                str(one["rule"]),
                None if one.get("approvers") is None else tuple(one["approvers"]),
                int(one.get("count", 1)),
                str(one.get("why", "")),
            )
            for one in kept.get("rules", [])
        ]
        if not asks:
            return cls((Ask(str(kept.get("rule", "default")), None, int(kept.get("approvers", 1))),), None, True)
        seconds = kept.get("expires_seconds")
        return cls(
            tuple(asks), kept.get("automatic"), kept.get("requester_may_approve") is True,
            stricter("asserted", kept.get("assurance", "asserted")),
            None if seconds is None else timedelta(seconds=seconds), tuple(kept.get("notes", ())),
        )  # fmt: skip


def stricter(one: Assurance, other: Assurance) -> Assurance:
    """The surer of two."""
    return max(one, other, key=_ASSURANCES.index)


def merged(found: Sequence[Terms]) -> Terms:
    """The strictest combination of at least one."""
    whole, *others = found
    for other in others:
        whole = whole.and_also(other)
    return whole
