"""What was done, for the audit: one row per executed approval."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from erp_mcp.contract import JsonObject, Wire
from erp_mcp.queries.lookup import find_order
from erp_mcp.store.tables import operations
from erp_mcp.store.transaction import Tx


class OperationRow(Wire):
    """One effect: who let it happen, what they saw, what was done."""

    approval_id: str
    call: str
    tool: str
    arguments: JsonObject
    digest: str
    approver: str
    requested_by: str
    executed_at: datetime
    preview: JsonObject
    receipt: JsonObject


def list_operations(
    tx: Tx,
    *,
    approval_ids: Sequence[str] | None = None,
    order_id: str | None = None,
    since: datetime | None = None,
) -> list[OperationRow]:
    """Executed operations, oldest first.

    Args:
        tx: the transaction.
        approval_ids: only these approvals.
        order_id: only what touched this order: its number as typed, ours or the imported one.
        since: an aware time; only what was executed then or later.

    Raises:
        ErpError: ``order_not_found``, ``ambiguous``.
    """
    shown = [operations.c[name] for name in OperationRow.model_fields]
    query = sa.select(*shown).order_by(operations.c.executed_at, operations.c.approval_id)
    if approval_ids is not None:
        query = query.where(operations.c.approval_id.in_(approval_ids))
    if since is not None:
        query = query.where(operations.c.executed_at >= since)
    number = None if order_id is None else str(find_order(tx, order_id).id)
    if number is not None:
        texts = [sa.cast(column, sa.Text) for column in (operations.c.preview, operations.c.receipt)]
        query = query.where(sa.or_(*(text.contains(number, autoescape=True) for text in texts)))
    rows = tx.connection.execute(query).mappings().all()
    # The text search narrows down; a longer number that contains this one, or a note that names it, is not it.
    return [OperationRow.model_validate(dict(row)) for row in rows if number is None or _touched(row, number)]


def _touched(row: sa.RowMapping, number: str) -> bool:
    targets = [target.get("id") for target in row["preview"].get("targets", [])]
    return number in targets or number in row["receipt"].get("result", {}).values()
