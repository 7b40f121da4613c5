"""The planner understands every example sentence that a tool's own description gives."""

from pathlib import Path
from typing import Any

import frontmatter
import pytest

import erp_mcp
from tests.unit.planner.conversation import ARGUMENTS, erp, order, talk

ASKED = (
    "Around the Horn 搬家了，新地址是英国伦敦 Side Street 2 号",
    "订单 11075 改寄到伦敦 Side Street 2 号",
)
"""An address written in one piece is asked for in parts, because a wrong guess would send goods somewhere else."""
SKILLS = Path(erp_mcp.__path__[0]) / "skills"


def _examples() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for file in sorted(SKILLS.glob("*/SKILL.md")):
        skill = frontmatter.load(str(file))
        if skill["risk"] != "internal" and skill["name"] in ARGUMENTS:
            triggers: Any = skill["triggers"]
            found += [(str(skill["name"]), text) for texts in triggers.values() for text in texts]
    return found


def _erp(name: str, args: dict[str, Any]) -> Any:
    """The stand-in ERP, whose orders also have a line of NW-042, as the examples suppose."""
    if name != "get_order":
        return erp(name, args)
    found = order(args["order_id"])
    return found | {"lines": [*found["lines"], {"sku": "NW-042", "quantity": "1"}]}


@pytest.mark.parametrize(("tool", "sentence"), _examples())
def test_a_tool_s_example_leads_to_the_tool(tool: str, sentence: str) -> None:
    """Every trigger sentence of every skill, English and Chinese, ends in a call of that skill's tool."""
    turn = talk(sentence, _erp)
    if sentence in ASKED:
        assert turn.writes == []
        assert "街道，城市，邮编，国家" in turn.answer
        return
    assert tool in [name for name, _ in turn.calls], turn.answer
