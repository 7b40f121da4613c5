"""The approval ledger: who decided what. Decisions are written here before LangGraph hears of them.

Status moves only by compare-and-set, so of two people who decide at once one wins and the other is told. Rows are
never deleted, and every move is an entry of a hash chain. What was done stands in the ERP's operations;
``approval_id`` joins the two.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from checkpoints import chain, pauses
from checkpoints import statements as sql
from checkpoints.reading import Clock, LedgerReads, utc_now
from checkpoints.records import ApprovalRow, Assurance, Decision, Json, Need, Proposal, Status, Verdict
from checkpoints.tables import approvals
from checkpoints.transactions import Prepared, Transaction, Transactions

LEDGER_LOCK: Final = 0x436F756E  # "Coun"
"""PostgreSQL's advisory lock that gives the ledger one writer at a time, as SQLite has by itself."""
_LOCK = Prepared(sa.select(sa.func.pg_advisory_xact_lock(LEDGER_LOCK)))

AFTER_APPROVAL: Final[frozenset[Status]] = frozenset({"executed", "stale", "failed", "unknown"})
"""Where an approved row may end."""

_PROPOSAL_FIELDS = tuple(f.name for f in fields(Proposal))
_ROW_FIELDS = tuple(f.name for f in fields(ApprovalRow))


def call_key(thread_id: str, message_id: str, call_id: str) -> str:
    """The hash that names one tool call for good, however often a model reuses its ids."""
    return hashlib.sha256("\x1f".join((thread_id, message_id, call_id)).encode("utf-8", "surrogatepass")).hexdigest()


def approval_id_of(call: str, round_: int) -> str:
    """An approval's id: re-run nodes and forks arrive at the same one."""
    return "apr_" + hashlib.sha256(f"{call}\x1f{round_}".encode()).hexdigest()[:24]


class Ledger(LedgerReads):
    """The approvals of all threads in one database. Its methods block; call them off the event loop.

    Args:
        url: from ``checkpoints.database.database_url``.
        clock: what time it is, in UTC.

    Raises:
        CheckpointError: the database is missing, locked, read-only or of another release.
    """

    def __init__(self, url: sa.URL, clock: Clock = utc_now) -> None:
        super().__init__(url, clock)
        # What came of an approval stands in the ERP; if a power cut loses this copy, recover asks for it again.
        self._settling = Transactions(url, synchronous="NORMAL")

    def close(self) -> None:
        """Gives the connections back."""
        super().close()
        self._settling.close()

    # -- opening ---------------------------------------------------------------------------------------------------

    def open(self, proposals: Sequence[Proposal]) -> list[ApprovalRow]:
        """Opens an approval for each proposal, or finds the one that stands for it already.

        Args:
            proposals: planned just now.

        Returns:
            A row per proposal, in their order: the one found again (executed, approved, rejected, closed, or pending
            with the same digest), or a new round that supersedes what the approver saw before.
        """
        with self._write() as transaction:
            return [self._open_one(transaction, proposal) for proposal in proposals]

    def _open_one(self, transaction: Transaction, proposal: Proposal) -> ApprovalRow:
        row = sql.latest(transaction, [proposal.call]).get(proposal.call)
        if row is None:
            return self._insert(transaction, proposal, 1, None)
        if row.status == "pending" and not _same(row, proposal):
            self._move(transaction, row, "superseded", settled_at=self.clock())
        elif row.status == "approved" and row.proposed != proposal.proposed:
            self._move(transaction, row, "stale", settled_at=self.clock())
        elif row.status != "stale":
            return row
        return self._insert(transaction, proposal, row.round + 1, row.id)

    def _insert(self, transaction: Transaction, proposal: Proposal, round_: int, supersedes: str | None) -> ApprovalRow:
        row = ApprovalRow(
            **{name: getattr(proposal, name) for name in _PROPOSAL_FIELDS},
            id=approval_id_of(proposal.call, round_), round=round_, status="pending", created_at=self.clock(),
            decided_by=None, assurance=None, decided_at=None, reason=None, settled_at=None, outcome=None,
            supersedes=supersedes,
        )  # fmt: skip
        transaction.change(sql.INSERT, {name: getattr(row, name) for name in _ROW_FIELDS})
        chain.append(transaction, "opened", row, row.created_at)
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
        with self._write() as transaction:
            return [self._decide_one(transaction, decision, by, assurance, thread_id) for decision in decisions]

    def _decide_one(
        self, transaction: Transaction, decision: Decision, by: str, assurance: Assurance, thread_id: str | None
    ) -> Verdict:
        row = _get(transaction, decision.approval_id)
        if row is None:
            return Verdict(decision.approval_id, "unknown")
        refusal = self._refusal(transaction, decision, row, thread_id)
        if refusal is not None:
            return refusal
        now = self.clock()
        known: Json = {"decided_by": by, "assurance": assurance, "decided_at": now}
        if decision.kind == "reject":
            return Verdict(
                row.id, "rejected", self._move(transaction, row, "rejected", reason=decision.reason, **known)
            )
        if decision.kind == "edit" and decision.replacement is not None:
            old = self._move(transaction, row, "superseded", reason="edited", settled_at=now, **known)
            successor = self._insert(transaction, decision.replacement, row.round + 1, row.id)
            return Verdict(row.id, "edited", old, successor)
        if decision.kind != "approve":  # whatever else somebody made up must not count as a signature
            raise ValueError(f"{decision.kind!r} is not a decision that can be recorded")
        return self._sign(transaction, row, decision, known)

    def _refusal(
        self, transaction: Transaction, decision: Decision, row: ApprovalRow, thread_id: str | None
    ) -> Verdict | None:
        """Why this decision cannot count, or None where it can."""
        if thread_id is not None and row.thread_id != thread_id:
            return Verdict(row.id, "wrong_thread", row)
        if row.status == "superseded" or (decision.digest is not None and decision.digest != row.digest):
            return Verdict(row.id, "superseded", row)
        if row.status == "expired":
            return Verdict(row.id, "expired", row)
        if row.status != "pending":
            return Verdict(row.id, "already_decided", row)
        if self._is_over(transaction, row, decision.expires_at):
            return Verdict(row.id, "expired", self._move(transaction, row, "expired"))
        if decision.kind == "approve" and _paused(transaction):
            return Verdict(row.id, "paused", row)
        return None

    def _sign(self, transaction: Transaction, row: ApprovalRow, decision: Decision, known: Json) -> Verdict:
        by, assurance = known["decided_by"], known["assurance"]
        signed = sql.signatures_of(transaction, [row.id]).get(row.id, {})
        if by in signed and (signed[by], assurance) != ("asserted", "token"):
            return Verdict(row.id, "already_decided", row)
        signature = {"assurance": assurance, "digest": row.digest, "signed_at": known["decided_at"]}
        if by in signed:
            surer = {f"new_{column}": value for column, value in signature.items()}
            transaction.change(sql.SIGN_SURER, surer | {"of": row.id, "signer": by})
        else:
            transaction.change(sql.SIGN, signature | {"approval_id": row.id, "signed_by": by})
        everybody = signed | {by: assurance}
        needs = (Need(int(row.policy.get("count", 1))),) if decision.needs is None else decision.needs
        if any(need.lacks(everybody) for need in needs):
            chain.append(transaction, chain.signed(by, assurance), row, known["decided_at"])
            return Verdict(row.id, "signed", row)
        names = known | {"decided_by": ", ".join([*sorted(everybody.keys() - {by}), by])}
        return Verdict(row.id, "approved", self._move(transaction, row, "approved", **names))

    # -- settling --------------------------------------------------------------------------------------------------

    def settle(self, settlements: Iterable[tuple[str, Status, Json | None]]) -> None:
        """Records what came of decided approvals, in one transaction. Saying the same again changes nothing.

        Args:
            settlements: approval id, the status it ends in (for a rejected, expired or superseded one: the same), and
                the receipt or the reason.
        """
        with self._write(self._settling) as transaction:
            for approval_id, status, outcome in settlements:
                row = _get(transaction, approval_id)
                if row is not None and row.settled_at is None and row.status in _before(status):
                    self._move(transaction, row, status, outcome=outcome, settled_at=self.clock())

    def attempt(self, approval_id: str) -> bool:
        """Marks an approved call of another server's tool as sent, before it is sent: it is attempted at most once.

        Returns:
            False where it was attempted already; its outcome stays unknown until somebody looks.
        """
        with self._write() as transaction:
            row = _get(transaction, approval_id)
            if row is None or row.status != "approved":
                return False
            self._move(transaction, row, "unknown")
            return True

    def close_pending(self, thread_id: str, reason: str) -> list[ApprovalRow]:
        """Supersedes what still waits in a thread, because its requester wants something else now."""
        with self._write() as transaction:
            waiting = sql.rows(transaction, sql.of_thread_in("pending"), thread_id=thread_id)
            return [self._move(transaction, row, "superseded", reason=reason) for row in waiting]

    def close_changed(self, server: str, offered: Mapping[str, str]) -> list[ApprovalRow]:
        """Ends what waits for a tool of another server that is not the one any more that was shown.

        Args:
            server: whose tools.
            offered: the hash of each tool's definition as it is now, by the tool's name here.
        """
        where = [approvals.c.status == "pending", sql.one_of(approvals.c.tool, offered)]

        def changed(transaction: Transaction) -> list[ApprovalRow]:
            found = sql.rows(transaction, sql.select_where(*where))
            facts = [(row, row.preview.get("facts", {})) for row in found]
            return [row for row, fact in facts if fact.get("server") == server
                    and fact.get("definition") != offered[row.tool]]  # fmt: skip

        with self._database.alone() as transaction:
            if not changed(transaction):
                return []
        outcome = {"type": "schema_changed", "message": f"The tool has changed on the server {server}."}
        with self._write() as transaction:
            rows = changed(transaction)
            return [
                self._move(transaction, row, "superseded", reason="schema changed", outcome=outcome) for row in rows
            ]

    def expire_due(self, thread_id: str | None = None) -> list[ApprovalRow]:
        """Marks what nobody answered in time. Expired is not rejected: nobody is named, nothing was done."""
        due = [approvals.c.status == "pending", approvals.c.expires_at <= self.clock()]
        if thread_id is not None:
            due.append(approvals.c.thread_id == thread_id)
        with self._database.alone() as transaction:
            if not sql.rows(transaction, sql.select_where(*due, limit=1)):
                return []
        with self._write() as transaction:
            found = [row for row in sql.rows(transaction, sql.select_where(*due)) if self._is_over(transaction, row)]
            return [self._move(transaction, row, "expired") for row in found]

    # -- pausing ---------------------------------------------------------------------------------------------------

    def pause(self, by: str, reason: str) -> bool:
        """From now on nothing is signed and deadlines stand still; False where that is so already."""
        with self._write() as transaction:
            return pauses.begin(transaction, by, reason, self.clock())

    def resume_all(self, by: str) -> bool:
        """Ends the pause; False where there is none."""
        with self._write() as transaction:
            return pauses.end(transaction, by, self.clock())

    # -- inside ----------------------------------------------------------------------------------------------------

    def _is_over(self, transaction: Transaction, row: ApprovalRow, earlier: datetime | None = None) -> bool:
        now, expires_at = self.clock(), min(row.expires_at, earlier or row.expires_at)
        if now < expires_at:
            return False
        return now >= pauses.deadline(row.created_at, expires_at, now, pauses.all_pauses(transaction))

    def _move(self, transaction: Transaction, row: ApprovalRow, after: Status, **values: Any) -> ApprovalRow:
        """The one way in which a status changes: compare-and-set, and an entry in the chain."""
        new = values | {"status": after}
        named = {f"new_{column}": value for column, value in new.items()}
        moved = transaction.change(sql.move(*sorted(new)), named | {"of": row.id, "before": row.status})
        if moved != 1:
            raise RuntimeError(f"{row.id} was not {row.status} inside the ledger's own transaction")
        changed = replace(row, status=after, **values)
        chain.append(transaction, after, changed, self.clock())
        return changed

    @contextmanager
    def _write(self, database: Transactions | None = None) -> Iterator[Transaction]:
        with (database or self._database).writing() as transaction:
            if transaction.dialect.name == "postgresql":
                transaction.rows(_LOCK)
            yield transaction


def _before(status: Status) -> tuple[Status, ...]:
    return ("approved", "unknown") if status in AFTER_APPROVAL else (status,)


def _paused(transaction: Transaction) -> bool:
    return any(pause.resumed_at is None for pause in pauses.all_pauses(transaction))


def _same(row: ApprovalRow, proposal: Proposal) -> bool:
    return (row.digest, row.proposed, row.arguments) == (proposal.digest, proposal.proposed, proposal.arguments)


def _get(transaction: Transaction, approval_id: str) -> ApprovalRow | None:
    return next(iter(sql.by_ids(transaction, [approval_id])), None)
