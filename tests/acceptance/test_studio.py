"""LangGraph Studio's server, driven over HTTP as Studio drives it, on the same checkpoints and ledger as Python."""

import os
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from checkpoints.database import database_url, migrate
from erp_mcp.importers.northwind import load_northwind
from erp_mcp.store.engine import create_database, open_store
from erp_mcp.store.tables import stock_moves
from graph import approve
from graph.app import open_agent
from graph.settings import Settings

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
GRAPH = "countersign"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A HOME with Northwind in it."""
    made = Settings(home=tmp_path_factory.mktemp("studio"))
    create_database(made.erp_database)
    with closing(open_store(made.erp_database)) as store:
        load_northwind(store)
    migrate(database_url(made.checkpoint_database))
    return made


@pytest.fixture(scope="module")
def server(settings: Settings) -> Iterator[str]:
    """A real ``langgraph dev`` on a free port."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        "COUNTERSIGN_HOME": str(settings.home), "LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGGRAPH_NO_VERSION_CHECK": "1",
        "LANGSMITH_TRACING": "false",
    }  # fmt: skip
    log = (settings.home / "dev.log").open("wb")
    command = [str(Path(sys.executable).with_name("langgraph")), "dev", "--no-browser", "--no-reload"]
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)], cwd=ROOT, env=environment, stdout=log, stderr=log
    )
    url = f"http://127.0.0.1:{port}"
    try:
        transport = httpx.HTTPTransport(retries=0)
        with httpx.Client(transport=transport, timeout=5) as client:
            _wait_until_up(client, url, process)
        yield url
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def _wait_until_up(client: httpx.Client, url: str, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(600):
        try:
            if client.get(f"{url}/ok").status_code == 200:
                return
        except httpx.TransportError:
            if process.poll() is not None:
                pytest.fail("langgraph dev ended before it was up")
            threading.Event().wait(0.1)  # the server offers nothing to wait on
    pytest.fail("langgraph dev did not come up")


@pytest.fixture
def client(server: str) -> LangGraphClient:
    return get_client(url=server)


def message(text: str) -> Any:
    """What a chat UI sends."""
    return {"messages": [{"role": "user", "content": text}]}


async def said_last(client: LangGraphClient, thread_id: str) -> str:
    """The last message's text."""
    state: Any = await client.threads.get_state(thread_id)
    return str(state["values"]["messages"][-1]["content"])


async def ask(client: LangGraphClient, text: str, thread_id: str | None = None) -> tuple[str, dict[str, Any]]:
    """A new thread with one message; returns the first action request that waits."""
    thread = await client.threads.create(thread_id=thread_id)
    name = str(thread["thread_id"])
    await client.runs.wait(name, GRAPH, input=message(text))
    return name, await waiting(client, name)


async def waiting(client: LangGraphClient, thread_id: str) -> dict[str, Any]:
    state = await client.threads.get_state(thread_id)
    request: dict[str, Any] = state["interrupts"][0]["value"]["action_requests"][0]
    return request


async def resume(client: LangGraphClient, thread_id: str, answer: Any, **more: Any) -> Any:
    return await client.runs.wait(thread_id, GRAPH, command={"resume": answer}, **more)


def moves(settings: Settings, sku: str) -> list[int]:
    """The stock moves of a product since it was loaded, in thousandths."""
    with closing(open_store(settings.erp_database)) as store, store.read() as tx:
        query = sa.select(stock_moves.c.on_hand_delta_milli).where(
            stock_moves.c.sku == sku, stock_moves.c.kind == "adjustment"
        )
        return list(tx.connection.scalars(query))


@pytest.mark.guarantee("A5")
async def test_a_resume_that_is_sent_again_with_its_checkpoint_has_one_effect(
    client: LangGraphClient, settings: Settings
) -> None:
    """Studio sends ``checkpoint`` together with resume; sending that again executes nothing a second time."""
    thread, request = await ask(client, "Take 3 of NW-001 out of stock, broken")
    assert request["name"] == "adjust_stock"
    assert "79 → 76" in request["description"]
    state = await client.threads.get_state(thread)
    checkpoint = state["checkpoint"]
    answer = {"decisions": [{"type": "approve"}]}
    await resume(client, thread, answer, checkpoint=checkpoint)
    await resume(client, thread, answer, checkpoint=checkpoint)
    await resume(client, thread, answer)
    assert moves(settings, "NW-001") == [-3000]


async def test_the_interrupt_is_in_the_shape_that_chat_interfaces_render(client: LangGraphClient) -> None:
    """The thread is listed as interrupted, with LangChain's request and ours in one value."""
    thread, request = await ask(client, "Take 1 of NW-002 out of stock, broken")
    found = await client.threads.get(thread)
    value = next(iter(found["interrupts"].values()))[0]["value"]
    assert found["status"] == "interrupted"
    assert value["review_configs"][0]["allowed_decisions"] == ["approve", "edit", "reject"]
    assert request["args"] == {"sku": "NW-002", "delta": -1, "reason": "broken"}


@pytest.mark.guarantee("A3")
async def test_a_bad_answer_keeps_the_thread_interrupted_and_the_good_one_works(
    client: LangGraphClient, settings: Settings
) -> None:
    """A wrong count of decisions is refused with its reason where the approver sees it."""
    thread, _ = await ask(client, "Take 1 of NW-003 out of stock, broken")
    answers: list[Any] = [
        {"decisions": []},
        {"decisions": [{"type": "approve"}, {"type": "approve"}]},
        "yes",
        [],
        {"x": 1},
    ]
    for bad in answers:
        await resume(client, thread, bad)
        found = await client.threads.get(thread)
        assert found["status"] == "interrupted", bad
        value = next(iter(found["interrupts"].values()))[0]["value"]
        assert value["note"], bad
    assert moves(settings, "NW-003") == []
    await resume(client, thread, {"decisions": [{"type": "approve"}]})
    assert moves(settings, "NW-003") == [-1000]


async def test_a_double_click_does_not_approve_the_fresh_preview_of_a_stale_one(
    client: LangGraphClient, settings: Settings
) -> None:
    """Both clicks were made before the fresh preview was there, so neither can mean it."""
    thread, _ = await ask(client, "Take 1 of NW-004 out of stock, broken")
    async with open_agent(settings) as agent:
        other = await agent.call("adjust_stock", {"sku": "NW-004", "delta": -2, "reason": "counted"})
        await agent.resume(other.thread_id, approve(other.pending[0], by="andrew"))
    answer = {"decisions": [{"type": "approve"}]}
    first = await client.runs.create(thread, GRAPH, command={"resume": answer}, multitask_strategy="enqueue")
    second = await client.runs.create(thread, GRAPH, command={"resume": answer}, multitask_strategy="enqueue")
    await client.runs.join(thread, first["run_id"])
    await client.runs.join(thread, second["run_id"])
    assert moves(settings, "NW-004") == [-2000]
    fresh = await waiting(client, thread)
    assert fresh["difference"]
    await resume(client, thread, answer)
    assert moves(settings, "NW-004") == [-2000, -1000]


async def test_a_thread_begun_in_studio_is_answered_from_python(client: LangGraphClient, settings: Settings) -> None:
    """The ledger and the checkpoints are the same on both sides."""
    thread, request = await ask(client, "Take 1 of NW-006 out of stock, broken")
    async with open_agent(settings) as agent:
        approval = next(one for one in await agent.pending() if one.approval_id == request["approval_id"])
        run = await agent.resume(thread, approve(approval, by="andrew"))
    assert run.outcome == "executed"
    state = await client.threads.get_state(thread)
    assert state["next"] == []
    assert await said_last(client, thread) == run.answer
    assert moves(settings, "NW-006") == [-1000]


async def test_a_thread_begun_in_python_is_answered_from_studio(client: LangGraphClient, settings: Settings) -> None:
    """Registered with the server by its id, it shows the same interrupt there."""
    thread = str(uuid.uuid4())
    async with open_agent(settings) as agent:
        await agent.start("Take 1 of NW-007 out of stock, broken", thread_id=thread, requested_by="nancy")
    await client.threads.create(thread_id=thread, graph_id=GRAPH, if_exists="do_nothing")
    request = await waiting(client, thread)
    assert request["name"] == "adjust_stock"
    await resume(client, thread, {request["approval_id"]: {"decision": "approve", "digest": request["digest"]}})
    assert moves(settings, "NW-007") == [-1000]


@pytest.mark.guarantee("A6")
async def test_a_new_message_while_an_approval_waits_is_refused_aloud(
    client: LangGraphClient, settings: Settings
) -> None:
    """A chat UI may send one without asking; it is answered with what waits, and the approval stays."""
    thread, request = await ask(client, "Take 1 of NW-008 out of stock, broken")
    await client.runs.wait(thread, GRAPH, input=message("What is in order 10248?"))
    assert request["approval_id"] in await said_last(client, thread)
    assert (await waiting(client, thread))["approval_id"] == request["approval_id"]
    await resume(client, thread, {"decisions": [{"type": "approve"}]})
    assert moves(settings, "NW-008") == [-1000]
