"""What people build without us: LangChain's agent with its human-in-the-loop middleware, a saver on a SQLite file, and
a tool that updates one row. No preview, no check of what was seen, no ledger, no once, no audit."""

import json
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from itertools import count
from pathlib import Path
from typing import Any

from fastmcp import Client, FastMCP
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import BaseTool, StructuredTool
from langchain_mcp_adapters.tools import load_mcp_tools
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from tests.bench.harness import Cycle
from tests.bench.model import ScriptedModel

TOOL = "cancel_order"
APPROVE = {"decisions": [{"type": "approve"}]}


class OneRow:
    """An ERP of one table on one held connection, as safe as ours on a power cut (WAL, synchronous FULL).

    Args:
        file: where the database is made.
    """

    def __init__(self, file: Path) -> None:
        self.connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self.connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;")
        self.connection.execute("CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT, cancelled INTEGER)")
        self.connection.execute("INSERT INTO orders VALUES ('SO20261130-0001', 'confirmed', 0)")

    def cancel_order(self, order_id: str, reason: str) -> str:
        """Cancel an order."""
        update = "UPDATE orders SET status = 'cancelled', cancelled = cancelled + 1 WHERE id = ?"
        changed = self.connection.execute(update, [order_id]).rowcount
        return json.dumps({"order_id": order_id, "changed": changed, "reason": reason})

    def times_cancelled(self) -> int:
        """How often the tool has run."""
        return int(self.connection.execute("SELECT cancelled FROM orders").fetchone()[0])


@asynccontextmanager
async def approval_cycle(folder: Path, tools: Sequence[BaseTool], erp: OneRow) -> AsyncIterator[Cycle]:
    """One approval cycle on a fresh thread: ask, interrupt, approve, write, answer.

    Args:
        folder: where the checkpoints are kept.
        tools: the agent's tools, among them ``cancel_order``.
        erp: asked afterwards whether the write has happened.
    """
    request = json.dumps({"order_id": "SO20261130-0001", "reason": "ordered by mistake"})
    gate = HumanInTheLoopMiddleware({TOOL: {"allowed_decisions": ["approve", "edit", "reject"]}})
    numbers = count(1)
    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        agent: Any = create_agent(ScriptedModel(tool=TOOL), tools=list(tools), middleware=[gate], checkpointer=saver)

        async def cycle() -> None:
            number = next(numbers)
            config = {"configurable": {"thread_id": f"thread-{number}"}}
            asked = await agent.ainvoke({"messages": [("user", request)]}, config, durability="sync")
            if not asked["__interrupt__"]:
                raise RuntimeError("nobody was asked")
            answered = await agent.ainvoke(Command(resume=APPROVE), config, durability="sync")
            if answered["messages"][-1].content != "done" or erp.times_cancelled() != number:
                raise RuntimeError("the write did not happen once")

        yield cycle


@asynccontextmanager
async def bare_tool(folder: Path) -> AsyncIterator[Cycle]:
    """The cycle with a plain function as its tool."""
    erp = OneRow(folder / "erp.db")
    tool = StructuredTool.from_function(erp.cancel_order, name=TOOL)
    with closing(erp.connection):
        async with approval_cycle(folder, [tool], erp) as cycle:
            yield cycle


@asynccontextmanager
async def tool_over_mcp(folder: Path) -> AsyncIterator[Cycle]:
    """The cycle with the same tool on a FastMCP server in this process, loaded by langchain-mcp-adapters from a session
    that is held open."""
    erp = OneRow(folder / "erp.db")
    server: FastMCP[Any] = FastMCP("one row")
    server.tool(erp.cancel_order, name=TOOL)
    with closing(erp.connection):
        async with Client(server) as client:
            tools = await load_mcp_tools(client.session)
            async with approval_cycle(folder, tools, erp) as cycle:
                yield cycle
