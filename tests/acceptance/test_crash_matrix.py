"""kill -9 at every step that the code has, and at any other moment, on both databases: another process goes on, no
effect is lost or doubled, no approval is lost, and the user gets an answer.

The steps are not written down here: a rehearsal tells which points a conversation passes, and it is then killed at each
of them. A new point in the code is a new kill by itself.
"""

import ast
import os
import random
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
import sqlalchemy as sa

from checkpoints.records import ApprovalRow
from erp_mcp.store.tables import operations, stock_moves
from graph.app import open_agent
from graph.books import verify_records
from graph.policy import BY_RULE
from graph.run import Run
from graph.settings import Settings
from graph.threads import Agent
from tests.acceptance.chaos.scenes import APPROVER, SCENES, Scene, play
from tests.acceptance.chaos.worlds import BACKENDS, Template, make_template
from tests.acceptance.chaos.zygote import KILLED, RECORD, SAVER, Task, Zygote, open_zygote
from tests.integration.agent_fixtures import answers_to, assert_books_agree
from tests.integration.conftest import pg_server

__all__ = ["pg_server"]

pytestmark = [pytest.mark.acceptance, pytest.mark.chaos, pytest.mark.timeout(600)]

PROJECT: Final = Path(__file__).parents[2]
ASKED_FOR: Final = int(os.environ.get("COUNTERSIGN_CHAOS_ROUNDS", "0"))
AT_RANDOM: Final = 3
"""Rounds of two kills at random moments, in each scene on each database, where nobody asks for more."""
AT_LEAST: Final = 200
"""Kills in every run of the tests, those at random moments not counted."""
KILLED_ELSEWHERE: Final = PROJECT / "tests" / "acceptance" / "test_external_kill.py"
"""Calls of other servers' tools have their own rules (never twice, not: always once) and their own test."""


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    """Forks the victims."""
    with open_zygote() as opened:
        yield opened


@pytest.fixture(scope="module", params=BACKENDS)
def template(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Template]:
    """Northwind on each database, to be copied."""
    server = request.getfixturevalue("pg_server") if request.param == "postgresql" else ""
    with make_template(request.param, tmp_path_factory.mktemp("template"), server) as made:
        yield made


@pytest.fixture
def settings(template: Template, tmp_path: Path) -> Iterator[Settings]:
    """A copy of the test's own; whatever happened to it, both records must be whole and agree."""
    with template.copy(tmp_path) as made:
        yield made
        assert_books_agree(made)
        assert verify_records(made) == []


@pytest_asyncio.fixture
async def survivor(settings: Settings) -> AsyncIterator[Agent]:
    """An agent that was open all the time, in another process than the victims."""
    async with open_agent(settings) as agent:
        yield agent


def named_points() -> set[str]:
    """Every fault point in the code; one whose name is computed could not be listed, and is an error."""
    found = set()
    for package in ("graph", "checkpoints", "erp_mcp"):
        for file in (PROJECT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                    called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                    if called == "point":
                        found.add(ast.literal_eval(node.args[0]))
    return found


def steps(zygote: Zygote, settings: Settings, scene: Scene) -> list[str]:
    """The points that a conversation passes when nothing happens to it, as faults: ``name:n`` for the n-th pass."""
    rehearsed = zygote.run(Task(settings, play, (f"rehearsal-{scene.name}", scene), RECORD))
    assert rehearsed.status == 0
    seen: Counter[str] = Counter()
    faults = []
    for name in rehearsed.answer:
        seen[name] += 1
        if scene.saver_too or not name.startswith(SAVER):
            faults.append(f"{name}:{seen[name]}")
    return faults


def test_every_point_of_the_code_is_passed_and_so_killed_at(zygote: Zygote, tmp_path: Path) -> None:
    """No point stands where no conversation comes by; those of other servers' tools have their own test. Together
    that makes at least two hundred kills."""
    home = tmp_path / "template"
    home.mkdir()
    faults: list[str] = []
    with make_template("sqlite", home, "") as template, template.copy(tmp_path) as settings:
        for scene in SCENES:
            faults += steps(zygote, settings, scene)
    elsewhere = {name for name in named_points() if f'"{name}"' in KILLED_ELSEWHERE.read_text(encoding="utf-8")}
    assert named_points() - {fault.partition(":")[0] for fault in faults} - elsewhere == set()
    assert len(faults) * len(BACKENDS) >= AT_LEAST


@pytest.mark.guarantee("once", "nothing-lost", "A2")
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
async def test_killed_at_any_step_the_conversation_ends_as_if_nothing_had_happened(
    zygote: Zygote, settings: Settings, survivor: Agent, scene: Scene
) -> None:
    """The user has the answer, the approver is not asked for what they have decided, and everything is done once."""
    faults = steps(zygote, settings, scene)
    for fault in faults:
        thread_id = str(uuid.uuid4())
        death = zygote.run(Task(settings, play, (thread_id, scene), fault))
        assert death.status == KILLED, f"it never came to {fault}"
        await go_on_and_check(survivor, thread_id, scene, fault)
    assert moved(settings) == {sku: len(faults) + 1 for sku, _, _ in scene.moves}


@pytest.mark.guarantee("once", "nothing-lost")
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
async def test_killed_at_any_moment_and_again_while_recovering(
    zygote: Zygote, settings: Settings, survivor: Agent, scene: Scene
) -> None:
    """Two processes in a row die at random moments, the second while it cleans up after the first."""
    chance, rounds = random.Random(scene.name), max(AT_RANDOM, ASKED_FOR // (2 * len(SCENES) * len(BACKENDS)))
    for number in range(rounds):
        thread_id = str(uuid.uuid4())
        moments = [chance.uniform(0, 0.1), chance.uniform(0, 0.06)]
        for moment in moments:
            death = zygote.run(Task(settings, recover_and_play, (thread_id, scene), seconds=moment))
            assert death.status in {0, KILLED}
        await go_on_and_check(survivor, thread_id, scene, f"round {number}: {moments}")
    assert moved(settings) == {sku: rounds for sku, _, _ in scene.moves}


async def recover_and_play(agent: Agent, thread_id: str, scene: Scene) -> None:
    """A new process starts, cleans up, and goes on."""
    await agent.recover()
    await play(agent, thread_id, scene)


async def go_on_and_check(agent: Agent, thread_id: str, scene: Scene, fault: str) -> None:
    """What another process does after the crash, and what must be so at each moment of it."""
    before = rows_of(agent, thread_id)
    await agent.recover()
    after = {row.id: row for row in rows_of(agent, thread_id)}
    for row in before:
        decided_by, undecided = after[row.id].decided_by, row.status == "pending"
        assert decided_by == row.decided_by or (undecided and (decided_by or "").startswith(BY_RULE)), fault
        assert row.status != "approved" or after[row.id].status in {"executed", "stale"}, fault
    waiting = {row.id for row in after.values() if row.status == "pending"}
    assert waiting == {one.approval_id for one in await agent.pending()}, fault
    run = await play(agent, thread_id, scene)
    assert_ended(agent, run, scene, fault)
    assert await agent.recover() == [], fault


def assert_ended(agent: Agent, run: Run, scene: Scene, fault: str) -> None:
    """Ledger, operations and conversation are those of an undisturbed run."""
    rows = rows_of(agent, run.thread_id)
    assert tuple((row.tool, row.status) for row in rows) == scene.effects, fault
    executed = [row for row in rows if row.status == "executed"]
    assert [(done.tool, done.digest, done.approver) for done in operations_of(agent, executed)] == [
        (row.tool, row.digest, row.decided_by) for row in executed
    ], fault
    assert all(row.decided_by in {APPROVER, BY_RULE + "sales-may-look"} for row in rows), fault
    assert (run.status, len(run.receipts)) == ("done", len(executed)), fault
    assert run.answer, fault
    results = answers_to(run)
    assert results, fault
    assert all(len(texts) == 1 for texts in results.values()), (fault, results)


def rows_of(agent: Agent, thread_id: str) -> list[ApprovalRow]:
    """A thread's approvals."""
    return agent.services.ledger.of_thread(thread_id)


@contextmanager
def reading(settings: Settings) -> Iterator[sa.Connection]:
    """The ERP's database, past everything of ours."""
    engine = sa.create_engine(settings.erp_database, poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection


def operations_of(agent: Agent, rows: list[ApprovalRow]) -> list[sa.Row[Any]]:
    """What the ERP did for these approvals, in their order."""
    with reading(agent.services.settings) as connection:
        found = connection.execute(sa.select(operations).where(operations.c.approval_id.in_([row.id for row in rows])))
        done = {operation.approval_id: operation for operation in found}
    return [done[row.id] for row in rows if row.id in done]


def moved(settings: Settings) -> dict[str, int]:
    """How often each SKU was moved since Northwind was loaded."""
    with reading(settings) as connection:
        found = connection.execute(sa.select(stock_moves.c.sku).where(stock_moves.c.approval_id.is_not(None)))
        return dict(Counter(row.sku for row in found))
