"""A lease per thread, so that two workers do not both run one thread. It is a courtesy: the ERP's operations row is
the guarantee. A lease that stays behind marks a run that a crash cut off, which ``recover`` looks for."""

import os
import socket
import uuid
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from checkpoints.reading import Clock, utc_now
from checkpoints.tables import leases
from checkpoints.transactions import Prepared, Transactions

LIFETIME: Final = timedelta(seconds=30)
"""How long a silent holder is believed; holders renew at a third of it."""


def new_owner() -> str:
    """A name for one run of one process: host, process, its start, and a random part."""
    return f"{_process(os.getpid())}/{uuid.uuid4().hex}"


@cache
def _process(pid: int) -> str:
    return f"{socket.gethostname()}/{pid}/{_started(pid)}"


def _started(pid: int) -> str:
    """When a process of this machine began, in its kernel's ticks; empty where it is gone or cannot be told."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _is_dead(owner: str) -> bool:
    """Whether the holder is known to be gone: a process of this very machine that no longer runs."""
    host, pid, started, _run = owner.rsplit("/", 3)
    return host == socket.gethostname() and started != "" and _started(int(pid)) != started


_HELD = Prepared(sa.select(leases.c.owner, leases.c.expires_at).where(leases.c.thread_id == sa.bindparam("thread")))
_ALL = Prepared(sa.select(leases.c.thread_id, leases.c.owner, leases.c.expires_at).order_by(leases.c.thread_id))
_TAKE = Prepared(
    sa.update(leases)
    .where(leases.c.thread_id == sa.bindparam("thread"), leases.c.owner == sa.bindparam("before"))
    .values(owner=sa.bindparam("after"), expires_at=sa.bindparam("until"))
)
_GIVE_BACK = Prepared(
    sa.delete(leases).where(leases.c.thread_id == sa.bindparam("thread"), leases.c.owner == sa.bindparam("by"))
)
_NEW = {
    "sqlite": Prepared(sqlite.insert(leases).on_conflict_do_nothing()),
    "postgresql": Prepared(postgresql.insert(leases).on_conflict_do_nothing()),
}


class Leases:
    """Who runs which thread. Its methods block; call them off the event loop.

    Args:
        url: the checkpoint database.
        clock: what time it is, in UTC.
    """

    def __init__(self, url: sa.URL, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._database = Transactions(url, synchronous="NORMAL")

    def close(self) -> None:
        """Gives the connections back."""
        self._database.close()

    def take(self, thread_id: str, owner: str) -> bool:
        """Takes or renews the lease of a thread.

        Returns:
            False where a live run of somebody else holds it.
        """
        now = self._clock()
        row = {"thread_id": thread_id, "owner": owner, "expires_at": now + LIFETIME}
        with self._database.alone() as transaction:
            if transaction.change(_NEW[transaction.dialect.name], row) == 1:
                return True
        with self._database.writing() as transaction:
            for holder, expires_at in transaction.rows(_HELD, {"thread": thread_id}):
                if holder != owner and expires_at > now and not _is_dead(holder):
                    return False
                values = {"thread": thread_id, "before": holder, "after": owner, "until": now + LIFETIME}
                return transaction.change(_TAKE, values) == 1
        return False

    def give_back(self, thread_id: str, owner: str) -> None:
        """Ends a run that came to its end; a lease that another holds by now stays."""
        with self._database.alone() as transaction:
            transaction.change(_GIVE_BACK, {"thread": thread_id, "by": owner})

    def left_behind(self) -> list[str]:
        """Threads whose run was cut off: the lease is over, or its holder is dead."""
        with self._database.alone() as transaction:
            held = transaction.rows(_ALL)
        now = self._clock()
        return [thread_id for thread_id, owner, expires_at in held if expires_at <= now or _is_dead(owner)]
