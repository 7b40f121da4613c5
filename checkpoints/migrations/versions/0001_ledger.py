"""The approval ledger and the leases."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Makes what stands beside LangGraph's own tables."""
    op.create_table(
        "approvals",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("thread_id", sa.String(), nullable=False),
        sa.Column("message_id", sa.String(), nullable=False, comment="the model's message that holds the call"),
        sa.Column("call_id", sa.String(), nullable=False, comment="the model's id of the call; models reuse these"),
        sa.Column(
            "call",
            sa.String(length=64),
            nullable=False,
            comment="hash of thread, message and call: one call, one effect",
        ),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("proposed", sa.JSON(), nullable=False, comment="arguments as the model gave them"),
        sa.Column(
            "arguments", sa.JSON(), nullable=False, comment="arguments that run: the model's, or an approver's edit"
        ),
        sa.Column("preview", sa.JSON(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("policy", sa.JSON(), nullable=False, comment="what the policy asked for when it was opened"),
        sa.Column(
            "amount",
            sa.BigInteger(),
            nullable=True,
            comment="the largest amount in the preview, in ten-thousandths of its currency",
        ),
        sa.Column(
            "notes", sa.JSON(), nullable=False, comment="what the agent's side adds for the approver, such as a twin"
        ),
        sa.Column(
            "together", sa.Boolean(), nullable=False, comment="runs with the others of its message, all or nothing"
        ),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("requested_by", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False, comment="the requester's words"),
        sa.Column("created_at", sa.String(27), nullable=False),
        sa.Column("expires_at", sa.String(27), nullable=False),
        sa.Column("decided_by", sa.Text(), nullable=True),
        sa.Column("assurance", sa.String(), nullable=True, comment="how surely decided_by is known: asserted or token"),
        sa.Column("decided_at", sa.String(27), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("settled_at", sa.String(27), nullable=True, comment="when the thread took note of the decision"),
        sa.Column("outcome", sa.JSON(), nullable=True, comment="receipt of what was done, or why nothing was"),
        sa.Column("supersedes", sa.String(length=40), nullable=True, comment="the approval of the round before"),
        sa.CheckConstraint(
            "decided_by IS NOT NULL OR status IN ('pending', 'expired', 'superseded')",
            name=op.f("ck_approvals_decided"),
        ),
        sa.CheckConstraint(
            "status IN ('pending', 'approved', 'rejected', 'expired', 'superseded', "
            "'executed', 'stale', 'failed', 'unknown')",
            name=op.f("ck_approvals_status"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
        sa.UniqueConstraint("call", "round", name=op.f("uq_approvals_call_round")),
        comment="who decided what; rows are never deleted, and status moves only by compare-and-set",
    )
    op.create_index("ix_approvals_requested_by_created_at", "approvals", ["requested_by", "created_at"], unique=False)
    op.create_index("ix_approvals_status_created_at_id", "approvals", ["status", "created_at", "id"], unique=False)
    op.create_index("ix_approvals_status_digest", "approvals", ["status", "digest"], unique=False)
    op.create_index("ix_approvals_status_expires_at", "approvals", ["status", "expires_at"], unique=False)
    op.create_index("ix_approvals_thread_id_created_at", "approvals", ["thread_id", "created_at"], unique=False)
    op.create_index(
        "ix_approvals_unsettled",
        "approvals",
        ["created_at"],
        unique=False,
        sqlite_where=sa.text("settled_at IS NULL AND status <> 'pending'"),
        postgresql_where=sa.text("settled_at IS NULL AND status <> 'pending'"),
    )
    op.create_table(
        "definitions",
        sa.Column("server", sa.String(), nullable=False),
        sa.Column("tool", sa.String(), nullable=False, comment="its name on that server"),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column(
            "alias", sa.String(), nullable=False, comment="its name for the model, the same for all its definitions"
        ),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("first_seen_at", sa.String(27), nullable=False),
        sa.Column(
            "seen_at",
            sa.String(27),
            nullable=False,
            comment="when it replaced another one; the newest is the current one",
        ),
        sa.Column("accepted_at", sa.String(27), nullable=True),
        sa.Column("accepted_by", sa.Text(), nullable=True, comment="a person, or first use"),
        sa.PrimaryKeyConstraint("server", "tool", "hash", name=op.f("pk_definitions")),
        comment="what other servers' tools said of themselves, and who accepted it; rows are never deleted",
    )
    op.create_table(
        "entries",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False, comment="without gaps"),
        sa.Column("approval_id", sa.String(length=40), nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("at", sa.String(27), nullable=False),
        sa.Column(
            "row_hash", sa.String(length=64), nullable=False, comment="of the approval as it stood after the event"
        ),
        sa.Column("previous", sa.String(length=64), nullable=False, comment="hash of the entry before"),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_entries")),
        comment="append-only: every move of the ledger, chained, so that a row that was changed or removed is found",
    )
    op.create_table(
        "leases",
        sa.Column("thread_id", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("expires_at", sa.String(27), nullable=False),
        sa.PrimaryKeyConstraint("thread_id", name=op.f("pk_leases")),
        comment="who runs a thread just now; one that stays behind marks a run that a crash cut off",
    )
    op.create_table(
        "pauses",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("paused_at", sa.String(27), nullable=False),
        sa.Column("paused_by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("resumed_at", sa.String(27), nullable=True),
        sa.Column("resumed_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pauses")),
        comment="while one is open nothing is signed, and deadlines stand still",
    )
    op.create_table(
        "signatures",
        sa.Column("approval_id", sa.String(length=40), nullable=False),
        sa.Column("signed_by", sa.Text(), nullable=False, comment="one person signs one approval once"),
        sa.Column("assurance", sa.String(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("signed_at", sa.String(27), nullable=False),
        sa.ForeignKeyConstraint(
            ["approval_id"],
            ["approvals.id"],
        ),
        sa.PrimaryKeyConstraint("approval_id", "signed_by", name=op.f("pk_signatures")),
        comment="who approved; an approval that needs two people has two rows",
    )
