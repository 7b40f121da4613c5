"""Who may decide a waiting approval, as of now: the policy of today and the ledger's figures, put together."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from checkpoints.reading import InboxFilter, LedgerReads
from checkpoints.records import ApprovalRow, Assurance, Need
from graph.errors import CountersignError
from graph.policy import BY_RULE, Ask, Day, Policy, PolicyError, PolicySource, Subject, Terms

DAY: Final = timedelta(days=1)
PAGE: Final = 200
"""Approvals that are looked at together when an inbox is made for one person."""


@dataclass(frozen=True)
class Rights:
    """What an approval needs, and who can give it.

    Args:
        policy: of today.
        row: the approval.
        terms: the stricter of what was asked when it was opened and what is asked today.
        demands: the same with people in place of roles, without what others include.
    """

    policy: Policy
    row: ApprovalRow
    terms: Terms
    demands: tuple[tuple[Ask, Need], ...]

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the ledger counts signatures by."""
        return tuple(need for _, need in self.demands)

    @property
    def expires_at(self) -> datetime:
        """The earlier deadline."""
        own = self.row.expires_at
        return own if self.terms.expires is None else min(own, self.row.created_at + self.terms.expires)

    def forbids(self, by: str, assurance: Assurance) -> str | None:
        """Why this person may not decide it, or None where they may.

        Args:
            by: who wants to decide, by the policy's name for them.
            assurance: how surely that is known.
        """
        if not by:
            return "Nobody is named as the one who decides."
        if by.startswith(BY_RULE):
            return f"{by!r} is the name of a rule, not of a person."
        if self.policy.people is not None and by not in self.policy.people:
            return f"{by} is not one of the people in the policy."
        if any(need.counts(by, assurance) for need in self.needs):
            return None
        rules = "; ".join(dict.fromkeys(ask.in_words() for ask, _ in self.demands))
        if by in {name for need in self.needs for name in need.barred}:
            return f"{by} asked for this, and who asks does not approve. {rules}."
        if self.terms.assurance == "token" and any(need.counts(by, "token") for need in self.needs):
            return f"{by} has to be known by a token here, not by their word. {rules}."
        return f"{by} may not decide this. {rules}."

    def lacks(self, signatures: Mapping[str, Assurance]) -> str | None:
        """What is still missing beside these signatures, in words; None where nothing is."""
        if self.terms.automatic and signatures.get(BY_RULE + self.terms.automatic) == "policy":
            return None
        open_ones = [(ask, need.lacks(signatures)) for ask, need in self.demands if need.lacks(signatures)]
        missing = [f"{lacking} for {ask.in_words()}" for ask, lacking in open_ones]
        return f"Signatures are missing: {'; '.join(missing)}." if missing else None

    def can_help(self, by: str, assurance: Assurance, signatures: Mapping[str, Assurance]) -> bool:
        """Whether this person's signature would bring the approval on."""
        if by in signatures or self.forbids(by, assurance) is not None:
            return False
        return any(need.lacks(signatures) and need.counts(by, assurance) for need in self.needs)


def rights_of(policy: Policy, ledger: LedgerReads, row: ApprovalRow) -> Rights:
    """What an approval needs as of now. Blocks where the policy looks at the day's figures.

    Args:
        policy: of today.
        ledger: for these figures.
        row: the approval.
    """
    day = day_of(policy, ledger, row.requested_by, row.call, row.created_at)
    subject = Subject.of(row.tool, row.arguments, row.preview, row.requested_by, day)
    terms = policy.asks_now(row.policy, subject)
    return Rights(policy, row, terms, tuple(policy.demands(terms, row.requested_by)))


def day_of(policy: Policy, ledger: LedgerReads, requested_by: str, call: str, until: datetime) -> Day:
    """What the requester got in the day before, or may still get; nothing where no rule asks.

    Of two orders that together pass a limit it is the later one that passes it, whatever happens to it afterwards.
    """
    if not policy.is_daily:
        return Day()
    return Day().plus(ledger.previews_of(requested_by, since=until - DAY, until=until, but=call))


def waiting_for(
    policy: Policy,
    ledger: LedgerReads,
    who: str,
    *,
    limit: int,
    after: tuple[datetime, str] | None = None,
    only: InboxFilter | None = None,
) -> list[ApprovalRow]:
    """The approvals that wait for this person: those that their signature would bring on, oldest first.

    Args:
        policy: of today.
        ledger: the inbox.
        who: the person. How surely they are known is settled when they decide.
        limit: how many at most.
        after, only: as for the ledger's ``pending``.
    """
    found: list[ApprovalRow] = []
    for row in _mine(policy, ledger, policy.person(who), after, only):
        found.append(row)
        if len(found) == limit:
            break
    return found


def _mine(
    policy: Policy, ledger: LedgerReads, who: str, after: tuple[datetime, str] | None, only: InboxFilter | None
) -> Iterator[ApprovalRow]:
    while page := ledger.pending(limit=PAGE, after=after, only=only):
        signatures = ledger.signatures([row.id for row in page])
        for row in page:
            if rights_of(policy, ledger, row).can_help(who, "token", signatures.get(row.id, {})):
                yield row
        after = (page[-1].created_at, page[-1].id)


def open_policy(path: Path | None) -> PolicySource:
    """The policy that the settings name.

    Args:
        path: a TOML file; None for no policy.

    Raises:
        CountersignError: ``bad_policy``, with file, line and column.
    """
    try:
        return PolicySource(path)
    except PolicyError as error:
        raise _as_refusal(error) from None


def policy_now(source: PolicySource) -> Policy:
    """The policy as of now; it looks whether the file has changed, so it may block.

    Raises:
        CountersignError: ``bad_policy``: the file has become unusable since the start.
    """
    try:
        return source.current()
    except PolicyError as error:
        raise _as_refusal(error) from None


def _as_refusal(error: PolicyError) -> CountersignError:
    return CountersignError(error.code, error.message, error.hint)
