"""``countersign serve`` as a real process, everybody's tokens, and what they do with it."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastmcp import Client

from checkpoints.records import ApprovalRow
from erp_mcp.auth.tokens import FILE, TokenFile
from graph.settings import Settings
from tests.acceptance.chaos.worlds import BACKENDS, make_template
from tests.integration.agent_fixtures import adjust, assert_books_agree, effects, ledger_rows
from tests.served import Server, serving

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
    """A running server, everybody's token, and what happened since.

    Args:
        server: it.
        tokens: by name.
        settings: the server's.
        earlier: approvals that were there before.
    """

    server: Server
    tokens: dict[str, str]
    settings: Settings
    earlier: frozenset[str] = frozenset()

    def rows(self) -> list[ApprovalRow]:
        """The approvals, oldest first."""
        return [row for row in ledger_rows(self.settings) if row.id not in self.earlier]

    def effects(self) -> list[sa.Row[Any]]:
        """The operations, oldest first."""
        return [row for row in effects(self.settings) if row.approval_id not in self.earlier]

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


@pytest.fixture(scope="module")
def shared(northwind_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server for several tests. What they did to it, both books must balance and agree afterwards."""
    settings = Settings(home=Path(shutil.copytree(northwind_home, tmp_path_factory.mktemp("serve") / "home")))
    tokens = make_tokens(settings)
    with running(settings) as server:
        yield Served(server, tokens, settings)
    assert_books_agree(settings)


@pytest.fixture
def served(shared: Served) -> Iterator[Served]:
    """The same, with nothing waiting when a test begins, nor when it is over."""
    before = ledger_rows(shared.settings)
    assert all(row.status != "pending" for row in before)
    mine = replace(shared, earlier=frozenset(row.id for row in before))
    yield mine
    for row in mine.rows():
        if row.status == "pending":
            assert mine.decide("andrew", row.id, "reject").json()["outcome"] == "rejected"


def running(settings: Settings, *, ends: Sequence[int] = (0,), **environment: str) -> AbstractContextManager[Server]:
    """``countersign serve`` with these settings."""
    log = settings.home / f"serve-{time.monotonic_ns()}.log"
    return serving(["countersign", "serve"], variables(settings) | environment, log, ends=ends)


def variables(settings: Settings) -> dict[str, str]:
    """The settings as a process of its own reads them."""
    given = {
        "COUNTERSIGN_HOME": str(settings.home), "COUNTERSIGN_ERP_URL": settings.erp_url,
        "COUNTERSIGN_CHECKPOINT_URL": settings.checkpoint_url, "COUNTERSIGN_POLICY": str(settings.policy or ""),
    }  # fmt: skip
    return {name: value for name, value in given.items() if value}


def countersign(settings: Settings, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    program = str(Path(sys.executable).with_name("countersign"))
    return subprocess.run(
        [program, *arguments], env=os.environ | variables(settings), capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
