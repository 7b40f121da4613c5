"""The approval ledger: who decided what. Decisions are written here before LangGraph hears of them.

Status moves only by compare-and-set, so of two people who decide at once one wins and the other is told. Rows are
never deleted. What was done stands in the ERP's operations; ``approval_id`` joins the two.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa

from checkpoints import statements as sql
from checkpoints.database import check_schema, open_engine, said_plainly
from checkpoints.records import ApprovalRow, Assurance, Decision, Json, Proposal, Status, Verdict
from checkpoints.tables import approvals

Clock = Callable[[], datetime]

LEDGER_LOCK: Final = 0x436F756E  # "Coun"
"""PostgreSQL's advisory lock that gives the ledger one writer at a time, as SQLite has by itself."""

_PROPOSAL_FIELDS = tuple(f.name for f in fields(Proposal))
_ROW_FIELDS = tuple(f.name for f in fields(ApprovalRow))


def utc_now() -> datetime:
    """The clock of every process that nobody gave another one."""
    return datetime.now(UTC)


def call_key(thread_id: str, message_id: str, call_id: str) -> str:
    """The hash that names one tool call for good, however often a model reuses its ids."""
    return hashlib.sha256("\x1f".join((thread_id, message_id, call_id)).encode("utf-8", "surrogatepass")).hexdigest()


def approval_id_of(call: str, round_: int) -> str:
    """An approval's id: re-run nodes and forks arrive at the same one."""
    return "apr_" + hashlib.sha256(f"{call}\x1f{round_}".encode()).hexdigest()[:24]


class Ledger:
    """The approvals of all threads in one database. Its methods block; call them off the event loop.

    Args:
        url: from ``checkpoints.database.database_url``.
        clock: what time it is, in UTC.

    Raises:
        CheckpointError: the database is missing, locked, read-only or of another release.
    """

    def __init__(self, url: sa.URL, clock: Clock = utc_now) -> None:
        self.clock = clock
        self.url = url
        self._engine = open_engine(url)
        check_schema(self._engine)
        # What came of an approval stands in the ERP; if a power cut loses this copy, recover asks for it again.
        self._settling = open_engine(url, synchronous="NORMAL")

    def close(self) -> None:
        """Gives the connections back."""
        self._engine.dispose()
        self._settling.dispose()

    # -- opening ---------------------------------------------------------------------------------------------------

    def open(self, proposals: Sequence[Proposal]) -> list[ApprovalRow]:
        """Opens an approval for each proposal, or finds the one that stands for it already.

        Args:
            proposals: planned just now.

        Returns:
            A row per proposal, in their order: the one found again (executed, approved, rejected, closed, or pending
            with the same digest), or a new round that supersedes what the approver saw before.
        """
        with self._write() as connection:
            return [self._open_one(connection, proposal) for proposal in proposals]

    def _open_one(self, connection: sa.Connection, proposal: Proposal) -> ApprovalRow:
        latest = _latest(connection, [proposal.call]).get(proposal.call)
        if latest is None:
            return self._insert(connection, proposal, 1, None)
        if latest.status == "pending" and not _same(latest, proposal):
            self._move(connection, latest.id, "pending", "superseded", settled_at=self.clock())
        elif latest.status == "approved" and latest.proposed != proposal.proposed:
            self._move(connection, latest.id, "approved", "stale", settled_at=self.clock())
        elif latest.status != "stale":
            return latest
        return self._insert(connection, proposal, latest.round + 1, latest.id)

    def _insert(
        self, connection: sa.Connection, proposal: Proposal, round_: int, supersedes: str | None
    ) -> ApprovalRow:
        row = ApprovalRow(
            **{name: getattr(proposal, name) for name in _PROPOSAL_FIELDS},
            id=approval_id_of(proposal.call, round_), round=round_, status="pending", created_at=self.clock(),
            decided_by=None, assurance=None, decided_at=None, reason=None, settled_at=None, outcome=None,
            supersedes=supersedes,
        )  # fmt: skip
        connection.execute(sql.INSERT, {name: getattr(row, name) for name in _ROW_FIELDS})
        return row

    # -- deciding --------------------------------------------------------------------------------------------------

    def decide(
        self, decisions: Sequence[Decision], *, by: str, assurance: Assurance = "asserted", thread_id: str | None = None
    ) -> list[Verdict]:
        """Records one person's answer: all of its decisions in one transaction, each by compare-and-set.

        Args:
            decisions: what the person says; their right to say it was checked by the caller.
            by: who they are.
            assurance: how surely that is known.
            thread_id: where the answer was sent to; an approval of another thread is not decided.

        Returns:
            A verdict per decision, in their order.
        """
        with self._write() as connection:
            return [self._decide_one(connection, decision, by, assurance, thread_id) for decision in decisions]

    def _decide_one(
        self, connection: sa.Connection, decision: Decision, by: str, assurance: Assurance, thread_id: str | None
    ) -> Verdict:
        row = _get(connection, decision.approval_id)
        refusal = self._refusal(connection, decision, row, thread_id)
        if refusal is not None or row is None:
            return refusal or Verdict(decision.approval_id, "unknown")
        now = self.clock()
        known: Json = {"decided_by": by, "assurance": assurance, "decided_at": now}
        if decision.kind == "reject":
            self._move(connection, row.id, "pending", "rejected", reason=decision.reason, **known)
            return Verdict(row.id, "rejected", _get(connection, row.id))
        if decision.replacement is not None:
            self._move(connection, row.id, "pending", "superseded", reason="edited", settled_at=now, **known)
            successor = self._insert(connection, decision.replacement, row.round + 1, row.id)
            return Verdict(row.id, "edited", _get(connection, row.id), successor)
        return self._sign(connection, row, by, assurance, known)

    def _refusal(
        self, connection: sa.Connection, decision: Decision, row: ApprovalRow | None, thread_id: str | None
    ) -> Verdict | None:
        """Why this decision cannot count, or None where it can."""
        if row is None:
            return Verdict(decision.approval_id, "unknown")
        if thread_id is not None and row.thread_id != thread_id:
            return Verdict(row.id, "wrong_thread", row)
        if row.status == "superseded" or (decision.digest is not None and decision.digest != row.digest):
            return Verdict(row.id, "superseded", row)
        if row.status == "expired":
            return Verdict(row.id, "expired", row)
        if row.status != "pending":
            return Verdict(row.id, "already_decided", row)
        if self.clock() >= row.expires_at:
            self._move(connection, row.id, "pending", "expired")
            return Verdict(row.id, "expired", _get(connection, row.id))
        return None

    def _sign(self, connection: sa.Connection, row: ApprovalRow, by: str, assurance: Assurance, known: Json) -> Verdict:
        signed = set(connection.scalars(sql.SIGNED_BY, {"approval_id": row.id}))
        if by in signed:
            return Verdict(row.id, "already_decided", row)
        connection.execute(
            sql.SIGN,
            {
                "approval_id": row.id,
                "signed_by": by,
                "assurance": assurance,
                "digest": row.digest,
                "signed_at": known["decided_at"],
            },
        )
        if len(signed) + 1 < int(row.policy.get("approvers", 1)):
            return Verdict(row.id, "signed", row)
        self._move(connection, row.id, "pending", "approved", **known)
        return Verdict(row.id, "approved", _get(connection, row.id))

    # -- settling --------------------------------------------------------------------------------------------------

    def settle(self, settlements: Iterable[tuple[str, Status, Json | None]]) -> None:
        """Records what came of decided approvals, in one transaction. Saying the same again changes nothing.

        Args:
            settlements: approval id, the status it ends in (for a rejected, expired or superseded one: the same), and
                the receipt or the reason.
        """
        at = self.clock()
        values = [
            {
                "of": approval_id,
                "before": "approved" if status in {"executed", "stale", "failed"} else status,
                "after": status,
                "result": outcome,
                "at": at,
            }
            for approval_id, status, outcome in settlements
        ]
        with self._write(self._settling) as connection:
            for one in values:
                connection.execute(sql.SETTLE, one)

    def close_pending(self, thread_id: str, reason: str) -> list[ApprovalRow]:
        """Supersedes what still waits in a thread, because its requester wants something else now."""
        with self._write() as connection:
            found = _rows(connection, sql.PENDING_OF_THREAD, thread_id=thread_id)
            for row in found:
                self._move(connection, row.id, "pending", "superseded", reason=reason)
            return [row for row in (_get(connection, r.id) for r in found) if row is not None]

    def expire_due(self, thread_id: str | None = None) -> list[ApprovalRow]:
        """Marks what nobody answered in time. Expired is not rejected: nobody is named, nothing was done."""
        due = [approvals.c.status == "pending", approvals.c.expires_at <= self.clock()]
        if thread_id is not None:
            due.append(approvals.c.thread_id == thread_id)
        with self._read() as connection:
            if not _select(connection, *due):
                return []
        with self._write() as connection:
            found = _select(connection, *due)
            for row in found:
                self._move(connection, row.id, "pending", "expired")
            return found

    def _move(self, connection: sa.Connection, approval_id: str, before: Status, after: Status, **values: Any) -> None:
        moved = connection.execute(sql.MOVE.values(status=after, **values), {"of": approval_id, "before": before})
        if moved.rowcount != 1:
            raise RuntimeError(f"{approval_id} was not {before} inside the ledger's own transaction")

    # -- reading ---------------------------------------------------------------------------------------------------

    def get(self, approval_id: str) -> ApprovalRow | None:
        """One approval by its whole id."""
        return self.get_all([approval_id]).get(approval_id)

    def get_all(self, approval_ids: Sequence[str]) -> dict[str, ApprovalRow]:
        """Approvals by their whole ids; those that there are not are left out."""
        with self._read() as connection:
            return {row.id: row for row in _rows(connection, sql.BY_IDS, ids=list(approval_ids))}

    def find(self, prefix: str) -> list[ApprovalRow]:
        """The approvals whose id begins so (at most ten), for people who type ids."""
        with self._read() as connection:
            return _select(connection, approvals.c.id.startswith(prefix, autoescape=True), limit=10)

    def latest(self, calls: Sequence[str]) -> dict[str, ApprovalRow]:
        """The newest round of each call that has one."""
        with self._read() as connection:
            return _latest(connection, calls)

    def pending(self, *, limit: int = 50, after: tuple[datetime, str] | None = None) -> list[ApprovalRow]:
        """The inbox over all threads, oldest first.

        Args:
            limit: rows at most.
            after: ``created_at`` and id of the last row of the page before.
        """
        where = [approvals.c.status == "pending", approvals.c.expires_at > self.clock()]
        if after is not None:
            where.append(sa.tuple_(approvals.c.created_at, approvals.c.id) > after)
        with self._read() as connection:
            return _select(connection, *where, limit=limit)

    def of_thread(self, thread_id: str, *statuses: Status) -> list[ApprovalRow]:
        """A thread's approvals, oldest first; all, or those in one of the given states."""
        with self._read() as connection:
            rows = _rows(connection, sql.OF_THREAD, thread_id=thread_id)
        return [row for row in rows if not statuses or row.status in statuses]

    def unsettled(self, thread_id: str) -> list[ApprovalRow]:
        """A thread's decided approvals that it has not taken note of."""
        with self._read() as connection:
            return _rows(connection, sql.UNSETTLED_OF_THREAD, thread_id=thread_id)

    def unsettled_threads(self) -> list[str]:
        """Threads whose decisions have not reached their graph yet."""
        with self._read() as connection:
            return list(connection.scalars(sql.UNSETTLED_THREADS))

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
            where.append(approvals.c.id.in_(ids))
        with self._read() as connection:
            return _select(connection, *where)

    # -- transactions ----------------------------------------------------------------------------------------------

    @contextmanager
    def _write(self, engine: sa.Engine | None = None) -> Iterator[sa.Connection]:
        writing = (engine or self._engine).connect().execution_options(writes=True)
        with said_plainly(self.url), writing as connection, connection.begin():
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LEDGER_LOCK)))
            yield connection

    @contextmanager
    def _read(self) -> Iterator[sa.Connection]:
        with said_plainly(self.url), self._engine.connect() as connection, connection.begin():
            yield connection


def _same(row: ApprovalRow, proposal: Proposal) -> bool:
    return (row.digest, row.proposed, row.arguments) == (proposal.digest, proposal.proposed, proposal.arguments)


def _rows(connection: sa.Connection, query: sa.Select[Any], **values: Any) -> list[ApprovalRow]:
    return [ApprovalRow(*row) for row in connection.execute(query, values)]


def _select(connection: sa.Connection, *where: sa.ColumnElement[bool], limit: int | None = None) -> list[ApprovalRow]:
    return _rows(connection, sql.select_where(*where, limit=limit))


def _get(connection: sa.Connection, approval_id: str) -> ApprovalRow | None:
    return next(iter(_rows(connection, sql.BY_IDS, ids=[approval_id])), None)


def _latest(connection: sa.Connection, calls: Sequence[str]) -> dict[str, ApprovalRow]:
    return {row.call: row for row in _rows(connection, sql.BY_CALLS, calls=list(calls))}
