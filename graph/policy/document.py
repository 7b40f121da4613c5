"""A TOML document that knows where its keys stand. The standard library's parser gives values and no positions."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from graph.policy.problems import Place, PolicyError

Path = tuple[str | int, ...]
"""Keys and list numbers, such as ``("rules", 2, "when")``."""

_TOKEN: Final = re.compile(
    r'''"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*|[\[\]{}=.\n,]|[^\s\[\]{}=.,"'#]+''',
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\u.{4}|\\U.{8}|\\.|.", re.DOTALL)


@dataclass(frozen=True)
class Document:
    """A parsed file.

    Args:
        file: its name, for messages.
        text: its text.
        values: what it says.
        places: where each key stands: the offset of the key and of its value.
    """

    file: str
    text: str
    values: dict[str, Any]
    places: dict[Path, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, file: str) -> "Document":
        """Reads TOML.

        Raises:
            PolicyError: with line and column of what is not TOML.
        """
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
            place = (
                Place(int(found[1]), int(found[2]))
                if found
                else Place(text.count("\n") + 1, len(text) - text.rfind("\n"))
            )
            said = re.sub(r" \(at .*\)$", "", str(error))
            raise PolicyError(f"this is not TOML: {said}.", "Correct the file at that place.", file, place) from None
        return cls(file, text, values, dict(_places(text)))

    def place(self, *path: str | int) -> Place:
        """Where a key stands, or the table that it would stand in."""
        for length in range(len(path), 0, -1):
            for known in (path[:length], (*path[:length], 0)):  # a list of tables stands where its first one does
                if known in self.places:
                    return self._at(self.places[known][0])
        return Place(1, 1)

    def inside(self, path: Path, line: int, column: int) -> Place:
        """Where a position within a string value stands in the file.

        Args:
            path: the key of the string.
            line, column: in the string, counted from 1.
        """
        if path not in self.places:
            return self.place(*path)
        start = self.places[path][1]
        quote = 3 if self.text[start : start + 3] in {'"""', "'''"} else 1
        skipped = quote == 3 and self.text[start + 3 : start + 4] == "\n"  # TOML drops a newline right after the quotes
        if line > 1 or skipped:
            return Place(self._at(start).line + line - 1 + skipped, column)
        raw = start + quote
        if self.text[start] == '"':
            for _, token in zip(range(column - 1), _ESCAPE.finditer(self.text, raw), strict=False):
                raw = token.end()
        else:
            raw += column - 1
        return self._at(raw)

    def error(self, message: str, hint: str, *path: str | int) -> PolicyError:
        """A problem with a key of this file."""
        return PolicyError(message, hint, self.file, self.place(*path))

    def _at(self, offset: int) -> Place:
        before = self.text[:offset]
        return Place(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def _places(text: str) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Every table header and key of a text that is known to be TOML, with its offsets."""
    table: Path = ()
    counts: dict[Path, int] = {}
    for statement in _statements(text):
        words = [token[0] for token in statement]
        start = statement[0].start()
        if words[0] != "[":
            ends = words.index("=") if "=" in words else len(words)
            value = statement[ends + 1].start() if ends + 1 < len(words) else start
            yield table + _keys(words[:ends]), (start, value)
            continue
        table = _with_numbers(_keys(words), counts)
        if words[1] == "[":
            counts[table] = counts.get(table, -1) + 1
            table = (*table, counts[table])
        yield table, (start, start)


def _with_numbers(keys: Path, counts: dict[Path, int]) -> Path:
    """``[rules.x]`` after ``[[rules]]`` belongs to its newest element."""
    path: Path = ()
    for key in keys[:-1]:
        path = (*path, key)
        if path in counts:
            path = (*path, counts[path])
    return (*path, *keys[-1:])


def _statements(text: str) -> Iterator[list[re.Match[str]]]:
    """Tokens up to each newline that stands outside brackets."""
    depth, statement = 0, list[re.Match[str]]()
    for token in _TOKEN.finditer(text):
        depth += (token[0] in {"[", "{"}) - (token[0] in {"]", "}"})
        if token[0] == "\n" and depth == 0:
            if statement:
                yield statement
            statement = []
        elif token[0] != "\n" and not token[0].startswith("#"):
            statement.append(token)
    if statement:
        yield statement


def _keys(words: list[str]) -> Path:
    named = [word for word in words if word not in {"[", "]", "."}]
    return tuple(next(iter(tomllib.loads(f"{word} = 0"))) for word in named)
