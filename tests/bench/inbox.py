"""The inbox and a decision, beside themselves with a thousandth of what waits: neither may grow with it."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from checkpoints import chain
from checkpoints.database import database_url, open_engine
from checkpoints.ledger import approval_id_of, call_key
from checkpoints.records import ApprovalRow
from checkpoints.tables import approvals, entries
from graph import approve
from graph.app import open_agent
from graph.desk import decide
from graph.settings import Settings
from graph.threads import Agent
from tests.bench.harness import Cycle
from tests.bench.model import ScriptedModel
from tests.bench.ours import prepare

FEW: Final = 100
MANY: Final = 100_000
PAGE: Final = 50
CHUNK: Final = 5_000

Opening = Callable[[Path], AbstractAsyncContextManager[Cycle]]


def first_page(waiting: int) -> Opening:
    """One look at the first page, as every entrance gives it.

    Args:
        waiting: how many approvals wait.
    """

    @asynccontextmanager
    async def opened(folder: Path) -> AsyncIterator[Cycle]:
        async with _agent(folder, waiting) as agent:

            async def cycle() -> None:
                if len(await agent.pending(limit=PAGE)) != PAGE:
                    raise RuntimeError("the page is not full")

            yield cycle

    return opened


def decision(waiting: int) -> Opening:
    """One approval by a person: rights, compare-and-set, chain; what is carried out afterwards is another figure.

    Args:
        waiting: how many approvals wait at first.
    """

    @asynccontextmanager
    async def opened(folder: Path) -> AsyncIterator[Cycle]:
        async with _agent(folder, waiting) as agent:
            shown = iter(await agent.pending(limit=FEW))

            async def cycle() -> None:
                (decided,) = await decide(agent.services, [approve(next(shown), by="andrew")], by="andrew")
                if decided.outcome != "recorded":
                    raise RuntimeError(f"it was not decided: {decided.outcome}")

            yield cycle

    return opened


@asynccontextmanager
async def _agent(folder: Path, waiting: int) -> AsyncIterator[Agent]:
    settings = prepare(folder)
    async with open_agent(settings, chat=ScriptedModel(tool="adjust_stock")) as agent:
        await agent.call("adjust_stock", {"sku": "NW-011", "delta": 1, "reason": "counted"}, requested_by="nancy")
        (row,) = agent.services.ledger.history()
        _multiply(settings, row, waiting - 1)
        yield agent


def _multiply(settings: Settings, row: ApprovalRow, times: int) -> None:
    """Opens an approval again and again, in threads of their own: whole rows, each an entry of the chain."""
    with open_engine(database_url(settings.checkpoint_database)).connect() as connection:
        last = connection.execute(sa.select(entries).order_by(entries.c.seq.desc())).mappings().first()
    before = dict(last or {})
    for begin in range(0, times, CHUNK):
        rows = [_copy(row, number) for number in range(begin, min(begin + CHUNK, times))]
        links = []
        for copy in rows:
            before = _link(before, copy)
            links.append(before)
        engine = open_engine(database_url(settings.checkpoint_database))
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            connection.execute(sa.insert(approvals), [vars(copy) for copy in rows])
            connection.execute(sa.insert(entries), links)
        engine.dispose()


def _copy(row: ApprovalRow, number: int) -> ApprovalRow:
    thread = str(uuid.UUID(int=number))
    call = call_key(thread, row.message_id, row.call_id)
    created = row.created_at + timedelta(milliseconds=1 + number)
    return replace(row, id=approval_id_of(call, 1), thread_id=thread, call=call, created_at=created)


def _link(before: dict[str, Any], row: ApprovalRow) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "seq": before["seq"] + 1, "approval_id": row.id, "event": "opened", "at": row.created_at,
        "row_hash": chain.row_hash(row), "previous": before["hash"],
    }  # fmt: skip
    return entry | {"hash": chain.entry_hash(entry)}
