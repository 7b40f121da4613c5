"""What a tool of another server says of itself, and what moved in it. Pure data."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import jsonschema_rs

from erp_mcp.contract import Risk, canonical_json

Json = dict[str, Any]

MAX_DEFINITION_CHARS: Final = 50_000
"""A tool that says more of itself than this is not used: nobody could read what they accept."""


@dataclass(frozen=True)
class Definition:
    """One tool as its server defines it.

    Args:
        name: the server's name for it.
        description: what the model would read.
        schema: JSON Schema of its arguments.
        output: JSON Schema of its answer, if it promises one.
        hints: the server's annotations: claims, not proofs.
    """

    name: str
    description: str
    schema: Json
    output: Json | None
    hints: Json

    @classmethod
    def from_json(cls, body: Json) -> "Definition":
        """Reads what ``as_json`` wrote."""
        return cls(body["name"], body["description"], body["schema"], body.get("output"), body["hints"])

    def as_json(self) -> Json:
        """The form that is hashed, kept and compared."""
        return {
            "name": self.name, "description": self.description, "schema": self.schema, "output": self.output,
            "hints": self.hints,
        }  # fmt: skip

    @cached_property
    def hash(self) -> str:
        """SHA-256 (hex) over all of it: a changed hint can turn a write into a read, so hints count."""
        return hashlib.sha256(_exact(self.as_json())).hexdigest()

    def risk(self, *, trusted: bool) -> Risk:
        """Everything asks a person, but what a trusted server calls read-only."""
        is_read = self.hints.get("readOnlyHint") is True and self.hints.get("destructiveHint") is not True
        return "read" if trusted and is_read else "write"

    @property
    def is_idempotent(self) -> bool:
        """Whether the server says that the same call may be sent twice."""
        return self.hints.get("idempotentHint") is True

    def why_unusable(self) -> str | None:
        """Why it cannot be offered at all, or None."""
        size = len(json.dumps(self.as_json(), ensure_ascii=False))
        if size > MAX_DEFINITION_CHARS:
            return f"its definition has {size} characters; at most {MAX_DEFINITION_CHARS} are taken"
        try:
            validator_of(self.schema)
        except (ValueError, TypeError) as error:
            return f"its schema of arguments is not usable: {str(error).splitlines()[0]}"
        return None


def _exact(body: Json) -> bytes:
    try:
        return canonical_json(body)
    except ValueError:  # a schema may hold numbers that the canonical form refuses; it still needs one name
        return json.dumps(body, sort_keys=True).encode()


def validator_of(schema: Json) -> Any:
    """Checks values against a JSON Schema; a reference to another document is an error, never a download.

    Raises:
        ValueError, TypeError: the schema is not one.
    """
    return jsonschema_rs.validator_for(schema, retriever=_refused, registry=None)


def _refused(uri: str) -> Any:
    raise ValueError(f"references to other documents are not followed: {uri}")


def difference(before: Definition | None, after: Definition | None) -> list[str]:
    """What a person accepts, line by line: ``description: … → …``, and each place of the schema that moved."""
    old = dict(_leaves(before.as_json(), "")) if before else {}
    new = dict(_leaves(after.as_json(), "")) if after else {}
    moved = [path for path in dict.fromkeys([*old, *new]) if old.get(path) != new.get(path)]
    return [f"{path}: {old.get(path, '–')} → {new.get(path, '–')}" for path in moved]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for number, item in enumerate(value, 1):
            yield from _leaves(item, f"{path} {number}")
    else:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
