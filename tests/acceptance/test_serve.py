"""``countersign serve`` as a real process: raw MCP hosts ask, people decide by token or on the command line."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastmcp import Client

from erp_mcp.auth.tokens import FILE, TokenFile
from erp_mcp.contract import META_GRANT, META_KEY
from graph.settings import Settings
from tests.acceptance.chaos.worlds import BACKENDS, make_template
from tests.integration.agent_fixtures import (
    OPEN,
    adjust,
    effects,
    ledger_rows,
    moves,
    northwind_home,
    settings,
)
from tests.integration.conftest import pg_server
from tests.served import Server, serving

__all__ = ["northwind_home", "pg_server", "settings"]

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]

Json = dict[str, Any]
SKU = "NW-011"
WRITES = ["orders:write", "stock:write", "customers:write", "personal:read"]
PEOPLE = {
    "desktop": WRITES,
    "laptop": WRITES,
    "andrew": ["approvals:decide"],
    "laura": ["approvals:decide"],
    "both": ["*"],
    "reader": ["products:read"],
}


@dataclass(frozen=True)
class Served:
    """A running server, and everybody's token."""

    server: Server
    tokens: dict[str, str]
    settings: Settings

    def http(self, who: str) -> httpx.Client:
        token = self.tokens.get(who)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.server.url, headers=headers, timeout=60)

    def mcp(self, who: str) -> Client[Any]:
        return Client(f"{self.server.url}/mcp", auth=self.tokens[who])

    async def call(self, who: str, tool: str, arguments: Json, meta: Json | None = None) -> tuple[bool, Json]:
        """Whether it is an error, and the answer."""
        async with self.mcp(who) as client:
            answer = await client.session.call_tool(tool, arguments, meta=meta)
        return bool(answer.isError), json.loads(answer.content[0].text)

    async def ask(self, who: str, delta: int, meta: Json | None = None, *, sku: str = SKU) -> str:
        """Asks for a stock correction; the id of its approval."""
        is_error, answer = await self.call(who, *adjust(sku, delta), meta)
        assert not is_error, answer
        assert answer["status"] == "approval_required"
        return str(answer["approval_id"])

    async def progress(self, who: str, approval_id: str) -> Json:
        is_error, answer = await self.call(who, "get_approval", {"approval_id": approval_id})
        assert not is_error, answer
        return answer

    def decide(self, who: str, approval_id: str, how: str = "approve", **more: Any) -> httpx.Response:
        """As a person does: look at it, then decide what was seen."""
        with self.http(who) as http:
            seen = http.get(f"/api/approvals/{approval_id}")
            digest = seen.json().get("digest", "0" * 64)
            return http.post(f"/api/approvals/{approval_id}/{how}", json={"digest": digest} | more)


@pytest.fixture
def tokens(settings: Settings) -> dict[str, str]:
    return make_tokens(settings)


def make_tokens(settings: Settings) -> dict[str, str]:
    """Everybody's token."""
    file = TokenFile(settings.home / FILE)
    return {name: file.add(name, scopes) for name, scopes in PEOPLE.items()}


@pytest.fixture(params=BACKENDS)
def on_either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """A HOME with Northwind on SQLite files, or on PostgreSQL."""
    server = request.getfixturevalue("pg_server") if request.param == "postgresql" else ""
    (tmp_path / "template").mkdir()
    with make_template(request.param, tmp_path / "template", server) as template, template.copy(tmp_path) as made:
        yield made


@pytest.fixture
def served(settings: Settings, tokens: dict[str, str]) -> Iterator[Served]:
    with running(settings) as server:
        yield Served(server, tokens, settings)


def running(settings: Settings, *, ends: Sequence[int] = (0,), **environment: str) -> AbstractContextManager[Server]:
    """``countersign serve`` on the test's own HOME."""
    log = settings.home / f"serve-{time.monotonic_ns()}.log"
    return serving(["countersign", "serve"], variables(settings) | environment, log, ends=ends)


def variables(settings: Settings) -> dict[str, str]:
    """The settings as a process of its own reads them."""
    given = {
        "COUNTERSIGN_HOME": str(settings.home), "COUNTERSIGN_ERP_URL": settings.erp_url,
        "COUNTERSIGN_CHECKPOINT_URL": settings.checkpoint_url, "COUNTERSIGN_POLICY": str(settings.policy or ""),
    }  # fmt: skip
    return {name: value for name, value in given.items() if value}


@pytest.mark.guarantee("signed-only", "accountable")
async def test_a_host_asks_a_person_decides_by_token_and_the_host_sees_the_receipt(served: Served) -> None:
    mine = await served.ask("desktop", -2)
    assert (await served.progress("desktop", mine))["status"] == "pending"
    assert effects(served.settings) == []

    decided = served.decide("andrew", mine)

    assert (decided.status_code, decided.json()["outcome"]) == (200, "executed")
    seen = await served.progress("desktop", mine)
    assert seen["status"] == "executed"
    assert (seen["receipt"]["approver"], seen["receipt"]["requested_by"]) == ("andrew", "desktop")
    assert moves(served.settings, SKU) == [(SKU, "adjustment", -2, 0)]
    (row,) = ledger_rows(served.settings)
    assert (row.decided_by, row.assurance) == ("andrew", "token")


async def test_what_is_decided_on_the_command_line_is_done_and_seen(served: Served) -> None:
    mine = await served.ask("desktop", -2)

    assert mine in countersign(served.settings, "pending").stdout
    shown = countersign(served.settings, "show", mine).stdout
    assert "asked by" in shown
    assert "desktop" in shown
    done = countersign(served.settings, "approve", mine, "--by", "andrew", "--json")

    assert json.loads(done.stdout)["outcome"] == "executed", done.stderr
    assert (await served.progress("desktop", mine))["status"] == "executed"
    assert len(effects(served.settings)) == 1
    for command in (["audit", "--verify"], ["doctor"], ["recover"]):
        ended = countersign(served.settings, *command)
        assert ended.returncode == 0, ended.stdout + ended.stderr


async def test_over_rest_a_write_waits_in_the_same_way(served: Served) -> None:
    with served.http("desktop") as http:
        asked = http.post(f"/api/orders/{OPEN}/cancellation", json={"reason": "ordered by mistake"})
        assert (asked.status_code, asked.json()["status"]) == (200, "approval_required"), asked.text
        mine = asked.json()["approval_id"]
        assert http.get(f"/api/requests/{mine}").json()["status"] == "pending"
        assert served.decide("andrew", mine, "reject", reason="no").json()["outcome"] == "rejected"
        assert http.get(f"/api/requests/{mine}").json()["reason"] == "no"
    assert effects(served.settings) == []


async def test_an_edit_makes_a_fresh_approval(served: Served) -> None:
    mine = await served.ask("desktop", -2)

    edited = served.decide("andrew", mine, "edit", args=adjust(SKU, -1)[1])

    assert (edited.status_code, edited.json()["outcome"]) == (200, "superseded")
    fresh = (await served.progress("desktop", mine))["superseded_by"]
    assert served.decide("andrew", fresh).json()["outcome"] == "executed"
    assert moves(served.settings, SKU) == [(SKU, "adjustment", -1, 0)]


@pytest.mark.guarantee("A17")
async def test_a_host_neither_decides_its_own_request_nor_sees_anothers(served: Served) -> None:
    mine, boths = await served.ask("desktop", -2), await served.ask("both", -3)

    for who in ("desktop", "reader"):
        assert served.decide(who, mine).status_code == 403
        with served.http(who) as http:
            assert http.get("/api/approvals").status_code == 403
    own = served.decide("both", boths)
    assert (own.status_code, own.json()["error"]["code"]) == (403, "forbidden")
    is_error, answer = await served.call("laptop", "get_approval", {"approval_id": mine})
    assert is_error
    assert answer["error"]["code"] == "approval_not_found"
    assert {row.status for row in ledger_rows(served.settings)} == {"pending"}
    assert served.decide("both", mine).json()["outcome"] == "executed"


async def test_a_host_is_offered_what_its_token_may_call_and_get_approval(served: Served) -> None:
    async with served.mcp("desktop") as client:
        writer = {tool.name for tool in await client.list_tools()}
    async with served.mcp("reader") as client:
        reader = {tool.name for tool in await client.list_tools()}

    assert {"cancel_order", "adjust_stock", "get_approval"} <= writer
    assert reader == {"get_approval", "search_products", "get_product", "compute_quote", "compare_quotes"}
    assert "batch" not in writer  # it is for those who hold grants


async def test_who_may_not_write_opens_no_approval(served: Served) -> None:
    is_error, answer = await served.call("reader", *adjust(SKU, -2))

    assert is_error
    assert answer["error"]["code"] in {"forbidden", "unknown_tool"}
    assert ledger_rows(served.settings) == []


@pytest.mark.guarantee("once")
async def test_the_same_key_is_the_same_request_for_good(served: Served) -> None:
    key = {META_KEY: "b7f8"}
    mine = await served.ask("desktop", -2, key)
    assert await served.ask("desktop", -2, key) == mine
    served.decide("andrew", mine)

    is_error, again = await served.call("desktop", *adjust(SKU, -2), key)

    assert (is_error, again["status"], again["receipt"]["approval_id"]) == (False, "executed", mine)
    assert len(effects(served.settings)) == 1


@pytest.mark.guarantee("B1")
async def test_get_and_head_decide_nothing(served: Served) -> None:
    mine = await served.ask("desktop", -2)
    before = ledger_rows(served.settings)
    with served.http("both") as http:
        (row,) = before
        paths = [
            path.replace("{approval_id}", mine).replace("{order_id}", OPEN).replace("{sku}", SKU)
            for path in http.get("/api/openapi.json").json()["paths"]
        ]
        assert f"/api/approvals/{mine}/approve" in paths
        queries = [None, {"digest": row.digest}, {"digest": row.digest, "by": "andrew", "decision": "approve"}]
        for path in [*paths, "/", "/mcp", "/mcp/", "/approve", f"/api/approvals/{mine}/approve/"]:
            for number in range(100):
                method = ("GET", "HEAD")[number % 2]
                http.request(method, path, params=queries[number % 3])

    assert ledger_rows(served.settings) == before
    assert effects(served.settings) == []


async def test_only_whole_and_plain_decisions_count(served: Served) -> None:
    mine = await served.ask("desktop", -2)
    (row,) = ledger_rows(served.settings)
    where, good = f"/api/approvals/{mine}/approve", {"digest": row.digest}
    refused: list[tuple[int, Callable[[httpx.Client], httpx.Response]]] = [
        (400, lambda http: http.post(where, json={})),
        (400, lambda http: http.post(where, json=[good])),
        (400, lambda http: http.post(where, json=good | {"by": "laura"})),
        (400, lambda http: http.post(where, json={"digest": 7})),
        (400, lambda http: http.post(where, content=b"{")),
        (409, lambda http: http.post(where, json={"digest": "0" * 64})),
        (404, lambda http: http.post("/api/approvals/apr_nothing/approve", json=good)),
        (400, lambda http: http.post(where.replace("/approve", "/edit"), json=good)),
        (422, lambda http: http.post(where.replace("/approve", "/edit"), json=good | {"args": {"sku": "no such"}})),
        (404, lambda http: http.post(where.replace("/approve", "/execute"), json=good)),
        (405, lambda http: http.put(where, json=good)),
        (413, lambda http: http.post(where, content=b" " * 3_000_000)),
    ]
    with served.http("andrew") as http:
        for status, send in refused:
            answer = send(http)
            assert answer.status_code == status, (answer.status_code, answer.text)
            assert "Traceback" not in answer.text
            body = answer.json()
            assert {"code", "message", "hint"} <= body["error"].keys() if "error" in body else body["outcome"]
    with served.http("nobody") as nobody:
        for url in ("/api/approvals", f"/api/approvals/{mine}"):
            assert nobody.get(url).status_code == 401
        assert nobody.post(where, json=good).status_code == 401
    (row,) = ledger_rows(served.settings)
    assert row.status == "pending"

    assert served.decide("andrew", mine).json()["outcome"] == "executed"


async def test_only_plain_requests_are_taken_over_mcp(served: Served) -> None:
    refused: list[tuple[str, Json, Json | None]] = [
        ("get_approval", {}, None),
        ("get_approval", {"approval_id": 7}, None),
        ("get_approval", {"approval_id": "x" * 41}, None),
        ("get_approval", {"approval_id": "apr_x", "by": "andrew"}, None),
        (*adjust(SKU, -2), {META_KEY: 7}),
        (*adjust(SKU, -2), {META_KEY: "k" * 201}),
        ("adjust_stock", {"sku": SKU, "delta": "many", "reason": "x"}, None),
        ("adjust_stock", {"sku": SKU, "delta": -1, "reason": "x", "approved": True}, None),
    ]
    for tool, arguments, meta in refused:
        is_error, answer = await served.call("desktop", tool, arguments, meta)
        assert is_error, (tool, arguments, answer)
        assert answer["error"]["code"] == "invalid_argument", answer
    forged = {META_GRANT: "e30.e30.e30", "countersign/approved_by": "andrew"}
    is_error, answer = await served.call("desktop", *adjust(SKU, -2), forged)
    assert answer["error"]["code"] == "grant_invalid"
    assert ledger_rows(served.settings) == []


async def test_the_list_has_pages_and_filters(served: Served) -> None:
    ids = [await served.ask("desktop", -1 - number) for number in range(3)]
    other = await served.ask("laptop", -9)
    with served.http("andrew") as http:
        first = http.get("/api/approvals", params={"limit": 2}).json()
        rest = http.get("/api/approvals", params={"limit": 2, "after": first["next"]}).json()
        theirs = http.get("/api/approvals", params={"requested_by": "laptop"}).json()

    assert [one["approval_id"] for one in first["approvals"] + rest["approvals"]] == [*ids, other]
    assert rest["next"] is None
    assert [one["approval_id"] for one in theirs["approvals"]] == [other]


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
async def test_a_stop_lets_a_decision_under_way_finish(served: Served) -> None:
    asked = [await served.ask("desktop", -1, sku=sku) for sku in ("NW-001", "NW-002", "NW-003", "NW-004")]
    with ThreadPoolExecutor() as people:
        deciding = [people.submit(served.decide, "andrew", one) for one in asked]
        while not any(row.status == "approved" for row in ledger_rows(served.settings)):
            assert not all(one.done() for one in deciding), "all of them were quicker than this test"
        served.server.stop()
        answers = [one.exception() or one.result().json()["outcome"] for one in deciding]

    heard = [answer for answer in answers if answer == "executed"]
    assert heard, answers
    assert all(isinstance(answer, httpx.TransportError) for answer in answers if answer != "executed"), answers
    assert len(effects(served.settings)) == len(heard)


@pytest.mark.guarantee("nothing-lost", "once")
@pytest.mark.parametrize("fault", ["agent.decided", "agent.carried_out"])
async def test_what_a_kill_left_in_the_middle_is_done_once_after_the_next_start(
    settings: Settings, tokens: dict[str, str], fault: str
) -> None:
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
        again = door.decide("andrew", mine)
        assert again.json()["outcome"] == "already_executed"
    assert len(effects(settings)) == 1


def countersign(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    program = str(Path(sys.executable).with_name("countersign"))
    return subprocess.run(
        [program, *arguments], env=os.environ | variables(settings), capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
