"""Prompts: the common tasks, each a Markdown file that says which tools it uses and what has to be filled in."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import frontmatter
import yaml  # type: ignore[import-untyped]

from erp_mcp.skill import SkillError

PROMPTS: Final = Path(__file__).parent / "prompts"
_KEYS: Final = {"name", "description", "tools", "arguments"}
_PLACE: Final = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True)
class Prompt:
    """One task.

    Args:
        name: its name, and its file's.
        description: what it is for.
        tools: the tools that it uses; who may not call them all is not offered it.
        arguments: what has to be filled in, and what each means.
        body: the text, with ``{argument}`` where they stand.
    """

    name: str
    description: str
    tools: tuple[str, ...]
    arguments: dict[str, str]
    body: str

    def filled(self, given: dict[str, str]) -> str:
        """The text for these arguments, which stand in it as they came: nothing in them is filled in again."""
        return _PLACE.sub(lambda place: given[place[1]], self.body)


def load_prompts(tools: Collection[str]) -> list[Prompt]:
    """All of them, checked.

    Args:
        tools: the names that there are.

    Raises:
        SkillError: a file that is not what it should be.
    """
    return [_read(path, tools) for path in sorted(PROMPTS.glob("*.md"))]


def _read(path: Path, tools: Collection[str]) -> Prompt:
    try:
        found, body = frontmatter.parse(path.read_text("utf-8"))
        head: dict[str, Any] = dict(found)
    except yaml.YAMLError as error:
        raise SkillError(path, f"cannot be read: {error}") from error
    if set(head) != _KEYS or head["name"] != path.stem:
        raise SkillError(path, f"needs exactly {', '.join(sorted(_KEYS))}, and the name of its file")
    prompt = Prompt(head["name"], head["description"], tuple(head["tools"]), dict(head["arguments"]), body)
    unknown = sorted(set(prompt.tools) - set(tools))
    if unknown:
        raise SkillError(path, f"uses {', '.join(unknown)}, which there is not")
    if set(_PLACE.findall(body)) != set(prompt.arguments):
        raise SkillError(path, "its text has other places to fill in than its arguments")
    return prompt
