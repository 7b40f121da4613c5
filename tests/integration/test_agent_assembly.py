"""An agent that could write without a ledger or a checkpointer is refused when it is put together."""

from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from langgraph.checkpoint.memory import InMemorySaver

from erp_mcp.app import build_erp
from erp_mcp.calls import READS
from graph.app import open_services
from graph.bridge import Bridge
from graph.build import assemble
from graph.errors import CountersignError
from graph.services import Services
from graph.settings import Settings
from tests.integration.agent_fixtures import Script, northwind_home, settings

__all__ = ["northwind_home", "settings"]


@pytest_asyncio.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    """What an agent works with, on an ERP that has write tools."""
    async with open_services(settings, chat=Script()) as opened:
        yield opened


@pytest.mark.guarantee("signed-only", "nothing-lost")
@pytest.mark.parametrize("checkpointer", [None, False, True, "sqlite"])
async def test_write_tools_without_a_checkpointer_are_refused(services: Services, checkpointer: Any) -> None:
    """Also with what LangGraph itself would take: an approval could not wait anywhere."""
    with pytest.raises(CountersignError, match="needs a checkpointer") as refused:
        assemble(services, checkpointer)
    assert (refused.value.code, "open_agent" in refused.value.hint) == ("unsafe_assembly", True)


@pytest.mark.guarantee("signed-only", "accountable")
async def test_write_tools_without_a_ledger_are_refused(services: Services) -> None:
    """Nobody could say who decided what."""
    without: Any = None
    with pytest.raises(CountersignError, match="needs a ledger") as refused:
        assemble(replace(services, ledger=without), InMemorySaver())
    assert refused.value.code == "unsafe_assembly"


async def test_reading_alone_needs_neither(services: Services, settings: Settings) -> None:
    """On a server without anything to sign the same graph is put together, and has the same nodes."""
    with closing(build_erp(settings.erp_database, offer=READS)) as erp:
        async with Bridge(erp.server) as bridge:
            if bridge.has_writes():
                pytest.fail("a server without write tools offers something to sign")
            graph = assemble(replace(services, bridge=bridge), None)
            assert set(graph.nodes) == {"__start__", *NODES}


NODES = ("model", "read", "propose", "approve", "execute")


@pytest.mark.guarantee("nothing-lost")
async def test_the_nodes_keep_their_names(services: Services) -> None:
    """A pending approval lives in a node of that name: a renamed node would lose all that wait."""
    assert set(assemble(services, InMemorySaver()).nodes) == {"__start__", *NODES}
