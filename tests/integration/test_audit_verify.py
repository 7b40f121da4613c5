"""``audit --verify``: whatever somebody changes, adds or removes behind the records' backs is found and named."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import sqlalchemy as sa

from checkpoints.tables import approvals, entries, signatures
from erp_mcp.store.tables import operations
from graph import approve, reject
from graph.app import open_agent
from graph.books import verify_records
from graph.settings import Settings
from tests.integration.agent_fixtures import adjust, northwind_home

__all__ = ["northwind_home"]

pytestmark = pytest.mark.guarantee("accountable")

KEYS: Final = {approvals: approvals.c.id, entries: entries.c.seq, operations: operations.c.approval_id}
COLUMNS: Final = [
    pytest.param(table, column.name, id=f"{table.name}.{column.name}") for table in KEYS for column in table.columns
]
A_TIME: Final = datetime(2026, 1, 1, tzinfo=UTC)
WHERE_NOTHING_STOOD: Final = {"amount": 7, "decided_at": A_TIME, "settled_at": A_TIME}
"""What to write over a NULL; text elsewhere."""


@pytest.fixture
def settings(northwind_home: Path, tmp_path: Path) -> Settings:
    """A HOME of the test's own, which may be left in disorder."""
    return Settings(home=Path(shutil.copytree(northwind_home, tmp_path / "home")))


async def make_history(settings: Settings) -> None:
    """Two approvals that were executed, one rejected, one that waits; both records are whole."""
    async with open_agent(settings) as agent:
        for answer in (approve, approve, reject, None):
            run = await agent.call(*adjust("NW-011", 1), requested_by="nancy")
            if answer is not None:
                await agent.resume(run.thread_id, answer(run.pending[0], by="andrew"))
    assert verify_records(settings) == []


@contextmanager
def behind_its_back(settings: Settings, table: sa.Table) -> Iterator[sa.Connection]:
    """The file in the hands of somebody whom no check of ours stops."""
    url = settings.erp_database if table is operations else f"sqlite:///{settings.home / 'checkpoints.db'}"
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
        connection.execute(sa.text("PRAGMA ignore_check_constraints=ON"))
        yield connection


def keys(connection: sa.Connection, table: sa.Table) -> list[Any]:
    """The keys of a table's rows, oldest first."""
    order = {approvals: approvals.c.created_at, entries: entries.c.seq, operations: operations.c.seq}[table]
    return list(connection.scalars(sa.select(KEYS[table]).order_by(order)))


def other(column: str, value: Any) -> Any:
    """Another value of the same type."""
    if value is None:
        return WHERE_NOTHING_STOOD.get(column, "forged")
    if isinstance(value, bool):
        return not value
    if isinstance(value, datetime):
        return value + timedelta(seconds=1)
    if isinstance(value, int):
        return value + 1000
    if isinstance(value, str):
        return value[:-1] + ("y" if value.endswith("x") else "x")
    return {"forged": True}


@pytest.mark.parametrize(("table", "column"), COLUMNS)
async def test_any_changed_value_is_found(settings: Settings, table: sa.Table, column: str) -> None:
    """Each column of an approval, of an entry and of an operation, one at a time; the row is named."""
    await make_history(settings)
    with behind_its_back(settings, table) as connection:
        named = keys(connection, table)[0]
        of_it = KEYS[table] == named
        before = connection.execute(sa.select(table.c[column]).where(of_it)).scalar_one()
        connection.execute(sa.update(table).where(of_it).values({column: other(column, before)}))
    assert any(str(named) in problem for problem in verify_records(settings))


@pytest.mark.parametrize("place", [0, 1, -1], ids=["first", "middle", "last"])
@pytest.mark.parametrize("table", KEYS, ids=lambda table: table.name)
async def test_any_removed_row_is_found(settings: Settings, table: sa.Table, place: int) -> None:
    """At the beginning, in the middle and at the newest end; the approval that it was about is named."""
    await make_history(settings)
    with behind_its_back(settings, table) as connection:
        of_it = KEYS[table] == keys(connection, table)[place]
        named = connection.execute(sa.select(table.c.get("approval_id", KEYS[table])).where(of_it)).scalar_one()
        seq = connection.execute(sa.select(table.c.get("seq", KEYS[table])).where(of_it)).scalar_one()
        connection.execute(sa.delete(table).where(of_it))
    found = verify_records(settings)
    assert any(str(named) in problem or f"entries {seq} to {seq}" in problem for problem in found), found


@pytest.mark.parametrize("table", KEYS, ids=lambda table: table.name)
async def test_any_added_row_is_found(settings: Settings, table: sa.Table) -> None:
    """A copy of a real row under another key: an approval that nobody gave, an effect that nobody signed."""
    await make_history(settings)
    with behind_its_back(settings, table) as connection:
        of_it = KEYS[table] == keys(connection, table)[0]
        row = dict(connection.execute(sa.select(table).where(of_it)).mappings().one())
        forged = row | {name: other(name, row[name]) for name in ("id", "approval_id", "call", "seq") if name in row}
        connection.execute(sa.insert(table).values(forged))
    named = str(forged.get("approval_id", forged.get("id")))
    assert any(named in problem for problem in verify_records(settings))


@pytest.mark.parametrize("what", ["added", "removed", "signed_by", "digest", "assurance", "signed_at"])
async def test_a_forged_signature_is_found(settings: Settings, what: str) -> None:
    """Who signed, how surely known and when is part of the record: a second name under what waits for two, or a token
    where a name was only typed, would let it run."""
    await make_history(settings)
    with behind_its_back(settings, signatures) as connection:
        row = connection.execute(sa.select(signatures)).mappings().first()
        assert row is not None
        named, of_it = row["approval_id"], signatures.c.approval_id == row["approval_id"]
        if what == "added":
            connection.execute(sa.insert(signatures).values(dict(row) | {"signed_by": "laura"}))
        elif what == "removed":
            connection.execute(sa.delete(signatures).where(of_it))
        else:
            connection.execute(sa.update(signatures).where(of_it).values({what: other(what, row[what])}))
    assert any(named in problem for problem in verify_records(settings))


async def test_records_that_were_cut_off_together_are_found_by_the_other_one(settings: Settings) -> None:
    """The newest approval goes with all its entries: the chain shows nothing, the ERP still has the effect."""
    await make_history(settings)
    async with open_agent(settings) as agent:
        run = await agent.call(*adjust("NW-012", 1), requested_by="nancy")
        await agent.resume(run.thread_id, approve(run.pending[0], by="andrew"))
    named = run.pending[0].approval_id
    with behind_its_back(settings, approvals) as connection:
        for table, key in (
            (signatures, signatures.c.approval_id),
            (entries, entries.c.approval_id),
            (approvals, approvals.c.id),
        ):
            connection.execute(sa.delete(table).where(key == named))
    assert verify_records(settings) == [f"ERP: operation {named} has no approval in the ledger"]


async def test_the_first_of_two_signatures_cannot_be_made_surer(settings: Settings, tmp_path: Path) -> None:
    """It stands in an entry of its own: a name that was only typed does not become a token's in the file."""
    policy = tmp_path / "policy.toml"
    policy.write_text('[people.andrew]\n[people.laura]\n[[rules]]\nname = "four-eyes"\ntools = ["*"]\ncount = 2\n')
    used = settings.model_copy(update={"policy": policy})
    async with open_agent(used) as agent:
        run = await agent.call(*adjust("NW-011", 1), requested_by="nancy")
        await agent.resume(run.thread_id, approve(run.pending[0], by="laura"))
    assert verify_records(used) == []
    with behind_its_back(used, signatures) as connection:
        connection.execute(sa.update(signatures).values(assurance="token"))
    named = run.pending[0].approval_id
    assert verify_records(used) == [
        f"ledger: the signatures of approval {named} are not those that the ledger recorded"
    ]


async def test_two_peoples_signatures_are_whole(settings: Settings, tmp_path: Path) -> None:
    """Four eyes: after the first signature and after the second nothing is missing, and a third one is found."""
    policy = tmp_path / "policy.toml"
    policy.write_text('[people.andrew]\n[people.laura]\n[[rules]]\nname = "four-eyes"\ntools = ["*"]\ncount = 2\n')
    used = settings.model_copy(update={"policy": policy})
    async with open_agent(used) as agent:
        run = await agent.call(*adjust("NW-011", 1), requested_by="nancy")
        for by in ("laura", "andrew"):
            last = await agent.resume(run.thread_id, approve(run.pending[0], by=by))
            assert verify_records(used) == []
    assert last.outcome == "executed"
    with behind_its_back(used, signatures) as connection:
        row = connection.execute(sa.select(signatures)).mappings().first()
        assert row is not None
        connection.execute(sa.insert(signatures).values(dict(row) | {"signed_by": "nancy"}))
    found = [problem for problem in verify_records(used) if row["approval_id"] in problem]
    assert found == [f"ledger: the signatures of approval {row['approval_id']} are not those that the ledger recorded"]
