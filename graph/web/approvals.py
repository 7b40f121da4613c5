"""``/api/approvals``: what waits, one approval whole, and the decisions of people who are known by a token.

Only POST decides: mail scanners, link previews and crawlers send GET and HEAD, and those must do nothing.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from checkpoints.reading import InboxFilter
from checkpoints.records import ApprovalRow
from erp_mcp.errors import ErpError
from graph.decisions import Answer
from graph.hosts import belongs_to
from graph.office import Office
from graph.run import Approval, Run, approvals_of

Json = dict[str, Any]
Approver = Callable[[Request], str]
"""Who decides, by the request's token. Raises ErpError for whoever may not."""

PATH: Final = "/api/approvals"
MOST: Final = 200
CHARACTERS: Final = 2000
"""Of a reason."""

_STATUS: Final = {"unknown": 404, "forbidden": 403, "invalid": 422}
_COUNTED: Final = frozenset({"executed", "recorded", "already_executed", "rejected"})

Digest = Annotated[str, Field(min_length=64, max_length=64, description="of the preview that the person saw")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    digest: Digest


class Approve(_Body):
    """Signs what was seen."""


class Reject(_Body):
    """Refuses it."""

    reason: str = Field("", max_length=CHARACTERS, description="whoever asked hears it")


class Edit(_Body):
    """Changes the arguments, which makes a fresh preview that waits."""

    args: Json = Field(description="the new arguments, whole")


def approvals_router(office: Office, approver: Approver) -> APIRouter:
    """The routes.

    Args:
        office: the open agent.
        approver: knows who sends a request.
    """
    router = APIRouter(prefix=PATH, tags=["approvals"])

    @router.get("")
    def waiting(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=MOST)] = 50,
        after: Annotated[str | None, Query(description="go on behind this approval")] = None,
        tool: str | None = None,
        requested_by: str | None = None,
    ) -> Json:
        """What waits for a decision, oldest first."""
        approver(request)
        behind = None if after is None else _one(office, after)
        rows = office.pending(
            limit=limit + 1, after=None if behind is None else (behind.created_at, behind.id),
            only=InboxFilter(tool, requested_by),
        )  # fmt: skip
        before = office.find([row.supersedes for row in rows if row.supersedes])
        shown = [approval.as_json() for approval in approvals_of(rows[:limit], before)]
        return {"approvals": shown, "next": shown[-1]["approval_id"] if len(rows) > limit else None}

    @router.get("/{approval_id}")
    def one(request: Request, approval_id: str) -> Json:
        """One approval, whole."""
        approver(request)
        return _whole(office, _one(office, approval_id))

    @router.post("/{approval_id}/approve")
    async def approve(request: Request, approval_id: str, body: Approve) -> JSONResponse:
        """Signs it, and has it carried out once nothing else of its message waits."""
        return await _decided(office, approval_id, Answer(approval_id, "approve", approver(request), body.digest))

    @router.post("/{approval_id}/reject")
    async def reject(request: Request, approval_id: str, body: Reject) -> JSONResponse:
        """Refuses it; nothing is done."""
        answer = Answer(approval_id, "reject", approver(request), body.digest, reason=body.reason)
        return await _decided(office, approval_id, answer)

    @router.post("/{approval_id}/edit")
    async def edit(request: Request, approval_id: str, body: Edit) -> JSONResponse:
        """Changes its arguments; a fresh preview waits."""
        answer = Answer(approval_id, "edit", approver(request), body.digest, args=body.args)
        return await _decided(office, approval_id, answer)

    return router


async def _decided(office: Office, approval_id: str, answer: Answer) -> JSONResponse:
    row = await run_in_threadpool(_one, office, approval_id)
    if belongs_to(row, answer.by):
        raise ErpError(
            "forbidden", f"{answer.by} asked for this over MCP, and the same token does not decide it.",
            "Somebody else has to decide it.",
        )  # fmt: skip
    run = await office.decide(row.thread_id, answer)
    return JSONResponse(run.as_json(), _status(run, row, answer))


def _status(run: Run, before: ApprovalRow, answer: Answer) -> int:
    """200 where the decision counts; 409 where something else came first, which the outcome tells."""
    outcome = str(run.outcome)
    is_edited = answer.kind == "edit" and outcome == "superseded" and before.status == "pending"
    return 200 if outcome in _COUNTED or is_edited else _STATUS.get(outcome, 409)


def _one(office: Office, approval_id: str) -> ApprovalRow:
    row = office.find([approval_id]).get(approval_id)
    if row is None:
        raise ErpError("approval_not_found", "There is no such approval.", f"Those that wait: GET {PATH}.")
    return row


def _whole(office: Office, row: ApprovalRow) -> Json:
    before = office.find([row.supersedes]).get(row.supersedes) if row.supersedes else None
    return Approval.of(row, before).as_json() | {
        "request": row.request, "outcome": row.outcome, "policy": row.policy, "assurance": row.assurance,
        "decided_at": row.decided_at.isoformat() if row.decided_at else None,
    }  # fmt: skip
