"""One approval, and two or eight processes that do something to it at the same moment: one effect or none, and each of
them is told what the ledger says.
"""

import os
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
import sqlalchemy as sa
from langchain_core.messages import HumanMessage

from checkpoints.records import ApprovalRow
from erp_mcp.store.tables import operations
from graph.app import open_agent
from graph.books import verify_records
from graph.run import Approval, Run
from graph.settings import Settings
from graph.threads import Agent
from tests.acceptance.chaos.racers import Act, Racers, Told, Turn, open_racers
from tests.acceptance.chaos.worlds import BACKENDS, make_template
from tests.integration.agent_fixtures import answers_to, assert_books_agree
from tests.integration.conftest import pg_server

__all__ = ["pg_server"]

pytestmark = [pytest.mark.acceptance, pytest.mark.chaos, pytest.mark.timeout(3600)]

ROUNDS: Final = int(os.environ.get("COUNTERSIGN_CHAOS_ROUNDS", "100"))
APPROVERS: Final = ("andrew", "laura")
DEADLINE: Final = timedelta(milliseconds=80)
"""From the opening of an approval that is about to expire; the race begins on either side of it."""

CONNECTIONS_EACH: Final = 7
"""Of one open agent to PostgreSQL, measured: four to the checkpoint database, up to three to the ERP."""

RACES: Final[tuple[Act, ...]] = ("approve", "reject", "edit", "message", "expire", "change")


@pytest.fixture(scope="module", params=BACKENDS)
def settings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Northwind on each database, for all races; when they are over, both records must be whole and agree."""
    server = request.getfixturevalue("pg_server") if request.param == "postgresql" else ""
    with (
        make_template(request.param, tmp_path_factory.mktemp("template"), server) as template,
        template.copy(tmp_path_factory.mktemp("race")) as made,
    ):
        yield made
        assert_books_agree(made)
        assert verify_records(made) == []


@pytest.fixture(scope="module", params=[2, 8], ids=lambda count: f"{count} processes")
def racers(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Racers]:
    """Two or eight processes that stay open, where the PostgreSQL server can take as many beside its other users."""
    if settings.erp_url and (free := free_connections(settings.erp_url)) < request.param * CONNECTIONS_EACH:
        reason = f"PostgreSQL has {free} connections free, too few for {request.param} processes"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with open_racers(settings, request.param) as opened:
        yield opened


def free_connections(url: str) -> int:
    """How many more connections the PostgreSQL server takes."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        most = int(connection.execute(sa.text("SHOW max_connections")).scalar_one())
        return most - int(connection.execute(sa.text("SELECT count(*) FROM pg_stat_activity")).scalar_one())


@pytest.mark.guarantee("once", "first-decision-wins", "never-silent", "B6")
@pytest.mark.parametrize("other", RACES)
async def test_approve_against(settings: Settings, racers: Racers, other: Act) -> None:
    """Whoever is first: at most one effect, no process fails, and what each caller hears is what the ledger holds."""
    chance = random.Random(other)
    async with open_agent(settings, clock=behind if other == "expire" else now) as agent:
        for number in range(ROUNDS):
            args = {"sku": "NW-011", "delta": 2, "reason": "counted"}
            asked = (await agent.call("adjust_stock", args, requested_by="nancy")).pending[0]
            turns = [turn_of(place, other, asked) for place in range(racers.count)]
            chance.shuffle(turns)
            told = racers.race(turns)
            where = f"round {number}: {[(one.turn.act, one.turn.who, one.outcome) for one in told]}"
            await assert_typed(agent, asked, told, where)


def now() -> datetime:
    """The time."""
    return datetime.now(UTC)


def behind() -> datetime:
    """A clock by which an approval that is opened now is about to expire by everybody else's."""
    return now() - timedelta(days=30) + DEADLINE


def turn_of(place: int, other: Act, asked: Approval) -> Turn:
    """Approvals on even places, the other act on odd ones."""
    act: Act = other if place % 2 else "approve"
    who = APPROVERS[place % 2]
    if act == "message":
        who = f"{place}!" if place % 4 == 1 else str(place)
    return Turn(act, who, asked)


async def assert_typed(agent: Agent, asked: Approval, told: list[Told], where: str) -> None:
    """Everything that has to be so after a race, whoever won it."""
    assert [one.note for one in told if one.outcome == "crashed"] == []
    await agent.recover()
    rows = {row.id: row for row in agent.services.ledger.of_thread(asked.thread_id)}
    done = operations_of(agent, list(rows))
    row = rows[asked.approval_id]
    assert list(done) == [row.id] * (row.status == "executed"), where
    for one in told:
        assert one.outcome in EXPECTED[one.turn.act], where
        assert one.outcome not in SAYS or SAYS[one.outcome](row, one.turn.who), where
    assert sum(one.outcome == "executed" for one in told) == (row.status == "executed"), where
    receipts = [one.receipts for one in told if one.outcome in {"executed", "already_executed"}]
    assert all(len(one) == 1 and one == receipts[0] for one in receipts), where
    run = await agent.run(asked.thread_id)
    assert_whole_conversation(run, told, where)
    waiting = [other.id for other in rows.values() if other.status == "pending"]
    assert len(waiting) == (row.status == "stale" or (row.status, row.reason) == ("superseded", "edited")), where
    assert [approval.approval_id for approval in run.pending] == waiting, where


EXPECTED: Final = {
    "approve": {"executed", "already_executed", "already_decided", "superseded", "expired", "stale"},
    "reject": {"rejected", "already_decided"},
    "edit": {"superseded", "already_decided"},
    "message": {"answered", "refused"},
    "expire": {"done"},
    "change": {"done"},
}
"""What each caller may be told."""

SAYS: Final[dict[str, Callable[[ApprovalRow, str], bool]]] = {
    "executed": lambda row, who: (row.status, row.decided_by) == ("executed", who),
    "already_executed": lambda row, who: row.status == "executed",
    "rejected": lambda row, who: (row.status, row.decided_by) == ("rejected", who),
    "already_decided": lambda row, who: row.status in {"executed", "rejected"},
    "superseded": lambda row, who: row.status == "superseded",
    "expired": lambda row, who: (row.status, row.decided_by) == ("expired", None),
    "stale": lambda row, who: row.status == "stale",
}
"""What the ledger must say where a caller is told so: the approval, and that caller's name."""


def assert_whole_conversation(run: Run, told: list[Told], where: str) -> None:
    """Every message that was taken is there once, none that was refused, and every call has one result at most."""
    said = [str(message.text) for message in run.messages if isinstance(message, HumanMessage)]
    for one in told:
        if one.turn.act == "message":
            assert sum(f"({one.turn.who})" in text for text in said) == (one.outcome == "answered"), where
    assert all(len(texts) <= 1 for texts in answers_to(run).values()), where
    if run.status == "done":
        assert all(len(texts) == 1 for texts in answers_to(run).values()), where


def operations_of(agent: Agent, approval_ids: list[str]) -> dict[str, Any]:
    """What the ERP did for these approvals."""
    engine = sa.create_engine(agent.services.settings.erp_database, poolclass=sa.NullPool)
    with engine.connect() as connection:
        found = connection.execute(sa.select(operations).where(operations.c.approval_id.in_(approval_ids)))
        return {operation.approval_id: operation for operation in found}
