"""The wiring: settings become an open agent. The only module of the agent's that reaches into the ERP's inside."""

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache

from langchain_core.language_models import BaseChatModel

from checkpoints.database import database_url, sqlite_path
from checkpoints.definitions import DefinitionBook
from checkpoints.leases import Leases
from checkpoints.ledger import Ledger
from checkpoints.reading import utc_now
from checkpoints.records import ApprovalRow
from checkpoints.saver import open_saver
from erp_mcp.app import Erp, build_erp
from erp_mcp.grants import Grant, Signer, load_or_create_key
from erp_mcp.registry import load_registry, skill_directories
from graph.bridge import Bridge
from graph.build import assemble
from graph.errors import CountersignError
from graph.policy import PolicySource
from graph.rights import open_policy
from graph.servers.config import read_servers
from graph.servers.hub import Servers
from graph.services import Services
from graph.settings import Settings, load_settings
from graph.threads import Agent

Clock = Callable[[], datetime]


@asynccontextmanager
async def open_agent(
    settings: Settings | None = None,
    *,
    chat: BaseChatModel | None = None,
    clock: Clock = utc_now,
    own_loop: bool = True,
) -> AsyncIterator[Agent]:
    """An agent for the running event loop.

    Args:
        settings: from the environment if left out.
        chat: a chat model in place of the one that the settings name.
        clock: what time it is, in UTC.
        own_loop: the event loop serves this agent alone, so that files may be read and written in place (a trip
            to a thread takes longer than most of that); say False in a server that answers others on the same loop.

    Raises:
        CountersignError, ErpError, CheckpointError: what is missing or wrong, each with what to do.
    """
    used = settings or load_settings()
    async with (
        open_services(used, chat=chat, clock=clock, own_loop=own_loop) as services,
        open_saver(database_url(used.checkpoint_database), own_loop=own_loop) as saver,
    ):
        yield Agent(assemble(services, saver), services)


@asynccontextmanager
async def open_services(
    settings: Settings, *, chat: BaseChatModel | None = None, clock: Clock = utc_now, own_loop: bool = False
) -> AsyncIterator[Services]:
    """What the nodes work with, without a checkpointer: ``langgraph dev`` brings its own.

    Args:
        settings, chat, clock: as for ``open_agent``.
        own_loop: the event loop is ours, and may be held up while a file is read or written.

    Databases are opened and closed in a thread: they block, and the server's event loop refuses what blocks.
    """
    books = await asyncio.to_thread(_open_books, settings, chat, clock, own_loop)
    _spare_the_collector()
    try:
        async with Bridge(books.erp.server, books.servers) as bridge:
            yield Services(
                settings=settings, bridge=bridge, ledger=books.ledger, leases=books.leases, policy=books.policy,
                chat=books.chat, clock=clock, sign=books.sign, worker=books.worker,
                in_place=own_loop and sqlite_path(books.ledger.url) is not None,
            )  # fmt: skip
    finally:
        books.close()  # in place: while the interpreter ends no thread takes work any more


@cache
def _spare_the_collector() -> None:
    """Once per process: what was loaded to get here lives as long as it does, so that full garbage collections need
    not walk it each time; that took a tenth of an approval's time."""
    gc.freeze()


@dataclass(frozen=True)
class _Books:
    """All that is opened with blocking calls."""

    erp: Erp
    servers: Servers | None
    ledger: Ledger
    leases: Leases
    policy: PolicySource
    chat: BaseChatModel
    sign: Callable[[ApprovalRow], str]
    worker: ThreadPoolExecutor
    close: Callable[[], None]


def _open_books(settings: Settings, chat: BaseChatModel | None, clock: Clock, own_loop: bool) -> _Books:
    with ExitStack() as stack:
        policy = open_policy(settings.policy)
        model = chat or chat_model(settings)
        others = read_servers(settings.mcp_servers)
        checkpoints = database_url(settings.checkpoint_database)
        ledger = Ledger(checkpoints, clock)
        stack.callback(ledger.close)
        servers: Servers | None = None
        if others:
            book = DefinitionBook(checkpoints, clock)
            stack.callback(book.close)
            servers = Servers(others, book, ledger, settings.home / "servers")
        leases = Leases(checkpoints, clock)
        stack.callback(leases.close)
        erp = build_erp(
            settings.erp_database,
            key_path=settings.key_path,
            clock=clock,
            zone=settings.zone,
            registry=load_registry(skill_directories(settings.skills)),
            own_loop=own_loop,
        )
        stack.callback(erp.close)
        sign = _signing(Signer(load_or_create_key(settings.key_path)), erp.instance_id)
        worker = ThreadPoolExecutor(1, "countersign-ledger")
        stack.callback(worker.shutdown)
        return _Books(erp, servers, ledger, leases, policy, model, sign, worker, stack.pop_all().close)


def _signing(signer: Signer, audience: str) -> Callable[[ApprovalRow], str]:
    def sign(row: ApprovalRow) -> str:
        grant = Grant(row.id, row.call, row.tool, row.digest, row.decided_by or "", row.requested_by)
        return signer.sign(grant, audience)

    return sign


def chat_model(settings: Settings) -> BaseChatModel:
    """The chat model that ``COUNTERSIGN_MODEL`` names.

    Raises:
        CountersignError: ``model_key_missing``.
    """
    if settings.model == "planner":
        from graph.planner.model import PlannerModel

        return PlannerModel(clock=lambda: datetime.now(settings.zone))
    from langchain_openai import ChatOpenAI

    if not os.environ.get("OPENAI_API_KEY"):
        raise CountersignError(
            "model_key_missing",
            f"COUNTERSIGN_MODEL is {settings.model}, but OPENAI_API_KEY is not set.",
            "Set OPENAI_API_KEY (and OPENAI_BASE_URL for another server), or COUNTERSIGN_MODEL=planner.",
        )
    return ChatOpenAI(model=settings.model.partition(":")[2])
