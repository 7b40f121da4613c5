"""The few facts about the installation itself: ``instance_id``, ``dataset``, ``currency``."""

import sqlalchemy as sa

from erp_mcp.store.tables import meta
from erp_mcp.store.transaction import Tx


def read_meta(tx: Tx) -> dict[str, str]:
    """All of them; a database without data has no ``dataset``."""
    return {row.key: row.value for row in tx.connection.execute(sa.select(meta))}


def write_meta(tx: Tx, key: str, value: str) -> None:
    """Set one of them."""
    tx.connection.execute(sa.delete(meta).where(meta.c.key == key))
    tx.connection.execute(sa.insert(meta).values(key=key, value=value))
