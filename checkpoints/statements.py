"""The ledger's SQL."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from checkpoints.records import ApprovalRow, Assurance, Status
from checkpoints.tables import approvals, signatures
from checkpoints.transactions import Prepared, Transaction

_ROW = sa.select(*(approvals.c[name] for name in ApprovalRow.__dataclass_fields__))
_IN_ORDER = (approvals.c.created_at, approvals.c.id)


def one_of(column: sa.Column[Any], values: Iterable[str]) -> sa.ColumnElement[bool]:
    """Whether a column is one of these values."""
    return _in(column, [sa.bindparam(None, value, type_=column.type) for value in values])


def _in(column: sa.Column[Any], values: Sequence[sa.BindParameter[Any]]) -> sa.ColumnElement[bool]:
    return column.in_(values) if values else sa.false()


UNSETTLED = sa.and_(approvals.c.settled_at.is_(None), approvals.c.status != "pending")
"""Decided, but the thread has not taken note. The partial index ``ix_approvals_unsettled`` is for this."""

_OF_THREAD = _ROW.where(approvals.c.thread_id == sa.bindparam("thread_id")).order_by(*_IN_ORDER)
OF_THREAD = Prepared(_OF_THREAD)
UNSETTLED_OF_THREAD = Prepared(_OF_THREAD.where(UNSETTLED))
UNSETTLED_THREADS = Prepared(
    sa.select(approvals.c.thread_id).distinct().where(UNSETTLED).order_by(approvals.c.thread_id)
)
ALL = Prepared(_ROW.order_by(*_IN_ORDER))

TWINS = Prepared(
    _ROW.where(approvals.c.status == "pending", approvals.c.digest == sa.bindparam("digest"))
    .order_by(*_IN_ORDER)
    .limit(3)
)
"""Approvals of the same digest that wait: the same call on the same facts."""
OF_REQUESTER = Prepared(
    sa.select(approvals.c.preview).where(
        approvals.c.requested_by == sa.bindparam("requested_by"),
        approvals.c.created_at <= sa.bindparam("until"),
        approvals.c.call != sa.bindparam("but"),
        sa.or_(
            one_of(approvals.c.status, ["pending", "approved"]),
            sa.and_(
                one_of(approvals.c.status, ["executed", "unknown"]), approvals.c.decided_at >= sa.bindparam("since")
            ),
        ),
    )
)
"""What one requester got since some time, or may still get."""

WAITING = Prepared(
    sa.select(sa.func.count())
    .select_from(approvals)
    .where(approvals.c.status == "pending", approvals.c.requested_by == sa.bindparam("requested_by"))
)
"""How many approvals of one requester wait."""

INSERT = Prepared(sa.insert(approvals))
SIGN = Prepared(sa.insert(signatures))
SIGN_SURER = Prepared(
    sa.update(signatures)
    .where(signatures.c.approval_id == sa.bindparam("of"), signatures.c.signed_by == sa.bindparam("signer"))
    .values({column: sa.bindparam(f"new_{column}") for column in ("assurance", "digest", "signed_at")})
)
"""The same person signs once more, known more surely."""

_MOVE = sa.update(approvals).where(approvals.c.id == sa.bindparam("of"), approvals.c.status == sa.bindparam("before"))


@cache
def move(*columns: str) -> Prepared:
    """Compare-and-set of some columns of one approval: ``of`` and ``before`` name it and the status it must have."""
    return Prepared(_MOVE.values({column: sa.bindparam(f"new_{column}") for column in columns}))


@cache
def of_thread_in(*statuses: Status) -> Prepared:
    """A thread's approvals in these states, oldest first."""
    return Prepared(_OF_THREAD.where(one_of(approvals.c.status, statuses)))


def select_where(*where: sa.ColumnElement[bool], limit: int | None = None) -> Prepared:
    """Approvals that meet conditions, oldest first, for the questions that are asked rarely."""
    return Prepared(_ROW.where(*where).order_by(*_IN_ORDER).limit(limit))


def rows(transaction: Transaction, query: Prepared, **values: Any) -> list[ApprovalRow]:
    """Runs a query that selects approvals."""
    return [_approval(row) for row in transaction.rows(query, values)]


def by_ids(transaction: Transaction, ids: Sequence[str]) -> list[ApprovalRow]:
    """Approvals by their whole ids, oldest first; those that there are not are left out."""
    return rows(transaction, _by_ids(len(ids)), **_numbered(ids))


def latest(transaction: Transaction, calls: Sequence[str]) -> dict[str, ApprovalRow]:
    """The newest round of each call that has one."""
    return {row.call: row for row in rows(transaction, _by_calls(len(calls)), **_numbered(calls))}


def signatures_of(transaction: Transaction, approval_ids: Sequence[str]) -> dict[str, dict[str, Assurance]]:
    """Who has signed each approval, and how surely each is known; approvals without a signature are left out."""
    found: dict[str, dict[str, Assurance]] = {}
    for approval_id, name, assurance in transaction.rows(_signed_by(len(approval_ids)), _numbered(approval_ids)):
        found.setdefault(approval_id, {})[name] = assurance
    return found


def all_rows(transaction: Transaction) -> Iterator[ApprovalRow]:
    """Every approval, a few at a time."""
    for row in transaction.stream(ALL):
        yield _approval(row)


@cache
def _by_ids(count: int) -> Prepared:
    return Prepared(_ROW.where(_among(approvals.c.id, count)).order_by(*_IN_ORDER))


@cache
def _by_calls(count: int) -> Prepared:
    return Prepared(_ROW.where(_among(approvals.c.call, count)).order_by(approvals.c.round))


@cache
def _signed_by(count: int) -> Prepared:
    columns = signatures.c.approval_id, signatures.c.signed_by, signatures.c.assurance
    return Prepared(sa.select(*columns).where(_among(signatures.c.approval_id, count)))


def _among(column: sa.Column[Any], count: int) -> sa.ColumnElement[bool]:
    """Whether a column is one of so many values, each bound by its number, so that the text can be kept."""
    return _in(column, [sa.bindparam(str(number), type_=column.type) for number in range(count)])


def _numbered(values: Sequence[str]) -> dict[str, str]:
    return {str(number): value for number, value in enumerate(values)}


def _approval(row: list[Any]) -> ApprovalRow:
    values = dict(zip(ApprovalRow.__dataclass_fields__, row, strict=True))
    values["notes"] = tuple(values["notes"])
    return ApprovalRow(**values)
