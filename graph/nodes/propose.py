"""propose: plans each write of the message and opens an approval for it; nobody is asked about what cannot be done."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage

from checkpoints.records import ApprovalRow, Proposal
from erp_mcp.contract import Preview
from erp_mcp.errors import ErpError
from graph.bridge import Call
from graph.messages import open_calls, result_message
from graph.render import why_not_showable
from graph.request import build_request
from graph.results import error_text
from graph.state import State
from graph.turn import Turn


@dataclass(frozen=True)
class _Asked:
    """A gated call of the message, with its newest approval if it has one."""

    call: ToolCall
    key: str
    row: ApprovalRow | None

    @property
    def arguments(self) -> dict[str, Any]:
        """What would run: the approver's edit, as long as the call itself is the one that was edited."""
        if self.row is not None and self.row.proposed == self.call["args"]:
            return self.row.arguments
        return self.call["args"]

    @property
    def is_settled(self) -> bool:
        """Whether a decision stands already, so that there is nothing left to ask."""
        return self.row is not None and self.row.status not in {"pending", "stale"} and not self._is_forged

    @property
    def _is_forged(self) -> bool:
        return self.row is not None and self.row.status == "approved" and self.row.proposed != self.call["args"]


async def propose(state: State, turn: Turn) -> dict[str, Any]:
    """Turns the message's open writes into approvals that wait, and the request that shows them."""
    services = turn.services
    message, calls = open_calls(state["messages"])
    gated = [call for call in calls if services.bridge.is_gated(call["name"])]
    if message is None or not gated:
        return {"step": "read" if calls else "model"}
    keys = [turn.key(message, call) for call in gated]
    known = await services.look_up(services.ledger.latest, keys)
    asked = [_Asked(call, key, known.get(key)) for call, key in zip(gated, keys, strict=True)]
    proposals, errors = await _plan(state, message, [one for one in asked if not one.is_settled], turn)
    rows = await services.off_loop(services.ledger.open, proposals) if proposals else []
    waiting = [row for row in rows if row.status == "pending"]
    decided = any(one.is_settled for one in asked) or len(waiting) < len(rows)
    update: dict[str, Any] = {"messages": errors, "step": "execute" if decided else "model"}
    if waiting:
        update |= {"request": await request_for(waiting, turn), "step": "approve"}
    return update


async def request_for(waiting: list[ApprovalRow], turn: Turn, note: str = "") -> dict[str, Any]:
    """What the approver is shown for these approvals, with what moved since the round before."""
    superseded = [row.supersedes for row in waiting if row.supersedes]
    before = await turn.services.look_up(turn.services.ledger.get_all, superseded) if superseded else {}
    return build_request(waiting, before, note)


async def _plan(
    state: State, message: AIMessage, asked: list[_Asked], turn: Turn
) -> tuple[list[Proposal], list[ToolMessage]]:
    """Plans in the message's order, so that a later preview sees what an earlier call would do."""
    bridge, errors, sound = turn.services.bridge, [], []
    for one in asked:
        try:
            bridge.check(one.call["name"], one.arguments)
            sound.append(one)
        except ErpError as error:
            errors.append(result_message(message, one.call, error_text(error), error=True))
    previews = await bridge.plan([Call(one.call["name"], one.arguments) for one in sound]) if sound else []
    proposals = []
    for one, preview in zip(sound, previews, strict=True):
        if isinstance(preview, Preview) and (why := why_not_showable(preview)):
            preview = ErpError("not_showable", why, "Split it into smaller calls.")
        if isinstance(preview, ErpError):
            errors.append(result_message(message, one.call, error_text(preview), error=True))
        else:
            proposals.append(_proposal(state, message, one, preview, turn))
    return proposals, errors


def _proposal(state: State, message: AIMessage, one: _Asked, preview: Preview, turn: Turn) -> Proposal:
    requested_by = state.get("requested_by") or turn.login or turn.services.settings.user
    return Proposal(
        thread_id=turn.thread_id, message_id=message.id or "", call_id=one.call["id"] or "", call=one.key,
        tool=one.call["name"], proposed=one.call["args"], arguments=one.arguments, preview=preview.model_dump(),
        digest=preview.digest, requested_by=requested_by, request=_words(state, message),
        policy=turn.services.policy.asks(one.call["name"], preview.model_dump(), requested_by),
        expires_at=turn.services.clock() + timedelta(days=turn.services.settings.approval_days),
    )  # fmt: skip


def _words(state: State, message: AIMessage) -> str:
    """The user's words that led to this message."""
    spoken = ""
    for earlier in state["messages"]:
        if earlier.id == message.id:
            break
        if isinstance(earlier, HumanMessage):
            spoken = str(earlier.text)
    return spoken
