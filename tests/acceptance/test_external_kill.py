"""kill -9 around a call to somebody else's server, by real processes on both sides: at most once, never silent."""

from pathlib import Path
from typing import Any

import pytest

from graph import approve
from graph.settings import Settings
from graph.threads import Agent
from tests.acceptance.agent_process import call, die_in_process, resume, run_in_process
from tests.integration.agent_fixtures import ledger_rows, northwind_home, settings
from tests.integration.external_fixtures import TICKET, elsewhere, with_servers

__all__ = ["northwind_home", "settings"]

pytestmark = pytest.mark.acceptance


async def recover(agent: Agent) -> Any:
    """Continues what was cut off, twice over."""
    await agent.recover()
    return [run.thread_id for run in await agent.recover()]


@pytest.mark.guarantee("once")
@pytest.mark.parametrize(
    ("fault", "effects", "status"),
    [
        ("agent.decided", 1, "executed"),
        ("agent.attempted", 0, "unknown"),
        ("agent.answered_by_server", 1, "unknown"),
        ("agent.carried_out", 1, "unknown"),
        ("agent.settled", 1, "executed"),
    ],
)
def test_a_killed_agent_never_sends_twice(
    settings: Settings, tmp_path: Path, fault: str, effects: int, status: str
) -> None:
    """Wherever it dies: what was not sent is sent once, what may have been sent is unknown, and the thread goes on."""
    with elsewhere(tmp_path) as server:
        ours = with_servers(settings, server.config())
        [waiting] = run_in_process(ours, call, "thread-1", "create_ticket", TICKET)
        die_in_process(ours, resume, "thread-1", approve(waiting, by="andrew"), fault=fault)
        assert run_in_process(ours, recover) == []
        outcome, _receipts, note = run_in_process(ours, resume, "thread-1", approve(waiting, by="andrew"))
        assert run_in_process(ours, call, "thread-1", "get_stock", {"sku": "NW-011"}) == []
    assert len(server.effects()) == effects
    assert [row.status for row in ledger_rows(settings)] == [status]
    assert outcome == ("already_executed" if status == "executed" else "already_decided")
    assert note


def test_what_is_declared_idempotent_is_sent_again(settings: Settings, tmp_path: Path) -> None:
    """Its server says that twice is as good as once, so recover finds out what came of it."""
    (tmp_path / "effects").write_text("earlier\n")
    with elsewhere(tmp_path) as server:
        ours = with_servers(settings, server.config())
        [waiting] = run_in_process(ours, call, "thread-1", "close_ticket", {"ticket": "T-1"})
        die_in_process(ours, resume, "thread-1", approve(waiting, by="andrew"), fault="agent.answered_by_server")
        run_in_process(ours, recover)
    assert server.effects() == ["earlier", "close T-1", "close T-1"]
    assert [row.status for row in ledger_rows(settings)] == ["executed"]
