"""A hash chain over the operations: an effect's record that was changed or removed afterwards is found and named."""

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from erp_mcp.store.prepared import Prepared
from erp_mcp.store.tables import operations
from erp_mcp.store.transaction import Tx

START: Final = "0" * 64
"""What the first operation follows."""

_LAST = Prepared(sa.select(operations.c.seq, operations.c.hash).order_by(operations.c.seq.desc()).limit(1))
_APPEND = Prepared(sa.insert(operations).inline())


def append_operation(tx: Tx, values: dict[str, Any]) -> None:
    """Writes an operation as the newest link, in the effect's own transaction, which is the ERP's only writer.

    Args:
        tx: a write transaction.
        values: every column but the chain's own.
    """
    last = tx.row(_LAST)
    seq, previous = (1, START) if last is None else (last.seq + 1, last.hash)
    linked = values | {"seq": seq, "previous": previous}
    tx.change(_APPEND, **linked, hash=_hash(linked))


def operation_problems(tx: Tx) -> Iterator[str]:
    """What does not fit, one line each; nothing where the chain is whole.

    Operations cut off at the newest end leave no trace here: the agent's ledger holds their receipts.
    """
    seq, previous = 0, START
    for row in tx.connection.execute(sa.select(operations).order_by(operations.c.seq)).mappings():
        if row["seq"] != seq + 1:
            yield f"operations {seq + 1} to {row['seq'] - 1} were removed"
        elif row["previous"] != previous:
            yield f"operation {row['approval_id']} does not follow the one before it"
        if _hash({name: value for name, value in row.items() if name != "hash"}) != row["hash"]:
            yield f"operation {row['approval_id']} was changed"
        seq, previous = row["seq"], row["hash"]


def _hash(values: dict[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    raise TypeError(f"{type(value).__name__} has no place in an operation")
