"""LangGraph's checkpointer, on the same database as the ledger but on a connection of its own.

Sharing a connection would commit the ledger's open transaction with each checkpoint.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

# Read by LangGraph's serializer when it is imported: checkpoints hold only plain data, and nothing else is revived.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")

import sqlalchemy as sa
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from checkpoints.database import BUSY_TIMEOUT_MS, sqlite_path


@asynccontextmanager
async def open_saver(url: sa.URL) -> AsyncIterator[BaseCheckpointSaver[str]]:
    """A checkpointer for the running event loop, with its tables made.

    Args:
        url: from ``checkpoints.database.database_url``.
    """
    path = sqlite_path(url)
    if path is None:
        async with _open_postgres(url) as saver:
            yield saver
        return
    async with AsyncSqliteSaver.from_conn_string(str(path)) as sqlite:
        await sqlite.conn.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
        await sqlite.setup()
        # A power cut may lose the newest checkpoints: their steps run again into already_executed. The ledger is FULL.
        await sqlite.conn.execute("PRAGMA synchronous=NORMAL")
        yield sqlite


@asynccontextmanager
async def _open_postgres(url: sa.URL) -> AsyncIterator[BaseCheckpointSaver[str]]:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    address = url.set(drivername="postgresql").render_as_string(hide_password=False)
    async with AsyncPostgresSaver.from_conn_string(address) as saver:
        await saver.setup()
        yield saver
