"""A plan: what a write would do, as pure data. To re-verify is to plan again and compare digests."""

from dataclasses import dataclass, field

from erp_mcp.contract import Amount, Change, JsonObject, Reversibility, Target
from erp_mcp.operations.effects import Effect


@dataclass(frozen=True)
class Plan:
    """What a write tool answers before anybody signs.

    Args:
        summary: one sentence for the approver, with names beside ids.
        reversibility: how far it can be taken back, and by which call.
        targets: the rows it would change, with their versions (bound).
        changes: each value before and after (bound).
        money: every amount the approver relies on (bound).
        facts: other bound JSON values; never a number or a time that is allocated on execution.
        context: shown beside it, not bound.
        warnings: what the approver should notice, not bound.
        effects: what to apply, in order, with compare-and-set on the targets' versions.
        result: the known part of the receipt's result; what the effects allocate is added to it.
    """

    summary: str
    reversibility: Reversibility
    targets: tuple[Target, ...] = ()
    changes: tuple[Change, ...] = ()
    money: tuple[Amount, ...] = ()
    facts: JsonObject = field(default_factory=dict)
    context: JsonObject = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    result: JsonObject = field(default_factory=dict)
