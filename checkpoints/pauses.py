"""A pause: nothing is signed, deadlines stand still, reads go on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from checkpoints.tables import pauses
from checkpoints.transactions import Prepared, Transaction

_ALL = Prepared(
    sa.select(pauses.c.paused_at, pauses.c.paused_by, pauses.c.reason, pauses.c.resumed_at).order_by(pauses.c.id)
)
_BEGIN = Prepared(
    sa.insert(pauses).values({column: sa.bindparam(column) for column in ("paused_at", "paused_by", "reason")})
)
_END = Prepared(
    sa.update(pauses)
    .where(pauses.c.resumed_at.is_(None))
    .values(resumed_at=sa.bindparam("at"), resumed_by=sa.bindparam("by"))
)


@dataclass(frozen=True)
class Pause:
    """One pause; it goes on while ``resumed_at`` is None."""

    paused_at: datetime
    paused_by: str
    reason: str
    resumed_at: datetime | None = None


def all_pauses(transaction: Transaction) -> list[Pause]:
    """Every pause that there was, oldest first; there are few."""
    return [Pause(*row) for row in transaction.rows(_ALL)]


def begin(transaction: Transaction, by: str, reason: str, now: datetime) -> bool:
    """Pauses; False where it is paused already."""
    if any(pause.resumed_at is None for pause in all_pauses(transaction)):
        return False
    transaction.change(_BEGIN, {"paused_at": now, "paused_by": by, "reason": reason})
    return True


def end(transaction: Transaction, by: str, now: datetime) -> bool:
    """Ends the pause; False where there is none."""
    return transaction.change(_END, {"at": now, "by": by}) > 0


def deadline(created_at: datetime, expires_at: datetime, now: datetime, known: Sequence[Pause]) -> datetime:
    """When an approval expires, with the time that it spent paused given back."""
    return expires_at + sum((_overlap(pause, created_at, now) for pause in known), timedelta())


def _overlap(pause: Pause, since: datetime, until: datetime) -> timedelta:
    begun, ended = max(pause.paused_at, since), min(pause.resumed_at or until, until)
    return max(ended - begun, timedelta())
