"""What a user and an approver do in one thread, told so that it can be taken up again after any crash."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from erp_mcp.store.tables import stock
from graph import approve, edit, reject
from graph.decisions import Answer
from graph.run import Approval, Run
from graph.threads import Agent

Json = dict[str, Any]
Meanwhile = Callable[[Agent, Approval], None]

APPROVER: Final = "andrew"


def _nothing(_agent: Agent, _approval: Approval) -> None:
    """Nobody else is about."""


@dataclass(frozen=True)
class Scene:
    """One conversation.

    Args:
        name: for the test's id.
        words: what the user says.
        answer: what the approver says to each approval, by what it shows.
        effects: tools and statuses of its operations and approvals in the end, however often a process died:
            ``(tool, status)`` in the order in which they were asked.
        moves: what one run of it does to stock: SKU, on hand, reserved, in whole units.
        meanwhile: what somebody else does just before the answer.
        all_or_nothing: how the user asked.
        saver_too: whether it is also killed after each write of a checkpoint; the others would show the same.
    """

    name: str
    words: str
    answer: Callable[[Approval], Answer]
    effects: tuple[tuple[str, str], ...]
    moves: tuple[tuple[str, int, int], ...]
    meanwhile: Meanwhile = _nothing
    all_or_nothing: bool = False
    saver_too: bool = False


def yes(approval: Approval) -> Answer:
    """Approves whatever is shown."""
    return approve(approval, by=APPROVER)


def not_the_second(approval: Approval) -> Answer:
    """Approves all but what is about NW-012."""
    if approval.args["sku"] == "NW-012":
        return reject(approval, by=APPROVER, reason="count it again")
    return yes(approval)


def change_two_to_three(approval: Approval) -> Answer:
    """Changes the amount once, then approves."""
    if approval.args["delta"] == 2:
        return edit(approval, approval.args | {"delta": 3}, by=APPROVER)
    return yes(approval)


def touch_it_once(agent: Agent, approval: Approval) -> None:
    """Somebody else changes the stock row after the first preview, so that approving it is stale."""
    if approval.supersedes is None:
        engine = sa.create_engine(agent.services.settings.erp_database, poolclass=sa.NullPool)
        with engine.begin() as connection:
            of_it = stock.c.sku == approval.args["sku"]
            connection.execute(sa.update(stock).where(of_it).values(version=stock.c.version + 1))


ONE: Final = "Add 2 of NW-011 to stock, counted"
TWO: Final = "Add 2 of NW-011 to stock, counted, and add 3 of NW-012 to stock, counted"
SCENES: Final = (
    Scene(
        "order", "Order 1 of NW-034 for ALFKI", yes, (("create_order", "executed"),), (("NW-034", 0, 1),)
    ),
    Scene(
        "two", TWO, not_the_second, (("adjust_stock", "executed"), ("adjust_stock", "rejected")), (("NW-011", 2, 0),),
        saver_too=True,
    ),
    Scene(
        "together", TWO, yes, (("adjust_stock", "executed"),) * 2, (("NW-011", 2, 0), ("NW-012", 3, 0)),
        all_or_nothing=True,
    ),
    Scene(
        "edited", ONE, change_two_to_three, (("adjust_stock", "superseded"), ("adjust_stock", "executed")),
        (("NW-011", 3, 0),),
    ),
    Scene(
        "stale", ONE, yes, (("adjust_stock", "stale"), ("adjust_stock", "executed")), (("NW-011", 2, 0),),
        meanwhile=touch_it_once,
    ),
    Scene("by-rule", "What is ALFKI's balance?", yes, (("check_balance", "executed"),), ()),
)  # fmt: skip


async def play(agent: Agent, thread_id: str, scene: Scene) -> Run:
    """Takes the conversation up where it stands, and brings it to its end; the same in a victim and after it.

    Args:
        agent: of this process.
        thread_id: the conversation.
        scene: how it goes.
    """
    run = await agent.run(thread_id)
    if not run.messages:
        run = await agent.start(
            scene.words, thread_id=thread_id, requested_by="nancy", all_or_nothing=scene.all_or_nothing
        )
    while run.pending:
        for approval in run.pending:
            scene.meanwhile(agent, approval)
        run = await agent.resume(thread_id, *(scene.answer(approval) for approval in run.pending))
    return run
