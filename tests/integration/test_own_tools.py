"""A tool from a directory of one's own, through the agent: asked, approved and done once like those of the ERP."""

import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from erp_mcp.skill import SkillError
from graph import approve
from graph.app import open_agent
from graph.books import why_gone, why_unfit
from graph.cli.entry import app
from graph.settings import Settings
from tests.integration.agent_fixtures import Script, moves, northwind_home, settings

__all__ = ["northwind_home", "settings"]

SKILL = """---
name: set_stock
description: Say how much there is of a product in the main warehouse; choose adjust_stock for a difference.
risk: write
scopes: [stock:write]
rest: PUT /products/{sku}/stock
triggers:
  en: [one, two, three]
  zh: [一, 二, 三]
---
A count is the truth.
"""
TOOL = '''
from erp_mcp.domain.quantity import quantity_string, to_milli
from erp_mcp.operations.plan import Plan
from erp_mcp.queries.lookup import find_stock
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.arguments import Quantity, Reason, Sku
from erp_mcp.tools.stock_changes import adjust_stock

def set_stock(tx: Tx, sku: Sku, quantity: Quantity, reason: Reason) -> Plan:
    """A correction to a quantity, planned as the difference to what is there."""
    row = find_stock(tx, sku)
    return adjust_stock(tx, sku, quantity - row.on_hand_milli // 1000, reason)
'''


@pytest.fixture
def own(settings: Settings, tmp_path: Path) -> Settings:
    """The settings, with a directory of tools."""
    folder = tmp_path / "own" / "set_stock"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL, encoding="utf-8")
    (folder / "tool.py").write_text(TOOL, encoding="utf-8")
    return settings.model_copy(update={"skills": f"{tmp_path / 'own'}{os.pathsep}"})


async def test_it_waits_for_a_person_and_is_done_once(own: Settings) -> None:
    """The same preview, ledger, grant and receipt; the inbox does not call it gone."""
    async with open_agent(own, chat=Script()) as agent:
        asked = await agent.call(
            "set_stock", {"sku": "NW-011", "quantity": 99, "reason": "counted"}, requested_by="nancy"
        )
        (approval,) = asked.pending
        assert approval.tool == "set_stock"
        assert (why_gone(own, approval), why_unfit(own, approval)) == (None, None)
        before = moves(own)
        done = await agent.resume(asked.thread_id, approve(approval, by="andrew"))
        again = await agent.resume(asked.thread_id, approve(approval, by="andrew"))
    assert (done.outcome, again.outcome) == ("executed", "already_executed")
    assert len(moves(own)) == len(before) + 1


async def test_an_approval_whose_tool_was_taken_away_says_so(own: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is done, nobody is left without a word, and a faulty tool does not start."""
    async with open_agent(own, chat=Script()) as agent:
        asked = await agent.call(
            "set_stock", {"sku": "NW-011", "quantity": 99, "reason": "counted"}, requested_by="nancy"
        )
    (approval,) = asked.pending
    directory = Path(own.skills.rstrip(os.pathsep))
    (directory / "set_stock" / "SKILL.md").write_text(SKILL.replace("risk: write", "risk: read"), encoding="utf-8")
    with pytest.raises(SkillError, match=r"SKILL\.md:4: risk is read"):
        async with open_agent(own, chat=Script()):
            pytest.fail("it started")
    monkeypatch.setenv("COUNTERSIGN_HOME", str(own.home))
    monkeypatch.setenv("COUNTERSIGN_SKILLS", own.skills)
    refused = CliRunner().invoke(app, ["call", "get_order", "--args", '{"order_id": "10248"}'])
    assert (refused.exit_code, "SKILL.md:4: risk is read" in refused.output) == (1, True)
    shutil.rmtree(directory / "set_stock")
    assert why_gone(own, approval) == "There is no tool 'set_stock' any more."
    async with open_agent(own, chat=Script()) as agent:
        ended = await agent.resume(asked.thread_id, approve(approval, by="andrew"))
    assert ended.outcome == "schema_changed"
