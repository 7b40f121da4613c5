"""The tables that stand beside LangGraph's own: the approval ledger, the leases, and other servers' tools."""

from datetime import UTC, datetime
from typing import get_args

import sqlalchemy as sa
from sqlalchemy import CheckConstraint, Column, Index, Integer, String, Table, Text, UniqueConstraint

from checkpoints.records import Status

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


class UtcTime(sa.types.TypeDecorator[datetime]):
    """An aware UTC time, kept as text of fixed width: it sorts, compares and reads the same in both databases."""

    impl = String(27)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> datetime | None:
        return None if value is None else datetime.fromisoformat(value)


approvals = Table(
    "approvals",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("thread_id", String, nullable=False),
    Column("message_id", String, nullable=False, comment="the model's message that holds the call"),
    Column("call_id", String, nullable=False, comment="the model's id of the call; models reuse these"),
    Column("call", String(64), nullable=False, comment="hash of thread, message and call: one call, one effect"),
    Column("round", Integer, nullable=False),
    Column("tool", String, nullable=False),
    Column("proposed", sa.JSON, nullable=False, comment="arguments as the model gave them"),
    Column("arguments", sa.JSON, nullable=False, comment="arguments that run: the model's, or an approver's edit"),
    Column("preview", sa.JSON, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("policy", sa.JSON, nullable=False, comment="what the policy asked for when it was opened"),
    Column("amount", sa.BigInteger, comment="the largest amount in the preview, in ten-thousandths of its currency"),
    Column("notes", sa.JSON, nullable=False, comment="what the agent's side adds for the approver, such as a twin"),
    Column("together", sa.Boolean, nullable=False, comment="runs with the others of its message, all or nothing"),
    Column("status", String, nullable=False),
    Column("requested_by", Text, nullable=False),
    Column("request", Text, nullable=False, comment="the requester's words"),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    Column("decided_by", Text),
    Column("assurance", String, comment="how surely decided_by is known: asserted or token"),
    Column("decided_at", UtcTime),
    Column("reason", Text),
    Column("settled_at", UtcTime, comment="when the thread took note of the decision"),
    Column("outcome", sa.JSON, comment="receipt of what was done, or why nothing was"),
    Column("supersedes", String(40), comment="the approval of the round before"),
    UniqueConstraint("call", "round"),
    CheckConstraint(sa.column("status").in_(get_args(Status)), name="status"),
    CheckConstraint(
        "decided_by IS NOT NULL OR status IN ('pending', 'expired', 'superseded')",
        name="decided",
    ),
    Index("ix_approvals_status_created_at_id", "status", "created_at", "id"),
    Index("ix_approvals_thread_id_created_at", "thread_id", "created_at"),
    Index("ix_approvals_status_expires_at", "status", "expires_at"),
    Index("ix_approvals_status_digest", "status", "digest"),
    Index("ix_approvals_requested_by_created_at", "requested_by", "created_at"),
    Index(
        "ix_approvals_unsettled",
        "created_at",
        sqlite_where=sa.text("settled_at IS NULL AND status <> 'pending'"),
        postgresql_where=sa.text("settled_at IS NULL AND status <> 'pending'"),
    ),
    comment="who decided what; rows are never deleted, and status moves only by compare-and-set",
)

signatures = Table(
    "signatures",
    metadata,
    Column("approval_id", sa.ForeignKey("approvals.id"), primary_key=True),
    Column("signed_by", Text, primary_key=True, comment="one person signs one approval once"),
    Column("assurance", String, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("signed_at", UtcTime, nullable=False),
    comment="who approved; an approval that needs two people has two rows",
)

entries = Table(
    "entries",
    metadata,
    Column("seq", sa.BigInteger, primary_key=True, autoincrement=False, comment="without gaps"),
    Column("approval_id", String(40), nullable=False),
    Column("event", String, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("row_hash", String(64), nullable=False, comment="of the approval as it stood after the event"),
    Column("previous", String(64), nullable=False, comment="hash of the entry before"),
    Column("hash", String(64), nullable=False),
    comment="append-only: every move of the ledger, chained, so that a row that was changed or removed is found",
)

pauses = Table(
    "pauses",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("paused_at", UtcTime, nullable=False),
    Column("paused_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("resumed_at", UtcTime),
    Column("resumed_by", Text),
    comment="while one is open nothing is signed, and deadlines stand still",
)

leases = Table(
    "leases",
    metadata,
    Column("thread_id", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("expires_at", UtcTime, nullable=False),
    comment="who runs a thread just now; one that stays behind marks a run that a crash cut off",
)

definitions = Table(
    "definitions",
    metadata,
    Column("server", String, primary_key=True),
    Column("tool", String, primary_key=True, comment="its name on that server"),
    Column("hash", String(64), primary_key=True),
    Column("alias", String, nullable=False, comment="its name for the model, the same for all its definitions"),
    Column("definition", sa.JSON, nullable=False),
    Column("first_seen_at", UtcTime, nullable=False),
    Column("seen_at", UtcTime, nullable=False, comment="when it replaced another one; the newest is the current one"),
    Column("accepted_at", UtcTime),
    Column("accepted_by", Text, comment="a person, or first use"),
    comment="what other servers' tools said of themselves, and who accepted it; rows are never deleted",
)
