"""What can be asked of the ledger: one approval, a thread's, the inbox over all threads, the past."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from checkpoints import chain
from checkpoints import statements as sql
from checkpoints.database import check_schema
from checkpoints.pauses import Pause, all_pauses
from checkpoints.records import ApprovalRow, Assurance, Json, Status
from checkpoints.tables import approvals
from checkpoints.transactions import Transactions

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The clock of every process that nobody gave another one."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class InboxFilter:
    """Which waiting approvals to list; all where nothing is said.

    Args:
        tool, requested_by: exactly these.
        before: opened before this time.
        at_least: whose largest amount is at least this, in ten-thousandths of its currency.
    """

    tool: str | None = None
    requested_by: str | None = None
    before: datetime | None = None
    at_least: int | None = None

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        """As SQL."""
        found: list[sa.ColumnElement[bool]] = []
        if self.tool is not None:
            found.append(approvals.c.tool == self.tool)
        if self.requested_by is not None:
            found.append(approvals.c.requested_by == self.requested_by)
        if self.before is not None:
            found.append(approvals.c.created_at < self.before)
        if self.at_least is not None:
            found.append(approvals.c.amount >= self.at_least)
        return found


class LedgerReads:
    """The reading half of the ledger. Its methods block; call them off the event loop.

    Args:
        url: from ``checkpoints.database.database_url``.
        clock: what time it is, in UTC.

    Raises:
        CheckpointError: the database is missing, locked, read-only or of another release.
    """

    def __init__(self, url: sa.URL, clock: Clock = utc_now) -> None:
        self.clock = clock
        self.url = url
        self._database = Transactions(url)
        check_schema(self._database.engine)

    def close(self) -> None:
        """Gives the connections back."""
        self._database.close()

    def get(self, approval_id: str) -> ApprovalRow | None:
        """One approval by its whole id."""
        return self.get_all([approval_id]).get(approval_id)

    def get_all(self, approval_ids: Sequence[str]) -> dict[str, ApprovalRow]:
        """Approvals by their whole ids; those that there are not are left out."""
        with self._database.alone() as transaction:
            return {row.id: row for row in sql.by_ids(transaction, approval_ids)}

    def find(self, prefix: str) -> list[ApprovalRow]:
        """The approvals whose id begins so (at most ten), for people who type ids."""
        with self._database.alone() as transaction:
            begins = approvals.c.id.startswith(prefix, autoescape=True)
            return sql.rows(transaction, sql.select_where(begins, limit=10))

    def latest(self, calls: Sequence[str]) -> dict[str, ApprovalRow]:
        """The newest round of each call that has one."""
        with self._database.alone() as transaction:
            return sql.latest(transaction, calls)

    def pending(
        self, *, limit: int = 50, after: tuple[datetime, str] | None = None, only: InboxFilter | None = None
    ) -> list[ApprovalRow]:
        """The inbox over all threads, oldest first; it is the ledger's, so it survives a lost or renamed node.

        Args:
            limit: rows at most.
            after: ``created_at`` and id of the last row of the page before.
            only: which ones.
        """
        where = [approvals.c.status == "pending", *(only or InboxFilter()).conditions()]
        if after is not None:
            where.append(sa.tuple_(approvals.c.created_at, approvals.c.id) > after)
        with self._database.alone() as transaction:
            return sql.rows(transaction, sql.select_where(*where, limit=limit))

    def of_thread(self, thread_id: str, *statuses: Status) -> list[ApprovalRow]:
        """A thread's approvals, oldest first; all, or those in one of the given states."""
        with self._database.alone() as transaction:
            if not statuses:
                return sql.rows(transaction, sql.OF_THREAD, thread_id=thread_id)
            return sql.rows(transaction, sql.of_thread_in(*statuses), thread_id=thread_id)

    def unsettled(self, thread_id: str) -> list[ApprovalRow]:
        """A thread's decided approvals that it has not taken note of."""
        with self._database.alone() as transaction:
            return sql.rows(transaction, sql.UNSETTLED_OF_THREAD, thread_id=thread_id)

    def unsettled_threads(self) -> list[str]:
        """Threads whose decisions have not reached their graph yet."""
        with self._database.alone() as transaction:
            return [thread_id for (thread_id,) in transaction.rows(sql.UNSETTLED_THREADS)]

    def history(self, *, since: datetime | None = None, ids: Sequence[str] | None = None) -> list[ApprovalRow]:
        """Every approval for the audit, oldest first.

        Args:
            since: only those opened at this time or later.
            ids: only these.
        """
        where: list[sa.ColumnElement[bool]] = []
        if since is not None:
            where.append(approvals.c.created_at >= since)
        if ids is not None:
            where.append(sql.one_of(approvals.c.id, ids))
        with self._database.alone() as transaction:
            return sql.rows(transaction, sql.select_where(*where))

    def twins(self, digest: str) -> list[ApprovalRow]:
        """Approvals that wait for the very same: the same call on the same facts."""
        with self._database.alone() as transaction:
            return sql.rows(transaction, sql.TWINS, digest=digest)

    def count_waiting(self, requested_by: str) -> int:
        """How many approvals of one requester wait for a decision."""
        with self._database.alone() as transaction:
            return sum(waiting for (waiting,) in transaction.rows(sql.WAITING, {"requested_by": requested_by}))

    def previews_of(self, requested_by: str, *, since: datetime, until: datetime, but: str = "") -> list[Json]:
        """What one requester has got, or may still get: so that splitting an order does not slip under a limit.

        Args:
            requested_by: who asked.
            since: from when on what was done counts; what still waits counts however old it is.
            until: what was opened later does not count.
            but: a call that does not count, because it is the one that is looked at.

        Returns:
            The previews of what waits, is approved or was done.
        """
        asked = {"requested_by": requested_by, "since": since, "until": until, "but": but}
        with self._database.alone() as transaction:
            return [preview for (preview,) in transaction.rows(sql.OF_REQUESTER, asked)]

    def signatures(self, approval_ids: Sequence[str]) -> dict[str, dict[str, Assurance]]:
        """Who has signed approvals so far, and how surely each is known; those without a signature are left out."""
        with self._database.alone() as transaction:
            return sql.signatures_of(transaction, approval_ids)

    def opened_in_a_pause(self) -> list[ApprovalRow]:
        """What waits since a pause that has ended: no rule could sign it then."""
        with self._database.reading() as transaction:
            ended = [
                approvals.c.created_at.between(pause.paused_at, pause.resumed_at)
                for pause in all_pauses(transaction)
                if pause.resumed_at is not None
            ]
            return (
                sql.rows(transaction, sql.select_where(approvals.c.status == "pending", sa.or_(*ended)))
                if ended
                else []
            )

    def pauses(self) -> list[Pause]:
        """Every pause that there was, oldest first."""
        with self._database.alone() as transaction:
            return all_pauses(transaction)

    def is_paused(self) -> bool:
        """Whether nothing is signed just now."""
        return any(pause.resumed_at is None for pause in self.pauses())

    def problems(self) -> list[str]:
        """What was changed or removed behind the ledger's back, one line each."""
        with self._database.reading() as transaction:
            return list(chain.problems(transaction))
