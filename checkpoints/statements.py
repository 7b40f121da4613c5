"""The ledger's SQL, written once: SQLAlchemy takes half the time for a statement that it has seen before."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from checkpoints.records import ApprovalRow, Assurance
from checkpoints.tables import approvals, signatures

_ROW = sa.select(*(approvals.c[name] for name in ApprovalRow.__dataclass_fields__))
_IN_ORDER = (approvals.c.created_at, approvals.c.id)

UNSETTLED = sa.and_(approvals.c.settled_at.is_(None), approvals.c.status != "pending")
"""Decided, but the thread has not taken note. The partial index ``ix_approvals_unsettled`` is for this."""

BY_IDS = _ROW.where(approvals.c.id.in_(sa.bindparam("ids", expanding=True))).order_by(*_IN_ORDER)
BY_CALLS = _ROW.where(approvals.c.call.in_(sa.bindparam("calls", expanding=True))).order_by(approvals.c.round)
OF_THREAD = _ROW.where(approvals.c.thread_id == sa.bindparam("thread_id")).order_by(*_IN_ORDER)
PENDING_OF_THREAD = OF_THREAD.where(approvals.c.status == "pending")
UNSETTLED_OF_THREAD = OF_THREAD.where(UNSETTLED)
UNSETTLED_THREADS = sa.select(approvals.c.thread_id).distinct().where(UNSETTLED).order_by(approvals.c.thread_id)
SIGNED_BY = sa.select(signatures.c.approval_id, signatures.c.signed_by, signatures.c.assurance).where(
    signatures.c.approval_id.in_(sa.bindparam("ids", expanding=True))
)

TWINS = (
    _ROW.where(approvals.c.status == "pending", approvals.c.digest == sa.bindparam("digest"))
    .order_by(*_IN_ORDER)
    .limit(3)
)
"""Approvals of the same digest that wait: the same call on the same facts."""
OF_REQUESTER = sa.select(approvals.c.preview).where(
    approvals.c.requested_by == sa.bindparam("requested_by"),
    approvals.c.created_at <= sa.bindparam("until"),
    approvals.c.call != sa.bindparam("but"),
    sa.or_(
        approvals.c.status.in_(("pending", "approved")),
        sa.and_(approvals.c.status.in_(("executed", "unknown")), approvals.c.decided_at >= sa.bindparam("since")),
    ),
)
"""What one requester got since some time, or may still get."""

WAITING = (
    sa.select(sa.func.count())
    .select_from(approvals)
    .where(approvals.c.status == "pending", approvals.c.requested_by == sa.bindparam("requested_by"))
)
"""How many approvals of one requester wait."""

INSERT = sa.insert(approvals)
SIGN = sa.insert(signatures)
SIGN_SURER = sa.update(signatures).where(
    signatures.c.approval_id == sa.bindparam("of"), signatures.c.signed_by == sa.bindparam("signer")
)
"""The same person signs once more, known more surely."""

_MOVE = sa.update(approvals).where(approvals.c.id == sa.bindparam("of"), approvals.c.status == sa.bindparam("before"))


@cache
def move(*columns: str) -> sa.Update:
    """Compare-and-set of some columns of one approval: ``of`` and ``before`` name it and the status it must have."""
    return _MOVE.values({column: sa.bindparam(f"new_{column}", type_=approvals.c[column].type) for column in columns})


def select_where(*where: sa.ColumnElement[bool], limit: int | None = None) -> sa.Select[Any]:
    """Approvals that meet conditions, oldest first, for the questions that are asked rarely."""
    return _ROW.where(*where).order_by(*_IN_ORDER).limit(limit)


def rows(connection: sa.Connection, query: sa.Select[Any], **values: Any) -> list[ApprovalRow]:
    """Runs a query that selects approvals."""
    return [_approval(row) for row in connection.execute(query, values)]


def signatures_of(connection: sa.Connection, approval_ids: Sequence[str]) -> dict[str, dict[str, Assurance]]:
    """Who has signed each approval, and how surely each is known; approvals without a signature are left out."""
    found: dict[str, dict[str, Assurance]] = {}
    for approval_id, name, assurance in connection.execute(SIGNED_BY, {"ids": list(approval_ids)}):
        found.setdefault(approval_id, {})[name] = assurance
    return found


def all_rows(connection: sa.Connection) -> Iterator[ApprovalRow]:
    """Every approval, a few at a time."""
    for row in connection.execution_options(yield_per=1000).execute(_ROW.order_by(*_IN_ORDER)):
        yield _approval(row)


def _approval(row: Any) -> ApprovalRow:
    values = dict(zip(ApprovalRow.__dataclass_fields__, row, strict=True))
    return ApprovalRow(**values | {"notes": tuple(values["notes"])})
