"""Our side of the comparisons, plugged in as cycles: each contestant yields an ``async def cycle() -> None`` that does
one unit of work and raises where it was not done."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from fastmcp import Client

from checkpoints.database import database_url, migrate
from erp_mcp.calls import READS
from erp_mcp.grants import Verifier
from erp_mcp.handlers import all_calls
from erp_mcp.importers.northwind import load_northwind
from erp_mcp.registry import load_registry
from erp_mcp.server import build_server
from erp_mcp.store.engine import create_database, open_store
from graph import approve
from graph.app import open_agent, open_services
from graph.settings import Settings
from tests.bench.harness import Cycle
from tests.bench.model import ScriptedModel

ORDER = "SO19980506-11074"
CORRECTION = json.dumps({"sku": "NW-011", "delta": 1, "reason": "counted again"})


def prepare(folder: Path) -> Settings:
    """Northwind and an empty ledger in a folder."""
    settings = Settings(home=folder)
    create_database(settings.erp_database)
    with closing(open_store(settings.erp_database)) as store:
        load_northwind(store)
    migrate(database_url(settings.checkpoint_database))
    return settings


@asynccontextmanager
async def approval_cycle(folder: Path) -> AsyncIterator[Cycle]:
    """One approval cycle on a fresh thread: ask, preview, interrupt, approve, verify, write, record, answer.

    The write corrects a stock level by one, which can be done for ever and touches one row, as the baselines' does.
    """
    async with open_agent(prepare(folder), chat=ScriptedModel(tool="adjust_stock")) as agent:

        async def cycle() -> None:
            asked = await agent.start(CORRECTION, requested_by="nancy")
            answered = await agent.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
            if answered.outcome != "executed" or answered.answer != "done":
                raise RuntimeError(f"the write did not happen: {answered.outcome}")

        yield cycle


@asynccontextmanager
async def bridge_read(folder: Path) -> AsyncIterator[Cycle]:
    """One read through the agent's bridge, whose session is held."""
    async with open_services(prepare(folder), chat=ScriptedModel(tool="get_order")) as services:

        async def cycle() -> None:
            order = await services.bridge.read("get_order", {"order_id": ORDER})
            if order["order_id"] != ORDER:
                raise RuntimeError("another order came back")

        yield cycle


@asynccontextmanager
async def server_per_call(folder: Path) -> AsyncIterator[Cycle]:
    """The same read by a server and a client that are built for this one call; database and registry are held."""
    settings, registry = prepare(folder), load_registry()
    nobody = Verifier(b"no grant is presented in a read ", audience="")

    with closing(open_store(settings.erp_database)) as store:
        calls = all_calls(store, registry, nobody, offer=READS)

        async def cycle() -> None:
            async with Client(build_server(store, calls)) as client:
                answer = await client.call_tool("get_order", {"order_id": ORDER})
            if (answer.structured_content or {}).get("order_id") != ORDER:
                raise RuntimeError("another order came back")

        yield cycle
