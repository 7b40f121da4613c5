"""Carrying out one decided approval: the right is checked again, the grant is made now, the ERP does it once."""

from dataclasses import dataclass, replace
from typing import Any

from checkpoints.records import ApprovalRow, Status
from erp_mcp.contract import Receipt
from erp_mcp.errors import ErpError
from graph.bridge import LostAnswerError
from graph.errors import NoAnswerError
from graph.services import Services

FINAL_GRANT_ERRORS = frozenset({"grant_invalid", "grant_mismatch", "grant_required", "unknown_tool", "forbidden"})
"""Refusals that planning again would not mend."""


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
    """
    if row.status != "approved":
        return Settlement(row, row.status, row.outcome)
    refused = services.policy.forbids(row.decided_by or "", row.policy, row.requested_by)
    if refused is not None:
        return Settlement(row, "failed", {"code": "forbidden", "message": refused, "hint": "Ask for a new approval."})
    try:
        receipt = await _answered(row, services)
    except ErpError as error:
        status: Status = "failed" if error.code in FINAL_GRANT_ERRORS else "stale"
        return Settlement(row, status, error.as_json()["error"])
    return Settlement(row, "executed", receipt.model_dump())


async def _answered(row: ApprovalRow, services: Services) -> Receipt:
    """The ERP's answer. The same approval is sent once more where none came: the ERP does it once, whatever we send."""
    for attempt in (1, 2):
        try:
            return await services.bridge.execute(row.tool, row.arguments, services.sign(row))
        except LostAnswerError:
            continue
        except ErpError as error:
            if attempt == 2 or error.code not in {"database_busy", "grant_expired"}:
                if error.code in {"database_busy", "internal_error"}:
                    break
                raise
    raise NoAnswerError(row.id, row.tool)
