"""Numbers that are given when something is done, and nowhere else: no preview shows one, no digest binds one."""

from collections.abc import Callable
from datetime import date
from typing import Any

import sqlalchemy as sa

from erp_mcp.store.tables import sequences
from erp_mcp.store.transaction import Tx


def next_number(tx: Tx, kind: str, write: Callable[[date, int], str], taken: sa.Column[Any]) -> str:
    """The business day's next free number.

    Args:
        tx: a write transaction.
        kind: of the sequence, for example ``order``.
        write: how a day and a number within it are written.
        taken: the key of the rows that are numbered; an imported one may have taken a number already.
    """
    name = f"{kind}:{tx.business_date.isoformat()}"
    while True:
        value = tx.connection.execute(
            sa.update(sequences)
            .where(sequences.c.name == name)
            .values(value=sequences.c.value + 1)
            .returning(sequences.c.value)
        ).scalar_one_or_none()
        if value is None:
            value = 1
            tx.connection.execute(sa.insert(sequences).values(name=name, value=value))
        number = write(tx.business_date, value)
        if tx.connection.execute(sa.select(taken).where(taken == number)).first() is None:
            return number
