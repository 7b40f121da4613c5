"""propose: plans each write of the message and opens an approval for it; nobody is asked about what cannot be done."""

from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolCall

from checkpoints.faults import point
from checkpoints.records import ApprovalRow, Proposal
from erp_mcp.errors import ErpError
from graph.desk import decide_by_rule
from graph.messages import open_calls, result_message
from graph.proposals import Wanted, make_proposals
from graph.request import build_request
from graph.results import error_text, settled_text
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
    refused = await _refused_before(state, message, asked, turn)
    fresh = [one for one in asked if not one.is_settled and one.key not in refused]
    made = await make_proposals([_wanted(state, message, one, turn) for one in fresh], services)
    made = _all_or_nothing(made) if state.get("together") else made
    answered = [
        result_message(message, one.call, settled_text(refused[one.key])) for one in asked if one.key in refused
    ]
    answered += [
        result_message(message, one.call, error_text(outcome), error=True)
        for one, outcome in zip(fresh, made, strict=True)
        if isinstance(outcome, ErpError)
    ]
    proposals = [outcome for outcome in made if isinstance(outcome, Proposal)]
    rows = await services.write_down(services.ledger.open, proposals) if proposals else []
    rows = await decide_by_rule(services, rows)
    point("agent.opened")
    waiting = [row for row in rows if row.status == "pending"]
    decided = any(one.is_settled for one in asked) or len(waiting) < len(rows)
    update: dict[str, Any] = {"step": "execute" if decided else "model"}
    if answered:
        update["messages"] = answered
    if waiting:
        update |= {"request": await request_for(waiting, turn), "step": "approve"}
    return update


async def request_for(waiting: list[ApprovalRow], turn: Turn, note: str = "") -> dict[str, Any]:
    """What the approver is shown for these approvals, with what moved since the round before."""
    superseded = [row.supersedes for row in waiting if row.supersedes]
    before = await turn.services.look_up(turn.services.ledger.get_all, superseded) if superseded else {}
    return build_request(waiting, before, note)


def _all_or_nothing(made: list[Proposal | ErpError]) -> list[Proposal | ErpError]:
    """Where one call of a group cannot be done, nobody is asked about the others."""
    if not any(isinstance(one, ErpError) for one in made):
        return made
    others = ErpError("group_refused", "Another call of the group cannot be done.", "Correct it, then call all again.")
    return [one if isinstance(one, ErpError) else others for one in made]


def _wanted(state: State, message: AIMessage, one: _Asked, turn: Turn) -> Wanted:
    return Wanted(
        thread_id=turn.thread_id, message_id=message.id or "", call_id=one.call["id"] or "", call=one.key,
        tool=one.call["name"], proposed=one.call["args"], arguments=one.arguments,
        requested_by=state.get("requested_by") or turn.login or turn.services.settings.user,
        request=_words(state, message), together=bool(state.get("together")),
    )  # fmt: skip


async def _refused_before(state: State, message: AIMessage, asked: list[_Asked], turn: Turn) -> dict[str, ApprovalRow]:
    """Calls that repeat what a person refused earlier in this turn: answered from the ledger, not asked again."""
    earlier = _earlier_in_turn(state, message)
    if not earlier or all(one.row is not None for one in asked):
        return {}
    rows = await turn.services.look_up(turn.services.ledger.of_thread, turn.thread_id, "rejected")
    refused = [row for row in rows if row.message_id in earlier]
    return {
        one.key: row
        for one in asked
        for row in refused
        if one.row is None and (row.tool, row.proposed) == (one.call["name"], one.call["args"])
    }


def _earlier_in_turn(state: State, message: AIMessage) -> set[str]:
    """The model's messages between the user's last words and this one."""
    spoken: set[str] = set()
    for earlier in state["messages"]:
        if earlier.id == message.id:
            break
        if isinstance(earlier, HumanMessage):
            spoken.clear()
        elif isinstance(earlier, AIMessage) and earlier.id:
            spoken.add(earlier.id)
    return spoken


def _words(state: State, message: AIMessage) -> str:
    """The user's words that led to this message."""
    spoken = ""
    for earlier in state["messages"]:
        if earlier.id == message.id:
            break
        if isinstance(earlier, HumanMessage):
            spoken = str(earlier.text)
    return spoken
