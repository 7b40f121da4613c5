"""A skill: the SKILL.md of one tool, in the Agent Skills format, checked when it is read."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

import frontmatter
import yaml  # type: ignore[import-untyped]

from erp_mcp.contract import Risk

FILE: Final = "SKILL.md"
LANGUAGES: Final = ("en", "zh")
MIN_TRIGGERS: Final = 3
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_KEYS: Final = frozenset({"name", "description", "risk", "scopes", "triggers"})


class SkillError(Exception):
    """A skill that cannot be served; the message begins with the file's name. It stops the start."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path


@dataclass(frozen=True)
class Skill:
    """What a tool is, in words.

    Args:
        name: the tool's, and its folder's.
        description: the contract that the model reads.
        risk: read, sensitive, write or internal.
        scopes: what a token needs to call it.
        triggers: example requests by language.
        body: the business definition (Markdown).
        path: the file it was read from.
    """

    name: str
    description: str
    risk: Risk
    scopes: tuple[str, ...]
    triggers: dict[str, tuple[str, ...]]
    body: str
    path: Path


def read_skill(folder: Path) -> Skill:
    """The skill of a folder.

    Raises:
        SkillError: no SKILL.md, bad front matter, or a name that is not the folder's.
    """
    path = folder / FILE
    try:
        post = frontmatter.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise SkillError(path, "is missing") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SkillError(path, f"cannot be read: {_where(error)}") from error
    head: dict[str, Any] = post.metadata
    _check_keys(path, head)
    name = head["name"]
    if name != folder.name or not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SkillError(path, f"name {name!r} is not that of its folder, {folder.name!r}, in lower case")
    if head["risk"] not in get_args(Risk):
        raise SkillError(path, f"risk {head['risk']!r} is none of {', '.join(get_args(Risk))}")
    if not post.content.strip():
        raise SkillError(path, "has no body")
    return Skill(
        name,
        _description(path, head["description"]),
        head["risk"],
        _texts(path, "scopes", head["scopes"], 0 if head["risk"] == "internal" else 1),
        _triggers(path, head["triggers"], head["risk"]),
        post.content.strip(),
        path,
    )


def _check_keys(path: Path, head: dict[str, Any]) -> None:
    missing, unknown = _KEYS - set(head), set(head) - _KEYS
    if missing:
        raise SkillError(path, f"the front matter lacks {', '.join(sorted(missing))}")
    if unknown:
        raise SkillError(path, f"the front matter has unknown {', '.join(sorted(map(str, unknown)))}")


def _description(path: Path, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise SkillError(path, "description is empty")
    return " ".join(value.split())


def _triggers(path: Path, value: Any, risk: str) -> dict[str, tuple[str, ...]]:
    if risk == "internal" and value == {}:
        return {}  # no model sees it, so nobody's words lead to it
    if not isinstance(value, dict) or set(value) != set(LANGUAGES):
        raise SkillError(path, f"triggers needs the languages {' and '.join(LANGUAGES)}")
    return {language: _texts(path, f"triggers.{language}", value[language], MIN_TRIGGERS) for language in LANGUAGES}


def _texts(path: Path, key: str, value: Any, at_least: int) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise SkillError(path, f"{key} is not a list of texts")
    if len(value) < at_least:
        raise SkillError(path, f"{key} has {len(value)} entries, and needs {at_least}")
    return tuple(value)


def _where(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    # the front matter begins after its first line, "---"
    return f"line {mark.line + 2}: {getattr(error, 'problem', error)}" if mark else str(error)
