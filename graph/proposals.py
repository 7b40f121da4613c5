"""From a gated call to a proposal that a person can sign: checked, planned, shown whole, and measured by the policy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

from checkpoints.records import ApprovalRow, Proposal
from erp_mcp.contract import Preview
from erp_mcp.errors import ErpError
from graph.bridge import Call
from graph.errors import CountersignError
from graph.policy import Policy, Subject
from graph.render import why_not_showable
from graph.rights import day_of
from graph.services import Services

Json = dict[str, Any]

AMOUNT_SCALE: Final = 10_000
"""The ledger keeps amounts in ten-thousandths: no currency has more than four places."""
LARGEST_KEPT: Final = 2**63 - 1


@dataclass(frozen=True)
class Wanted:
    """A gated call that somebody has to sign.

    Args:
        thread_id, message_id, call_id, call: where it stands; ``call`` is the hash of the three.
        tool: the tool's name.
        proposed: the arguments as the model gave them.
        arguments: what would run.
        requested_by, request: who asks, in which words.
        together: whether it runs with the others of its message, all or nothing.
    """

    thread_id: str
    message_id: str
    call_id: str
    call: str
    tool: str
    proposed: Json
    arguments: Json
    requested_by: str
    request: str
    together: bool = False

    @classmethod
    def edited(cls, row: ApprovalRow, arguments: Json) -> "Wanted":
        """The call of an approval with an approver's arguments; the tool stays what it was."""
        return cls(
            row.thread_id, row.message_id, row.call_id, row.call, row.tool, row.proposed, arguments, row.requested_by,
            row.request, row.together,
        )  # fmt: skip


async def make_proposals(wanted: Sequence[Wanted], services: Services) -> list[Proposal | ErpError]:
    """Plans calls in their order, so that a later preview sees what an earlier call would do.

    Returns:
        A proposal per call, or why it cannot be done: nobody is asked to approve that.
    """
    made: dict[int, Proposal | ErpError] = {}
    try:
        policy = await services.policy_now()
    except CountersignError as error:
        return [ErpError(error.code, error.message, error.hint)] * len(wanted)
    wanted = [replace(one, requested_by=policy.person(one.requested_by)) for one in wanted]
    for place, one in enumerate(wanted):
        try:
            services.bridge.check(one.tool, one.arguments)
        except ErpError as error:
            made[place] = error
            continue
        if one.together and len(wanted) > 1 and services.bridge.is_external(one.tool):
            message = f"{one.tool} is another server's tool: it cannot be part of all or nothing."
            made[place] = ErpError("not_groupable", message, "Call it by itself.")
    sound = [place for place in range(len(wanted)) if place not in made]
    previews = await services.bridge.plan([Call(wanted[place].tool, wanted[place].arguments) for place in sound])
    earlier: list[Proposal] = []  # of the same message: they are not in the ledger yet, and count for the day
    for place, preview in zip(sound, previews, strict=True):
        if isinstance(preview, ErpError):
            made[place] = preview
            continue
        proposal = made[place] = await _proposal(wanted[place], preview, services, policy, earlier)
        if isinstance(proposal, Proposal):
            earlier.append(proposal)
    return [made[place] for place in range(len(wanted))]


async def _proposal(
    one: Wanted, preview: Preview, services: Services, policy: Policy, earlier: Sequence[Proposal]
) -> Proposal | ErpError:
    unshowable = why_not_showable(preview)
    if unshowable is not None:
        return ErpError("not_showable", unshowable, "Split it into smaller calls.")
    shown, now = preview.model_dump(), services.clock()
    day = await services.look_up(day_of, policy, services.ledger, one.requested_by, one.call, now)
    day = day.plus(other.preview for other in earlier if other.requested_by == one.requested_by)
    terms = policy.asks(Subject.of(one.tool, one.arguments, shown, one.requested_by, day))
    longest = timedelta(days=services.settings.approval_days)
    return Proposal(
        thread_id=one.thread_id, message_id=one.message_id, call_id=one.call_id, call=one.call, tool=one.tool,
        proposed=one.proposed, arguments=one.arguments, preview=shown, digest=preview.digest,
        policy=terms.as_json(), requested_by=one.requested_by, request=one.request,
        expires_at=now + min(longest, terms.expires or longest),
        amount=largest_amount(preview), notes=await _twins(one, preview, services), together=one.together,
    )  # fmt: skip


async def _twins(one: Wanted, preview: Preview, services: Services) -> tuple[str, ...]:
    """Says so where the very same already waits: approving both would do it twice."""
    twins = await services.look_up(services.ledger.twins, preview.digest)
    return tuple(
        f"The same already waits as {twin.id}, asked by {twin.requested_by}." for twin in twins if twin.call != one.call
    )


def largest_amount(preview: Preview) -> int | None:
    """The largest amount in a preview, without its sign, in ten-thousandths of its currency; None where there is none.

    It is the figure that the inbox is filtered by. What is beyond a database's integer is kept as the largest one.
    """
    amounts = [abs(Decimal(money.amount)) for money in preview.money]
    return min(int(max(amounts) * AMOUNT_SCALE), LARGEST_KEPT) if amounts else None
