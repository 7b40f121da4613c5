"""Carrying out decided approvals: the right is checked again, the grant is made now, the ERP does it once."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from checkpoints.records import ApprovalRow, Status
from erp_mcp.contract import Receipt
from erp_mcp.errors import ErpError
from graph.bridge import Call
from graph.errors import LostAnswerError, NoAnswerError, PausedError
from graph.external import send_once
from graph.origin import is_external
from graph.rights import Rights, rights_of
from graph.services import Services

T = TypeVar("T")

FINAL_GRANT_ERRORS = frozenset({"grant_invalid", "grant_mismatch", "grant_required", "unknown_tool", "forbidden"})
"""Refusals that planning again would not mend."""

NO_ANSWER = frozenset({"internal_error", "erp_unreachable"})
"""Errors that say nothing about the write; so do all that begin with ``database_``."""


@dataclass(frozen=True)
class Settlement:
    """What came of an approval.

    Args:
        row: the approval as it was decided.
        status: where it ends.
        outcome: the receipt, or why nothing was done.
    """

    row: ApprovalRow
    status: Status
    outcome: dict[str, Any] | None

    def for_ledger(self) -> tuple[str, Status, dict[str, Any] | None]:
        """The ledger's view."""
        return self.row.id, self.status, self.outcome

    def settled_row(self) -> ApprovalRow:
        """The row as it stands afterwards."""
        return replace(self.row, status=self.status, outcome=self.outcome)


async def carry_out(row: ApprovalRow, services: Services) -> Settlement:
    """Executes an approved row; any other row is settled as it stands.

    Raises:
        NoAnswerError: the ERP did not answer twice; what it did is not known.
        PausedError: nothing is signed just now.
    """
    if row.status == "unknown" and row.settled_at is None:
        return await _after_attempt(row, services)
    if row.status != "approved":
        return Settlement(row, row.status, row.outcome)
    refused = await _refused(row, services)
    if refused is not None:
        return refused
    if is_external(row.preview):
        return Settlement(row, *await send_once(row, services, may_repeat=_may_repeat(row)))
    outlived = _outlived(row, services)

    async def send() -> Receipt:
        if outlived is not None:
            return (await services.bridge.execute_together([(Call(row.tool, row.arguments), services.sign(row))]))[0]
        return await services.bridge.execute(row.tool, row.arguments, services.sign(row))

    try:
        receipt = await _answered(send, row)
    except ErpError as error:
        return outlived or _not_done(row, error)
    return Settlement(row, "executed", receipt.model_dump())


def _may_repeat(row: ApprovalRow) -> bool:
    """Whether the approver saw, and signed, that the tool's server calls it idempotent."""
    return bool(row.preview.get("facts", {}).get("may_be_repeated"))


async def _after_attempt(row: ApprovalRow, services: Services) -> Settlement:
    """Sent by a process that did not live to see the answer; sending it again takes the same rights as before."""
    may_repeat = _may_repeat(row) and await _refused(row, services) is None
    return Settlement(row, *await send_once(row, services, may_repeat=may_repeat))


async def carry_out_together(rows: Sequence[ApprovalRow], services: Services) -> list[Settlement]:
    """Executes the approvals of one message in one transaction of the ERP: all of them or none.

    Raises:
        NoAnswerError, PausedError: as ``carry_out``.
    """
    if len(rows) == 1:
        return [await carry_out(rows[0], services)]
    approved = [row for row in rows if row.status == "approved"]
    settled = [Settlement(row, row.status, row.outcome) for row in rows if row.status != "approved"]
    refused = [found for row in approved if (found := await _refused(row, services)) is not None]
    if not approved:
        return settled
    if refused or any(one.status != "executed" for one in settled):
        return [*settled, *refused, *_left_out(approved, refused)]
    outlived = [found for row in approved if (found := _outlived(row, services)) is not None]

    async def send() -> list[Receipt]:
        calls = [(Call(row.tool, row.arguments), services.sign(row)) for row in approved]
        return await services.bridge.execute_together(calls)

    try:
        receipts = await _answered(send, approved[0])
    except ErpError as error:
        if outlived:
            return [*settled, *outlived, *_left_out(approved, outlived)]
        return [*settled, *(_not_done(row, error) for row in approved)]
    done = zip(approved, receipts, strict=True)
    return [*settled, *(Settlement(row, "executed", receipt.model_dump()) for row, receipt in done)]


async def _refused(row: ApprovalRow, services: Services) -> Settlement | None:
    """The right of everybody who signed is looked at once more, at the moment of signing; lacking that, it is asked
    again, of those who may decide now."""
    if await services.look_up(services.ledger.is_paused):
        raise PausedError
    policy = await services.policy_now()
    rights: Rights = await services.look_up(rights_of, policy, services.ledger, row)
    signatures = await services.look_up(services.ledger.signatures, [row.id])
    why = rights.lacks(signatures.get(row.id, {}))
    if why is None:
        return None
    message = f"The policy asks for more than when {row.decided_by} approved. {why}"
    return Settlement(row, "stale", {"code": "forbidden", "message": message, "hint": "Decide the fresh approval."})


def _outlived(row: ApprovalRow, services: Services) -> Settlement | None:
    """What is said of a call that fits no tool of this release, unless the ERP did it before the release changed.

    It is sent all the same, by ``batch``, which every release has: the ERP may hold its receipt.
    """
    why = services.bridge.why_not(row.tool, row.arguments)
    if why is None:
        return None
    message = f"{row.tool} is no longer the tool that was approved: {why}"
    body = {"type": "schema_changed", "code": "schema_changed", "message": message, "hint": "Ask for it anew."}
    return Settlement(row, "stale", body)


def _left_out(approved: Sequence[ApprovalRow], known: Sequence[Settlement]) -> list[Settlement]:
    """The rest of a group of which a call cannot be done."""
    why = {
        "code": "group_refused",
        "message": "Another call of the group was not approved.",
        "hint": "Tell the user.",
    }
    settled = {one.row.id for one in known}
    return [Settlement(row, "failed", why) for row in approved if row.id not in settled]


def _not_done(row: ApprovalRow, error: ErpError) -> Settlement:
    return Settlement(row, "failed" if error.code in FINAL_GRANT_ERRORS else "stale", error.as_json()["error"])


async def _answered(send: Callable[[], Awaitable[T]], row: ApprovalRow) -> T:
    """The ERP's answer. The same approval is sent once more where none came: the ERP does it once, whatever we send."""
    why = "no answer came"
    for attempt in (1, 2):
        try:
            return await send()
        except LostAnswerError:
            continue
        except ErpError as error:
            if error.code in NO_ANSWER or error.code.startswith("database_"):
                why = error.message
            elif attempt == 2 or error.code != "grant_expired":
                raise
    raise NoAnswerError(row.id, row.tool, why)
