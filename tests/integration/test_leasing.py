"""The lease on a thread: renewed while its run goes on, given back when it ends, waited for by others."""

import asyncio
from datetime import datetime

import pytest
import sqlalchemy as sa

from checkpoints.database import database_url
from checkpoints.tables import leases
from checkpoints.transactions import Prepared, Transactions
from graph import leasing
from graph.errors import CountersignError
from graph.leasing import leased
from graph.settings import Settings
from graph.threads import Agent
from tests.integration.agent_fixtures import agent, northwind_home, settings

__all__ = ["agent", "northwind_home", "settings"]

ALL = Prepared(sa.select(leases.c.owner, leases.c.expires_at))


def held(settings: Settings) -> list[tuple[str, datetime]]:
    database = Transactions(database_url(settings.checkpoint_database))
    with database.alone() as transaction:
        found = [(owner, until) for owner, until in transaction.rows(ALL)]
    database.close()
    return found


async def test_a_lease_is_renewed_while_its_run_goes_on(
    agent: Agent, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leasing, "RENEWED_SECONDS", 0.01)
    async with leased(agent.services, "t"):
        (first,) = held(settings)
        (later,) = held(settings)
        while later == first:
            await asyncio.sleep(0.01)
            (later,) = held(settings)
        assert (later[0], later[1] > first[1]) == (first[0], True)
    assert held(settings) == []


async def test_a_lease_is_given_back_whatever_happens(agent: Agent, settings: Settings) -> None:
    with pytest.raises(RuntimeError):
        async with leased(agent.services, "t"):
            raise RuntimeError
    assert held(settings) == []


async def test_another_run_waits_for_its_end_and_is_told_where_that_does_not_come(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    async def second() -> None:
        async with leased(agent.services, "t"):
            order.append("second")

    async with leased(agent.services, "t"):
        waiting = asyncio.create_task(second())
        await asyncio.sleep(0.05)
        order.append("first")
    await waiting
    assert order == ["first", "second"]

    monkeypatch.setattr(leasing, "PATIENCE_SECONDS", 0.02)
    async with leased(agent.services, "t"):
        with pytest.raises(CountersignError) as refused:
            await second()
    assert (refused.value.code, order) == ("thread_busy", ["first", "second"])
