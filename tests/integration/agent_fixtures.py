"""An open agent on Northwind, a chat model that says what it is told, and what stands in the books."""

import json
import secrets
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
import sqlalchemy as sa
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from pydantic import Field

from checkpoints.records import ApprovalRow
from erp_mcp.store.engine import open_store
from erp_mcp.store.invariants import check_invariants
from erp_mcp.store.tables import operations, orders, stock, stock_moves
from graph import approve
from graph.app import open_agent
from graph.books import make_books, open_ledger, read_audit
from graph.run import Run
from graph.settings import Settings
from graph.threads import Agent

Json = dict[str, Any]

OPEN: Final = "SO19980506-11074"
"""Confirmed in Northwind: 14 of NW-016 for 232.09 USD; 75 are on hand, 46 of them reserved."""
ALSO_OPEN: Final = "SO19980506-11075"
"""Confirmed: 10 of NW-002, 30 of NW-046, 2 of NW-076."""
DONE: Final = "SO19960704-10248"


class Script(BaseChatModel):
    """Says what it is told, in order, then ``done``. All that it was given is kept.

    Args:
        replies: what it says.
    """

    replies: list[AIMessage] = Field(default_factory=list)
    given: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """The script itself: it knows its lines."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.given.append(messages)
        message = self.replies.pop(0) if self.replies else AIMessage("done")
        return ChatResult(generations=[ChatGeneration(message=message)])


def calls(*wanted: tuple[str, Json]) -> AIMessage:
    """A model's message with tool calls. The call ids are the same in every message, as some models make them."""
    made = [
        {"name": name, "args": args, "id": f"call_{number}", "type": "tool_call"}
        for number, (name, args) in enumerate(wanted)
    ]
    return AIMessage("", tool_calls=made)


def adjust(sku: str, delta: int) -> tuple[str, Json]:
    """A call that corrects a stock level."""
    return "adjust_stock", {"sku": sku, "delta": delta, "reason": "counted"}


def cancel(order: str) -> tuple[str, Json]:
    """A call that cancels an order."""
    return "cancel_order", {"order_id": order, "reason": "ordered by mistake"}


@pytest.fixture(scope="session")
def northwind_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A HOME with Northwind in it, made once; tests get copies."""
    home = tmp_path_factory.mktemp("northwind")
    make_books(Settings(home=home), "northwind")
    return home


@pytest.fixture
def settings(northwind_home: Path, tmp_path: Path) -> Iterator[Settings]:
    """A HOME of the test's own. Whatever a test did to it, both books must balance and agree afterwards."""
    made = Settings(home=Path(shutil.copytree(northwind_home, tmp_path / "home")))
    yield made
    assert_books_agree(made)


@pytest_asyncio.fixture
async def agent(settings: Settings) -> AsyncIterator[Agent]:
    """An agent whose model is the embedded planner."""
    async with open_agent(settings) as opened:
        yield opened


@pytest.fixture
def script() -> Script:
    """The scripted agent's model; a test appends what it shall say."""
    return Script()


@pytest_asyncio.fixture
async def scripted(settings: Settings, script: Script) -> AsyncIterator[Agent]:
    """An agent whose model is the script."""
    async with open_agent(settings, chat=script) as opened:
        yield opened


def assert_books_agree(settings: Settings) -> None:
    """The ERP's invariants hold, and the audit finds nothing that one book has and the other denies."""
    with closing(open_store(settings.erp_database)) as store, store.read() as tx:
        assert check_invariants(tx) == []
    assert [entry.note for entry in read_audit(settings) if "WARNING" in entry.note] == []


def effects(settings: Settings) -> list[sa.Row[Any]]:
    """The operations: what was done, in order."""
    with closing(open_store(settings.erp_database)) as store, store.read() as tx:
        return list(tx.connection.execute(sa.select(operations).order_by(operations.c.executed_at)))


def moves(settings: Settings, sku: str | None = None) -> list[tuple[str, str, int, int]]:
    """Stock moves since Northwind was loaded: SKU, kind, and the changes of on hand and reserved in whole units."""
    query = sa.select(stock_moves).where(stock_moves.c.approval_id.is_not(None)).order_by(stock_moves.c.id)
    if sku is not None:
        query = query.where(stock_moves.c.sku == sku)
    with closing(open_store(settings.erp_database)) as store, store.read() as tx:
        return [
            (row.sku, row.kind, row.on_hand_delta_milli // 1000, row.reserved_delta_milli // 1000)
            for row in tx.connection.execute(query)
        ]


def order(settings: Settings, order_id: str) -> sa.Row[Any]:
    """An order's row."""
    with closing(open_store(settings.erp_database)) as store, store.read() as tx:
        return tx.connection.execute(sa.select(orders).where(orders.c.id == order_id)).one()


def stock_of(settings: Settings, sku: str) -> tuple[int, int]:
    """On hand and reserved, in whole units."""
    with closing(open_store(settings.erp_database)) as store, store.read() as tx:
        row = tx.connection.execute(sa.select(stock).where(stock.c.sku == sku)).one()
        return row.on_hand_milli // 1000, row.reserved_milli // 1000


def ledger_rows(settings: Settings) -> list[ApprovalRow]:
    """All approvals, oldest first."""
    with open_ledger(settings) as ledger:
        return ledger.history()


def answers_to(run: Run) -> dict[str, list[str]]:
    """The results that each tool call of a conversation has, by the place of its message and its id."""
    found: dict[str, list[str]] = {}
    place = 0
    for message in run.messages:
        if isinstance(message, AIMessage) and message.tool_calls:
            place += 1
            found |= {f"{place}:{call['id']}": [] for call in message.tool_calls}
        elif isinstance(message, ToolMessage):
            found.setdefault(f"{place}:{message.tool_call_id}", []).append(str(message.text))
    return found


def heard(messages: Sequence[BaseMessage], tool: str) -> list[Json]:
    """What a model was told of each call of a tool."""
    return [json.loads(str(m.text)) for m in messages if isinstance(m, ToolMessage) and m.name == tool]


def config(thread_id: str) -> RunnableConfig:
    """How plain LangGraph names a thread."""
    return {"configurable": {"thread_id": thread_id}}


def run_now() -> RunnableConfig:
    """What a server adds to a run: an id that says when it was started (UUIDv7)."""
    milliseconds = time.time_ns() // 1_000_000
    name = uuid.UUID(int=milliseconds << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62))
    return {"metadata": {"run_id": str(name)}}


async def act_otherwise(agent: Agent, sku: str, delta: int) -> None:
    """Somebody else changes a stock level in the meantime."""
    name, args = adjust(sku, delta)
    run = await agent.call(name, args, requested_by="robert")
    done = await agent.resume(run.thread_id, approve(run.pending[0], by="steven"))
    assert done.outcome == "executed"
