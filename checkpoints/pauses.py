"""A pause: nothing is signed, deadlines stand still, reads go on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from checkpoints.tables import pauses

_ALL = sa.select(pauses.c.paused_at, pauses.c.paused_by, pauses.c.reason, pauses.c.resumed_at).order_by(pauses.c.id)


@dataclass(frozen=True)
class Pause:
    """One pause; it goes on while ``resumed_at`` is None."""

    paused_at: datetime
    paused_by: str
    reason: str
    resumed_at: datetime | None = None


def all_pauses(connection: sa.Connection) -> list[Pause]:
    """Every pause that there was, oldest first; there are few."""
    return [Pause(*row) for row in connection.execute(_ALL)]


def begin(connection: sa.Connection, by: str, reason: str, now: datetime) -> bool:
    """Pauses; False where it is paused already."""
    if any(pause.resumed_at is None for pause in all_pauses(connection)):
        return False
    connection.execute(sa.insert(pauses).values(paused_at=now, paused_by=by, reason=reason))
    return True


def end(connection: sa.Connection, by: str, now: datetime) -> bool:
    """Ends the pause; False where there is none."""
    ended = connection.execute(
        sa.update(pauses).where(pauses.c.resumed_at.is_(None)).values(resumed_at=now, resumed_by=by)
    )
    return ended.rowcount > 0


def deadline(created_at: datetime, expires_at: datetime, now: datetime, known: Sequence[Pause]) -> datetime:
    """When an approval expires, with the time that it spent paused given back."""
    return expires_at + sum((_overlap(pause, created_at, now) for pause in known), timedelta())


def _overlap(pause: Pause, since: datetime, until: datetime) -> timedelta:
    begun, ended = max(pause.paused_at, since), min(pause.resumed_at or until, until)
    return max(ended - begun, timedelta())
