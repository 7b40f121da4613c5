"""A skill: the SKILL.md of one tool, in the Agent Skills format, checked when it is read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

import frontmatter
import yaml  # type: ignore[import-untyped]

from erp_mcp.contract import Risk
from erp_mcp.errors import ErpError

FILE: Final = "SKILL.md"
LANGUAGES: Final = ("en", "zh")
MIN_TRIGGERS: Final = 3
NOBODY: Final = "nobody"
"""``belongs_to`` of what is no customer's: a catalogue, which a token bound to a customer may read like any other."""
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SCOPE: Final = re.compile(r"[a-z][a-z0-9_]*(:[a-z][a-z0-9_]*)*")
_REQUIRED: Final = frozenset({"name", "description", "risk", "scopes", "triggers"})
_OPTIONAL: Final = frozenset({"exposure", "personal", "belongs_to", "rest"})
_ROUTE: Final = re.compile(r"(/([a-z][a-z0-9_-]*|\{[a-z][a-z0-9_]*\}))+")
_PARAMETER: Final = re.compile(r"\{([a-z0-9_]+)\}")

Exposure = Literal["public", "private"]
"""Whether other hosts than our own agent get the tool without being told so by whoever runs the server."""
Owner = Literal["customer", "order"]


class SkillError(ErpError):
    """A skill that cannot be served; the message begins with file and line. It stops the start."""

    def __init__(self, path: Path, problem: str, line: int | None = None) -> None:
        where = str(path) if line is None else f"{path}:{line}"
        super().__init__("skill_invalid", f"{where}: {problem}.", "Mend the file, or take it away.")
        self.path = path
        self.line = line


@dataclass(frozen=True)
class Route:
    """Where REST serves a tool.

    Args:
        method: of HTTP.
        path: below ``/api``; parameters in braces are arguments.
    """

    method: str
    path: str

    @property
    def parameters(self) -> tuple[str, ...]:
        """The arguments that stand in the path."""
        return tuple(_PARAMETER.findall(self.path))

    @property
    def shape(self) -> tuple[str, str]:
        """What a request is told apart by: two routes of one shape cannot both be served."""
        return self.method, _PARAMETER.sub("{}", self.path)


@dataclass(frozen=True)
class BelongsTo:
    """How a call's answer is known to be a customer's own.

    Args:
        kind: what the argument names.
        argument: the argument.
    """

    kind: Owner
    argument: str


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
        exposure: whether other hosts get it unasked; ``private`` where the skill does not say.
        personal: paths of the output's fields that hold personal data, such as ``items[].contact``.
        belongs_to: how its answer belongs to a customer; None where it cannot be told, so that a token bound to a
            customer may not call it; ``NOBODY`` for what is nobody's.
        route: where REST serves it.
        lines: the line on which each key of the front matter stands.
    """

    name: str
    description: str
    risk: Risk
    scopes: tuple[str, ...]
    triggers: dict[str, tuple[str, ...]]
    body: str
    path: Path
    exposure: Exposure = "private"
    personal: tuple[str, ...] = ()
    belongs_to: BelongsTo | Literal["nobody"] | None = None
    route: Route | None = None
    lines: Mapping[str, int] = field(default_factory=dict)

    def error(self, key: str, problem: str) -> SkillError:
        """A fault of what stands under a key of the front matter."""
        return SkillError(self.path, problem, self.lines.get(key, 1))


def read_skill(folder: Path) -> Skill:
    """The skill of a folder.

    Raises:
        SkillError: no SKILL.md, bad front matter, or a name that is not the folder's.
    """
    path = folder / FILE
    try:
        text = path.read_text("utf-8")
        head, body = frontmatter.parse(text)
        front = _Front(path, head, _lines(text))
    except FileNotFoundError as error:
        raise SkillError(path, "is missing") from error
    except yaml.MarkedYAMLError as error:
        # the front matter begins after its first line, "---"
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise SkillError(path, f"cannot be read: {error.problem}", line) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SkillError(path, f"cannot be read: {error}", 1) from error
    front.check_keys()
    name = head["name"]
    if name != folder.name or not isinstance(name, str) or not _NAME.fullmatch(name):
        raise front.error("name", f"name {name!r} is not that of its folder, {folder.name!r}, in lower case")
    if not body.strip():
        raise SkillError(path, "has no body", len(text.splitlines()) or 1)
    return Skill(
        name,
        front.description(),
        front.choice("risk", get_args(Risk)),
        front.scopes(),
        front.triggers(),
        body.strip(),
        path,
        front.choice("exposure", get_args(Exposure)) if "exposure" in head else "private",
        front.texts("personal", head.get("personal", []), 0),
        front.belongs_to(),
        front.route(),
        front.lines,
    )


@dataclass(frozen=True)
class _Front:
    """The front matter of a skill, with the line of each key."""

    path: Path
    head: dict[str, Any]
    lines: Mapping[str, int]

    def error(self, key: str, problem: str) -> SkillError:
        return SkillError(self.path, problem, self.lines.get(key, 1))

    def check_keys(self) -> None:
        missing, unknown = _REQUIRED - set(self.head), set(self.head) - _REQUIRED - _OPTIONAL
        if missing:
            raise self.error("", f"the front matter lacks {', '.join(sorted(missing))}")
        if unknown:
            names = sorted(map(str, unknown))
            raise self.error(names[0], f"the front matter has unknown {', '.join(names)}")

    def description(self) -> str:
        value = self.head["description"]
        if not isinstance(value, str) or not value.strip():
            raise self.error("description", "description is empty")
        return " ".join(value.split())

    def choice(self, key: str, choices: tuple[Any, ...]) -> Any:
        if self.head[key] not in choices:
            raise self.error(key, f"{key} {self.head[key]!r} is none of {', '.join(choices)}")
        return self.head[key]

    def triggers(self) -> dict[str, tuple[str, ...]]:
        value = self.head["triggers"]
        if self.head["risk"] == "internal" and value == {}:
            return {}  # no model sees it, so nobody's words lead to it
        if not isinstance(value, dict) or set(value) != set(LANGUAGES):
            raise self.error("triggers", f"triggers needs the languages {' and '.join(LANGUAGES)}")
        return {
            language: self.texts("triggers", value[language], MIN_TRIGGERS, f"triggers.{language}")
            for language in LANGUAGES
        }

    def texts(self, key: str, value: Any, at_least: int, named: str = "") -> tuple[str, ...]:
        named = named or key
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            raise self.error(key, f"{named} is not a list of texts")
        if len(value) < at_least:
            raise self.error(key, f"{named} has {len(value)} entries, and needs {at_least}")
        return tuple(value)

    def scopes(self) -> tuple[str, ...]:
        scopes = self.texts("scopes", self.head["scopes"], 1)
        for scope in scopes:
            if not _SCOPE.fullmatch(scope):
                raise self.error("scopes", f"scopes has {scope!r}, which is not in the form orders:read")
        return scopes

    def belongs_to(self) -> BelongsTo | Literal["nobody"] | None:
        value = self.head.get("belongs_to")
        if value is None or value == NOBODY:
            return value
        if isinstance(value, dict) and len(value) == 1:
            ((kind, argument),) = value.items()
            if kind in get_args(Owner) and isinstance(argument, str):
                return BelongsTo(kind, argument)
        raise self.error("belongs_to", f"belongs_to is neither {NOBODY} nor {{customer: ARGUMENT}} nor {{order: …}}")

    def route(self) -> Route | None:
        value = self.head.get("rest")
        if value is None:
            return None
        method, _, path = value.partition(" ") if isinstance(value, str) else ("", "", "")
        if method not in METHODS or not _ROUTE.fullmatch(path):
            raise self.error("rest", f"rest {value!r} is no route such as GET /orders/{{order_id}}")
        return Route(method, path)


def _lines(text: str) -> dict[str, int]:
    """The line on which each key of the front matter stands, counted from 1."""
    split = text.split("---", 2)
    node = yaml.compose(split[1], yaml.SafeLoader) if len(split) == 3 else None
    before = text.count("\n", 0, text.index("---")) if len(split) == 3 else 0
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return {key.value: before + key.start_mark.line + 1 for key, _ in pairs if isinstance(key.value, str)}
