"""LangGraph's checkpointer, on the same database as the ledger but on a connection of its own.

Sharing a connection would commit the ledger's open transaction with each checkpoint.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, TypeVar

# Read by LangGraph's serializer when it is imported: checkpoints hold only plain data, and nothing else is revived.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")

import sqlalchemy as sa
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.sqlite import SqliteSaver

from checkpoints.database import BUSY_TIMEOUT_MS, sqlite_path

T = TypeVar("T")


@asynccontextmanager
async def open_saver(url: sa.URL, *, own_loop: bool = False) -> AsyncIterator[BaseCheckpointSaver[str]]:
    """A checkpointer for the running event loop, with its tables made.

    Args:
        url: from ``checkpoints.database.database_url``.
        own_loop: the event loop is ours alone, and may be held up for the fraction of a millisecond that a checkpoint
            takes (a trip to a thread takes longer); another writer's lock holds it up as well.
    """
    path = sqlite_path(url)
    if path is None:
        async with _open_postgres(url) as saver:
            yield saver
        return
    worker = ThreadPoolExecutor(1, "countersign-checkpoints")
    sqlite = await asyncio.get_running_loop().run_in_executor(worker, ThreadSqliteSaver.open, path, worker, own_loop)
    try:
        yield sqlite
    finally:
        worker.shutdown()  # waits for what is under way; while the interpreter ends no thread takes new work
        sqlite.conn.close()


class ThreadSqliteSaver(SqliteSaver):
    """The sync saver in one thread of its own, for async graphs.

    ``AsyncSqliteSaver`` belongs to one event loop and crosses to its thread three times for one checkpoint; this
    crosses once, and any loop may use it.

    Args:
        conn: used by the worker's thread only.
        worker: with one thread.
        in_place: call it on the event loop's own thread instead.
    """

    def __init__(self, conn: sqlite3.Connection, worker: ThreadPoolExecutor, *, in_place: bool) -> None:
        super().__init__(conn)
        self._worker = worker
        self._in_place = in_place

    @classmethod
    def open(cls, path: Path, worker: ThreadPoolExecutor, in_place: bool) -> "ThreadSqliteSaver":
        """Opens a file and makes LangGraph's tables in it. Blocks."""
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_MS / 1000, check_same_thread=False)
        saver = cls(connection, worker, in_place=in_place)
        saver.setup()
        # A power cut may lose the newest checkpoints: their steps run again into already_executed. The ledger is FULL.
        with closing(connection.execute("PRAGMA synchronous=NORMAL")):
            return saver

    async def _there(self, function: Callable[..., T], *arguments: Any) -> T:
        if self._in_place:
            return function(*arguments)
        return await asyncio.get_running_loop().run_in_executor(self._worker, lambda: function(*arguments))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._there(self.get_tuple, config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self._there(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self._there(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await self._there(self.delete_thread, thread_id)

    async def aget_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, Any]:
        return await self._there(lambda: self.get_delta_channel_history(config=config, channels=channels))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        rows: Iterator[CheckpointTuple] = iter(
            await self._there(lambda: list(self.list(config, filter=filter, before=before, limit=limit)))
        )
        for row in rows:
            yield row


@asynccontextmanager
async def _open_postgres(url: sa.URL) -> AsyncIterator[BaseCheckpointSaver[str]]:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    address = url.set(drivername="postgresql").render_as_string(hide_password=False)
    async with AsyncPostgresSaver.from_conn_string(address) as saver:
        await saver.setup()
        yield saver
