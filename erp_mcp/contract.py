"""What the ERP and its hosts say to each other: previews, receipts, the digest, and the keys of MCP's ``_meta``.

Pure data. The agent imports this module and nothing else of the ERP's inside.
"""

import hashlib
from typing import Annotated, Any, Final, Literal

import rfc8785
from pydantic import BaseModel, ConfigDict, Field, with_config
from typing_extensions import TypedDict

JsonObject = dict[str, Any]

META_GRANT: Final = "countersign/grant"
"""``_meta`` key of one grant (a JWT) on a write tool's call."""
META_GRANTS: Final = "countersign/grants"
"""``_meta`` key of the grants of a ``batch`` call: a list, one per call, in order."""
META_KEY: Final = "countersign/idempotency-key"
"""``_meta`` key of a host's own name for a request: the same name is the same request, however often it is sent."""
META_RISK: Final = "countersign/risk"
"""``meta`` key under which ``tools/list`` says ``read``, ``sensitive``, ``write`` or ``internal``."""

Risk = Literal["read", "sensitive", "write", "internal"]
"""``sensitive`` is a read that asks first, like a write; ``internal`` is never shown to a model."""


def canonical_json(value: Any) -> bytes:
    """RFC 8785 canonical JSON, so that ``1`` and ``1.0``, key order and spaces do not matter.

    Args:
        value: JSON values only; money and quantities are decimal strings by now.

    Raises:
        ValueError: a value that JSON cannot carry exactly (integer beyond 2^53, lone surrogate, NaN, Decimal).
    """
    try:
        return bytes(rfc8785.dumps(value))
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise ValueError(f"not exact JSON: {error}") from error


def digest_of(tool: str, facts: JsonObject) -> str:
    """SHA-256 (hex) over the canonical JSON of a tool's name and everything that its approver relied on."""
    return hashlib.sha256(canonical_json({"tool": tool, "facts": facts})).hexdigest()


class Wire(BaseModel):
    """Base of what crosses the wire: unknown keys are refused, values are not changed after they were made."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@with_config(ConfigDict(extra="forbid"))
class WireRow(TypedDict):
    """Base of the rows of a list that crosses the wire. They are plain objects: to make a page of models takes longer
    than its query, and nobody but the ERP makes them."""


class Target(Wire):
    """A row that the call would change, with the version that the approver saw."""

    kind: Literal["order", "product", "stock", "customer", "return"]
    id: str
    version: int
    name: str = ""


class Change(Wire):
    """One value before and after. ``before`` is empty for something new, ``after`` for something removed."""

    target: str
    field: str
    before: str = ""
    after: str = ""


class Amount(Wire):
    """Money as people read it: a decimal string with its currency beside it."""

    label: str
    amount: str
    currency: str


class Reversibility(Wire):
    """How far the effect can be taken back, and by which call."""

    kind: Literal["reversible", "compensable", "irreversible", "unknown"]
    how: str = ""


class Preview(Wire):
    """What a write would do, shown before anybody signs. All but ``context``, ``warnings`` and ``summary`` is bound by
    the digest."""

    tool: str
    summary: str
    arguments: JsonObject
    targets: list[Target] = []
    changes: list[Change] = []
    money: list[Amount] = []
    facts: JsonObject = {}
    context: JsonObject = {}
    warnings: list[str] = []
    reversibility: Reversibility
    digest: str

    def bound_facts(self) -> JsonObject:
        """Everything that the digest covers: versions, before and after, money, normalised arguments, other facts."""
        return bound_facts(self.arguments, self.targets, self.changes, self.money, self.reversibility, self.facts)

    def is_whole(self) -> bool:
        """Whether the digest belongs to what is shown: a preview that was altered on its way is not whole."""
        return digest_of(self.tool, self.bound_facts()) == self.digest


def bound_facts(
    arguments: JsonObject,
    targets: list[Target],
    changes: list[Change],
    money: list[Amount],
    reversibility: Reversibility,
    facts: JsonObject,
) -> JsonObject:
    """The digest's input, in one place for the side that makes a preview and the side that checks it."""
    return {
        "arguments": arguments,
        "targets": [t.model_dump() for t in targets],
        "changes": [c.model_dump() for c in changes],
        "money": [m.model_dump() for m in money],
        "reversibility": reversibility.model_dump(),
        "facts": facts,
    }


class Receipt(Wire):
    """What was done, once. The same receipt comes back however often the same grant is presented."""

    approval_id: str
    tool: str
    status: Literal["executed", "already_executed"]
    result: JsonObject
    executed_at: str
    approver: str
    requested_by: str


class WriteAnswer(Wire):
    """The answer of every write tool: a preview while nobody has signed, a receipt once somebody has."""

    status: Literal["approval_required", "executed", "already_executed"]
    preview: Annotated[Preview | None, Field(description="present with approval_required")] = None
    receipt: Annotated[Receipt | None, Field(description="present once executed")] = None
    approval_id: Annotated[str | None, Field(description="where the server itself keeps the approval")] = None
    next_step: Annotated[str | None, Field(description="how to go on, where the server keeps the approval")] = None


class BatchCall(Wire):
    """One call of a batch."""

    tool: str
    arguments: JsonObject


class BatchAnswer(Wire):
    """The answers of a batch, in the order of its calls."""

    answers: list[WriteAnswer]
