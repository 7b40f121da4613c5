"""``countersign serve`` beside other processes: commands, a second server, a kill, a stop."""

import json
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from graph.settings import Settings
from tests.acceptance.serve_fixtures import Served, countersign, make_tokens, on_either, running, served, shared
from tests.integration.agent_fixtures import effects, northwind_home, settings
from tests.integration.conftest import pg_server

__all__ = ["northwind_home", "on_either", "pg_server", "served", "settings", "shared"]

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]


async def test_what_is_decided_on_the_command_line_is_done_and_seen(served: Served) -> None:
    mine = await served.ask("desktop", -2)

    assert mine in countersign(served.settings, "pending").stdout
    shown = countersign(served.settings, "show", mine).stdout
    assert "asked by" in shown
    assert "desktop" in shown
    done = countersign(served.settings, "approve", mine, "--by", "andrew", "--json")

    assert json.loads(done.stdout)["outcome"] == "executed", done.stderr
    assert (await served.progress("desktop", mine))["status"] == "executed"
    assert len(served.effects()) == 1
    for command in (["audit", "--verify"], ["doctor"], ["recover"]):
        ended = countersign(served.settings, *command)
        assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.guarantee("first-decision-wins", "once")
async def test_two_servers_on_one_ledger_do_it_once(on_either: Settings) -> None:
    tokens = make_tokens(on_either)
    with running(on_either) as first, running(on_either) as second:
        doors = [Served(first, tokens, on_either), Served(second, tokens, on_either)]
        mine = await doors[0].ask("desktop", -2)
        assert await doors[1].ask("desktop", -2) == mine
        with ThreadPoolExecutor() as people:
            said = people.map(lambda door, who: door.decide(who, mine).json(), doors, ("andrew", "laura"))
            outcomes = [str(answer["outcome"]) for answer in said]
        assert "executed" in outcomes
        assert set(outcomes) <= {"executed", "already_executed", "already_decided"}
        for door in doors:
            assert (await door.progress("desktop", mine))["status"] == "executed"
    assert len(effects(on_either)) == 1


@pytest.mark.guarantee("never-silent")
async def test_a_stop_lets_a_decision_under_way_finish(settings: Settings) -> None:
    tokens = make_tokens(settings)
    with running(settings) as server:
        door = Served(server, tokens, settings)
        asked = [await door.ask("desktop", -1, sku=sku) for sku in ("NW-001", "NW-002", "NW-003", "NW-004")]
        with ThreadPoolExecutor() as people:
            deciding = [people.submit(door.decide, "andrew", one) for one in asked]
            while all(row.status == "pending" for row in door.rows()):
                assert not all(one.done() for one in deciding)
            server.stop()
            answers = [one.exception() or one.result().json()["outcome"] for one in deciding]

    heard = [answer for answer in answers if answer == "executed"]
    assert heard, answers
    assert all(isinstance(answer, httpx.TransportError) for answer in answers if answer != "executed"), answers
    assert len(effects(settings)) == len(heard)


@pytest.mark.guarantee("nothing-lost", "once")
@pytest.mark.parametrize("fault", ["agent.decided", "agent.carried_out"])
async def test_what_a_kill_left_in_the_middle_is_done_once_after_the_next_start(settings: Settings, fault: str) -> None:
    tokens = make_tokens(settings)
    with running(settings, ends=(-signal.SIGKILL,), COUNTERSIGN_FAULT=fault) as server:
        door = Served(server, tokens, settings)
        mine = await door.ask("desktop", -2)
        with pytest.raises(httpx.TransportError):
            door.decide("andrew", mine)

    with running(settings) as server:
        door = Served(server, tokens, settings)
        until = time.monotonic() + 60
        while (await door.progress("desktop", mine))["status"] != "executed":
            assert time.monotonic() < until
            time.sleep(0.1)  # noqa: ASYNC251 - nothing else runs in this loop
        again = door.decide("andrew", mine)
        assert again.json()["outcome"] == "already_executed"
    assert len(effects(settings)) == 1
