"""``countersign servers`` and what doctor says of other servers, against a real one."""

import json
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli
from tests.integration.external_fixtures import elsewhere


def test_list_accept_and_doctor(cli: Cli, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First use is trusted and recorded; a change is shown, withheld and reported until a person accepts it."""
    with elsewhere(tmp_path) as server:
        monkeypatch.setenv("COUNTERSIGN_MCP_SERVERS", json.dumps([server.config(trusted=True)]))
        first = cli("servers", "list", "--json").json()[0]
        assert first["up"] is True
        assert {tool["accepted_by"] for tool in first["tools"]} == {"first use"}
        server.restart("renamed")
        changed = cli("servers", "list")
        assert "create_ticket of tickets has changed since it was accepted" in changed.out
        assert "schema.properties.order_number" in changed.out
        sick = cli("doctor")
        assert sick.code == 1
        assert "countersign servers accept" in sick.out
        accepted = cli("servers", "accept", "tickets", "--by", "andrew")
        assert accepted.code == 0
        assert "Accepted by andrew: create_ticket" in accepted.out
        assert "order_number" in accepted.out
        again = cli("servers", "accept", "tickets", "--by", "andrew", "--json")
        assert again.json()["accepted"] == []
        assert cli("doctor").code == 0
    down = cli("servers", "list")
    assert (down.code, "down: " in down.out) == (0, True)
    assert "tickets does not answer" in cli("doctor").out


def test_unknown_servers_and_none(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with what to do; wrong settings are named as such."""
    assert "COUNTERSIGN_MCP_SERVERS" in cli("servers", "list").out
    refused = cli("servers", "accept", "tickets", "--by", "andrew")
    assert refused.code == 2
    monkeypatch.setenv("COUNTERSIGN_MCP_SERVERS", '[{"name": "a", "command": "no-such-program"}]')
    unknown = cli("servers", "accept", "b", "--by", "andrew")
    assert (unknown.code, "Configured: a" in unknown.err) == (2, True)
    monkeypatch.setenv("COUNTERSIGN_MCP_SERVERS", "nonsense")
    assert "not valid JSON" in cli("servers", "list").err
