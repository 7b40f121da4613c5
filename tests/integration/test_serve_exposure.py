"""``countersign serve``: what its tokens are offered, and who may not decide."""

from pathlib import Path

import pytest

from erp_mcp.auth.tokens import FILE, TokenFile
from graph.serving import Reach, open_app
from graph.settings import Settings
from tests.integration.agent_fixtures import northwind_home, settings
from tests.integration.http_fixtures import error_of, mcp_client, rest_client, serving

__all__ = ["northwind_home", "settings"]


def started() -> None:
    """Nobody has to be told."""


@pytest.mark.parametrize("private", [False, True])
async def test_private_reads_are_there_only_where_the_operator_says_so(settings: Settings, private: bool) -> None:
    """A token of every scope gets public reads and writes, and no batch, which is for those who hold grants."""
    token = TokenFile(Path(settings.home) / FILE).add("desktop", ["*"])
    with open_app(settings, Reach("127.0.0.1", 0, private=private), started) as app, serving(app) as address:
        async with mcp_client(address, token) as client:
            names = {tool.name for tool in await client.list_tools()}
    assert {"get_order", "cancel_order", "check_balance", "get_approval"} <= names
    assert "batch" not in names
    assert ("get_customer" in names) == ("sales_summary" in names) == private


async def test_a_token_bound_to_a_customer_decides_nothing(settings: Settings) -> None:
    """Approvals are shown whole, and are of all customers."""
    tokens = TokenFile(settings.home / FILE)
    bound = tokens.add("shop", ["approvals:decide"], customer="ALFKI")
    free = tokens.add("andrew", ["approvals:decide"])
    with open_app(settings, Reach("127.0.0.1", 0), started) as app, serving(app) as address:
        async with rest_client(address, bound) as client:
            refused = await client.get("/api/approvals")
        async with rest_client(address, free) as client:
            answered = await client.get("/api/approvals")
    assert (refused.status_code, answered.status_code) == (403, 200)
    assert error_of(refused)["code"] == "forbidden"
