"""What to call the outcome of a decision once the graph has done what it could. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from checkpoints.records import ApprovalRow
from graph.desk import Decided, renamed
from graph.run import Outcome

_FIRST: Final[tuple[Outcome, ...]] = (
    "forbidden", "invalid", "unknown", "wrong_thread", "paused", "schema_changed", "already_decided", "failed",
    "stale", "superseded", "expired", "recorded", "executed", "already_executed", "rejected",
)  # fmt: skip
"""Of several outcomes in one answer, the one that a person has to hear of first names the whole."""


def whole_outcome(decided: Sequence[Decided]) -> Outcome | None:
    """One outcome for an answer with several decisions; None where nothing was decided."""
    outcomes = {one.outcome for one in decided}
    return next((outcome for outcome in _FIRST if outcome in outcomes), None)


def after_run(decided: Decided, rows: Mapping[str, ApprovalRow], repeated: bool) -> Decided:
    """What came of a decision in the end.

    Args:
        decided: what the desk said.
        rows: the thread's approvals as they stand now.
        repeated: an approval given again for what was approved already: it gets the same receipt.
    """
    row = rows.get(decided.approval_id)
    if row is not None and row.status == "stale" and decided.outcome == "already_decided":
        return _stale(decided, f"{decided.note} ", row, rows)  # a late click: who was first, and what to look at now
    if row is None or not (decided.recorded or repeated):
        return decided
    if decided.outcome in {"superseded", "paused"}:
        return decided
    if row.status == "pending":
        return decided  # signed, and somebody else has to sign it, too: the desk says who
    if row.status == "executed":
        done = "It was executed already; this is its receipt." if repeated else "Executed."
        return renamed(decided, "already_executed" if repeated else "executed", done)
    if row.status == "unknown":
        return renamed(decided, "unknown", (row.outcome or {}).get("message", "Whether it was done is not known."))
    if row.status == "stale":
        return _stale(decided, "", row, rows)
    if row.status == "failed":
        why = (row.outcome or {}).get("message", "The ERP refused it.")
        was_called = (row.outcome or {}).get("answered", False)
        return renamed(decided, "failed", f"{why} {'It was called.' if was_called else 'Nothing was done.'}")
    if _others_open(row, rows):
        return renamed(decided, "recorded", f"Recorded; {_others_open(row, rows)} of the same message still wait.")
    return decided


def _stale(decided: Decided, first: str, row: ApprovalRow, rows: Mapping[str, ApprovalRow]) -> Decided:
    if (row.outcome or {}).get("type") == "schema_changed":
        message = (row.outcome or {}).get("message", "")
        return renamed(decided, "schema_changed", f"{first}{message} {_what_now(row, rows)}")
    return renamed(decided, "stale", f"{first}{_stale_note(row, rows)}")


def _what_now(row: ApprovalRow, rows: Mapping[str, ApprovalRow]) -> str:
    fresh = [other.id for other in rows.values() if other.supersedes == row.id]
    return f"Nothing was done. {f'The fresh preview {fresh[0]} waits.' if fresh else 'Ask for it anew.'}"


def _stale_note(row: ApprovalRow, rows: Mapping[str, ApprovalRow]) -> str:
    fresh = [other.id for other in rows.values() if other.supersedes == row.id]
    if fresh and (row.outcome or {}).get("code") == "forbidden":
        return f"{(row.outcome or {}).get('message', '')} Nothing was done. The fresh approval {fresh[0]} waits."
    if fresh:
        return f"Something moved since the preview; nothing was done. The fresh preview {fresh[0]} waits."
    why = (row.outcome or {}).get("message", "")
    return f"Something moved since the preview; nothing was done, and it can no longer be done. {why}".strip()


def _others_open(row: ApprovalRow, rows: Mapping[str, ApprovalRow]) -> int:
    return sum(other.status == "pending" and other.message_id == row.message_id for other in rows.values())
