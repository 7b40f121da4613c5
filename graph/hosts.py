"""Writes that raw MCP hosts ask for, say a desktop assistant: each waits for a person, and is done once, like the
agent's own.

A host's call is a thread with one call in it, of the same graph. So who may decide, what goes stale, what a crash
leaves behind and what stands in the records needs no second set of rules. What a host says proves nothing: the ledger
and the grant do.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from checkpoints.ledger import call_key
from checkpoints.records import ApprovalRow
from erp_mcp.contract import JsonObject, Preview, Receipt, Wire, WriteAnswer, canonical_json
from erp_mcp.errors import ErpError
from graph.errors import PendingError
from graph.proposals import Wanted, make_proposals
from graph.results import said
from graph.threads import Agent

MOST_WAITING: Final = 100
"""Approvals of one requester that may wait at the same time, so that a host that loops cannot bury the inbox."""

LONGEST_KEY: Final = 200
"""Characters of an idempotency key."""

_THREAD: Final = "host"


class HostApproval(Wire):
    """How far a host's own request has come. ``message`` says it in words, and what to do next."""

    approval_id: str
    tool: str
    arguments: JsonObject
    status: str
    message: str
    asked_at: str
    expires_at: str
    preview: Preview | None = None
    receipt: Receipt | None = None
    reason: str | None = None
    superseded_by: str | None = None


class Hosts:
    """The agent's side of raw MCP hosts.

    Args:
        agent: open, in this event loop.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._services = agent.services

    async def ask(self, host: str, tool: str, arguments: JsonObject, key: str = "") -> WriteAnswer:
        """Opens an approval for a write, or finds the one that there is.

        Without a key the same call is found again as long as it waits or is being carried out. With a key it is found
        again for good: so a host that lost our answer may send the same again.

        Args:
            host: who asks, as the entrance knows it.
            tool, arguments: the call.
            key: the host's name for this request, from ``_meta``; empty for none.

        Returns:
            ``approval_required`` with the approval's id; a receipt where it was done already, or a rule of the policy
            signed it.

        Raises:
            ErpError: it cannot be done; ``not_executed`` where it was asked for under this key and not done;
                ``idempotency_mismatch``, ``too_many_waiting``.
            NoAnswerError: as ``Agent.call``.
        """
        if len(key) > LONGEST_KEY:
            raise ErpError("invalid_argument", f"The idempotency key is longer than {LONGEST_KEY}.", "Use a UUID.")
        self._services.bridge.check(tool, arguments)
        thread_id = _thread_id(host, key or canonical_json([tool, arguments]).decode())
        found = await self._found(thread_id, for_good=bool(key))
        if found is None:
            await self._refuse_what_cannot_be_done(host, tool, arguments)
            name = hashlib.sha256(key.encode()).hexdigest()[:32] if key else None
            found = await self._open(host, tool, arguments, thread_id, name)
        if key and (found.tool, found.proposed) != (tool, arguments):
            raise ErpError(
                "idempotency_mismatch", "This idempotency key was used for another call.", "Use a new one for each."
            )
        return _answer(found)

    async def look(self, host: str, approval_id: str) -> HostApproval:
        """How far one of the host's own requests has come.

        Raises:
            ErpError: ``approval_not_found``: there is none, or somebody else asked for it.
        """
        ledger = self._services.ledger
        row = (await self._services.look_up(ledger.get_all, [approval_id])).get(approval_id)
        if row is None or not belongs_to(row, host):
            raise ErpError(
                "approval_not_found", "There is no such approval among your requests.",
                "Give the approval_id of an answer to a call of yours.",
            )  # fmt: skip
        await self._services.write_down(ledger.expire_due, row.thread_id)
        rows = await self._services.look_up(ledger.of_thread, row.thread_id)
        return _progress(next(one for one in rows if one.id == row.id), rows)

    async def _found(self, thread_id: str, *, for_good: bool) -> ApprovalRow | None:
        """The newest approval of a request that counts as the same one."""
        ledger = self._services.ledger
        await self._services.write_down(ledger.expire_due, thread_id)
        rows = await self._services.look_up(ledger.of_thread, thread_id)
        same = [row for row in rows if for_good or row.status in {"pending", "approved"}]
        return same[-1] if same else None

    async def _refuse_what_cannot_be_done(self, host: str, tool: str, arguments: JsonObject) -> None:
        """Before there is a thread: a refused call leaves nothing behind."""
        waiting = await self._services.look_up(self._services.ledger.count_waiting, await self._person(host))
        if waiting >= MOST_WAITING:
            raise ErpError(
                "too_many_waiting", f"{waiting} requests of {host} wait for a decision.",
                "Wait until some are decided; look at them with get_approval.",
            )  # fmt: skip
        call = call_key("", "", "")
        wanted = Wanted("", "", "", call, tool, arguments, arguments, requested_by=host, request="")
        (proposal,) = await make_proposals([wanted], self._services)
        if isinstance(proposal, ErpError):
            raise proposal

    async def _open(self, host: str, tool: str, arguments: JsonObject, thread_id: str, name: str | None) -> ApprovalRow:
        try:
            run = await self._agent.call(tool, arguments, requested_by=host, thread_id=thread_id, name=name)
        except PendingError:
            run = None  # the same call came twice at once; the other one opened it
        rows = await self._services.look_up(self._services.ledger.of_thread, thread_id)
        if rows:
            return rows[-1]
        error: Any = (run.result if run else None) or {}
        told = error.get("error", {}) if isinstance(error, dict) else {}
        raise ErpError(
            str(told.get("code", "internal_error")), str(told.get("message", "The call was not taken.")),
            str(told.get("hint", "Send it again.")),
        )  # fmt: skip

    async def _person(self, host: str) -> str:
        return (await self._services.policy_now()).person(host)


def belongs_to(row: ApprovalRow, host: str) -> bool:
    """Whether this host asked for it."""
    return row.thread_id.rpartition(":")[0] == f"{_THREAD}:{host}"


def _thread_id(host: str, request: str) -> str:
    return f"{_THREAD}:{host}:{hashlib.sha256(request.encode()).hexdigest()[:32]}"


def _answer(row: ApprovalRow) -> WriteAnswer:
    if row.status == "executed":
        return WriteAnswer(status="executed", receipt=Receipt.model_validate(row.outcome), approval_id=row.id)
    if row.status not in {"pending", "approved"}:
        told = said(row)["message"]
        raise ErpError(
            "not_executed", told, "To ask for it anew, send it with another idempotency key.", outcome=row.status,
            approval_id=row.id,
        )  # fmt: skip
    return WriteAnswer(
        status="approval_required", preview=Preview.model_validate(row.preview), approval_id=row.id,
        next_step=f"A person has to approve this. Nothing is done until then. Tell the user, and look with "
        f"get_approval(approval_id={row.id}).",
    )  # fmt: skip


def _progress(row: ApprovalRow, rows: Sequence[ApprovalRow]) -> HostApproval:
    fresh = next((other.id for other in rows if other.supersedes == row.id), None)
    executed = row.status == "executed"
    return HostApproval(
        approval_id=row.id, tool=row.tool, arguments=row.arguments, status=row.status, message=_in_words(row, fresh),
        asked_at=row.created_at.isoformat(), expires_at=row.expires_at.isoformat(),
        preview=Preview.model_validate(row.preview) if row.status == "pending" else None,
        receipt=Receipt.model_validate(row.outcome) if executed else None,
        reason=row.reason or None, superseded_by=fresh,
    )  # fmt: skip


def _in_words(row: ApprovalRow, fresh: str | None) -> str:
    if row.status == "pending":
        return " ".join(["It waits for a person; nothing was done.", *row.notes])
    if row.status == "approved":
        return f"Approved by {row.decided_by}; it is being carried out. Look again in a moment."
    why = str((row.outcome or {}).get("message", ""))
    if fresh is not None:
        moved = "The approver changed it" if row.status == "superseded" else "Something moved since its preview"
        return f"{why or moved + '.'} Nothing was done; a fresh preview waits as {fresh}: look at that."
    if row.status == "stale":
        return f"Something moved since its preview, and it can no longer be done. {why}".strip()
    return str(said(row)["message"])
