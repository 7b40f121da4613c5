"""The inbox over all threads: filters, keyset pages, twins, what was refused before, and who comes late."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from checkpoints.database import database_url, migrate
from checkpoints.ledger import Ledger, call_key
from checkpoints.reading import InboxFilter
from checkpoints.records import ApprovalRow, Decision, Proposal
from graph import approve, reject
from graph.app import open_agent
from graph.settings import Settings
from graph.threads import Agent
from tests.integration.agent_fixtures import (
    Script,
    adjust,
    agent,
    calls,
    effects,
    heard,
    ledger_rows,
    northwind_home,
    script,
    scripted,
    settings,
)

__all__ = ["agent", "northwind_home", "script", "scripted", "settings"]

START: Final = datetime(2026, 12, 1, tzinfo=UTC)
MANY: Final = 23
TOOLS: Final = ("adjust_stock", "create_order", "cancel_order")
ORDER: Final = ("create_order", {"customer": "ALFKI", "lines": [{"sku": "NW-034", "quantity": 3}]})


class Clock:
    """Two approvals share each instant, so that pages need a tie-break."""

    def __init__(self) -> None:
        self.reads = 0

    def __call__(self) -> datetime:
        self.reads += 1
        return START + timedelta(minutes=self.reads // 2)


def proposal(number: int) -> Proposal:
    """One of many, each with its own tool, requester and amount."""
    place = (f"thread-{number}", "m", "c")
    return Proposal(
        thread_id=place[0], message_id="m", call_id="c", call=call_key(*place), tool=TOOLS[number % 3], proposed={},
        arguments={}, preview={}, digest=f"{number:064}", policy={}, requested_by=f"user-{number % 4}", request="words",
        expires_at=START + timedelta(days=30), amount=None if number % 5 == 0 else number * 10_000,
    )  # fmt: skip


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger with many that wait and one that does not."""
    where = str(tmp_path / "checkpoints.db") if request.param == "sqlite" else request.getfixturevalue("pg_url")
    url = database_url(where)
    migrate(url)
    with closing(Ledger(url, Clock())) as opened:
        for number in range(MANY):
            opened.open([proposal(number)])
        decided = opened.pending(limit=1)[0]
        opened.decide([Decision(decided.id, "reject", decided.digest)], by="andrew")
        yield opened


def pages(ledger: Ledger, limit: int, only: InboxFilter | None = None) -> Iterator[list[ApprovalRow]]:
    """Page after page, as a client reads them."""
    after = None
    while page := ledger.pending(limit=limit, after=after, only=only):
        yield page
        after = (page[-1].created_at, page[-1].id)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 22, 23, 100])
def test_pages_of_any_size_make_up_the_whole_inbox(ledger: Ledger, limit: int) -> None:
    """Oldest first, each once, none left out, also where several were opened at one instant."""
    whole = ledger.pending(limit=1000)
    assert len(whole) == MANY - 1
    assert [(row.created_at, row.id) for row in whole] == sorted((row.created_at, row.id) for row in whole)
    assert [row for page in pages(ledger, limit) for row in page] == whole


@pytest.mark.guarantee("nothing-lost")
def test_what_is_decided_or_opened_between_two_pages_shifts_nothing(ledger: Ledger) -> None:
    """The next page goes on behind the last row that was read, whatever became of it."""
    whole, seen = ledger.pending(limit=1000), []
    for number, page in enumerate(pages(ledger, 4)):
        seen += page
        ledger.decide([Decision(row.id, "reject", row.digest) for row in page], by="andrew")
        ledger.open([proposal(1000 + number)])
        if number == 10:
            break
    assert seen[: len(whole)] == whole


FILTERS: Final = {
    "tool": InboxFilter(tool="create_order"),
    "requester": InboxFilter(requested_by="user-2"),
    "age": InboxFilter(before=START + timedelta(minutes=20)),
    "amount": InboxFilter(at_least=100_000),
    "all of these": InboxFilter("create_order", "user-1", START + timedelta(minutes=40), 10_000),
    "nothing fits": InboxFilter(tool="no_such_tool"),
}


@pytest.mark.parametrize("only", FILTERS.values(), ids=FILTERS)
def test_a_filter_lists_what_fits_and_nothing_else(ledger: Ledger, only: InboxFilter) -> None:
    """Exactly, page by page as well; what has no amount is not at least any amount."""

    def fits(row: ApprovalRow) -> bool:
        return (
            only.tool in {None, row.tool}
            and only.requested_by in {None, row.requested_by}
            and (only.before is None or row.created_at < only.before)
            and (only.at_least is None or (row.amount is not None and row.amount >= only.at_least))
        )

    wanted = [row for row in ledger.pending(limit=1000) if fits(row)]
    assert ledger.pending(limit=1000, only=only) == wanted
    assert [row for page in pages(ledger, 2, only) for row in page] == wanted
    assert bool(wanted) == (only.tool != "no_such_tool")


@pytest.mark.guarantee("B7", "stale-asks-again")
async def test_the_second_of_two_identical_orders_asks_again_and_names_the_first(
    agent: Agent, settings: Settings
) -> None:
    """It says on its face that the same already waits; once the first was executed, it says so and waits anew."""
    first = await agent.call(*ORDER, requested_by="nancy")
    second = await agent.call(*ORDER, requested_by="nancy")
    assert first.pending[0].notes == ()
    assert first.pending[0].approval_id in " ".join(second.pending[0].notes)
    done = await agent.resume(first.thread_id, approve(first.pending[0], by="andrew"))
    number = done.receipts[0].result["order_id"]
    run = await agent.resume(second.thread_id, approve(second.pending[0], by="andrew"))
    assert (run.outcome, len(effects(settings))) == ("stale", 1)
    assert number in run.pending[0].preview.model_dump_json()
    meant = await agent.resume(second.thread_id, approve(run.pending[0], by="andrew"))
    assert (meant.outcome, len(effects(settings))) == ("executed", 2)


@pytest.mark.guarantee("B7")
async def test_two_identical_orders_in_one_message_are_one_until_a_person_says_otherwise(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """Both are shown; the second is planned on the first, so it names it, and needs a signature of its own."""
    script.replies[:] = [calls(ORDER, ORDER)]
    asked = await scripted.start("order it", requested_by="nancy")
    assert [one.digest for one in asked.pending] != [asked.pending[0].digest] * 2
    run = await scripted.resume(
        asked.thread_id, approve(asked.pending[0], by="andrew"), reject(asked.pending[1], by="andrew")
    )
    assert (run.status, len(effects(settings))) == ("done", 1)


@pytest.mark.guarantee("A16", "once")
async def test_an_order_that_the_model_repeats_is_one_order(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """It calls again in the same turn as if no answer had come: that is asked, the first one named, and not run."""
    script.replies[:] = [calls(ORDER), calls(ORDER)]
    asked = await scripted.start("order it", requested_by="nancy")
    run = await scripted.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert (run.outcome, run.status, len(effects(settings))) == ("executed", "pending", 1)
    number = run.receipts[0].result["order_id"]
    assert number in run.pending[0].preview.model_dump_json()
    again = await scripted.resume(asked.thread_id, approve(asked.pending[0], by="andrew"))
    assert (again.outcome, len(effects(settings))) == ("already_executed", 1)
    ended = await scripted.resume(asked.thread_id, reject(run.pending[0], by="andrew", reason="we have it"))
    assert (ended.status, len(effects(settings))) == ("done", 1)


@pytest.mark.guarantee("A8", "never-silent")
@pytest.mark.parametrize("times", [1, 3])
async def test_what_was_refused_is_not_asked_again_in_the_same_turn(
    scripted: Agent, script: Script, settings: Settings, times: int
) -> None:
    """The model tries again with the same arguments: it is answered from the ledger, and nobody is asked."""
    wanted = adjust("NW-011", 1)
    script.replies[:] = [calls(wanted) for _ in range(1 + times)]
    asked = await scripted.start("count it", requested_by="nancy")
    run = await scripted.resume(asked.thread_id, reject(asked.pending[0], by="andrew", reason="count it by hand"))
    assert (run.status, run.answer, len(ledger_rows(settings)), effects(settings)) == ("done", "done", 1, [])
    told = heard(script.given[-1], "adjust_stock")
    assert [one["outcome"] for one in told] == ["rejected"] * (1 + times)
    assert all("count it by hand" in str(one) for one in told)


async def test_other_arguments_or_a_new_message_may_ask_again(
    scripted: Agent, script: Script, settings: Settings
) -> None:
    """A refusal is about that call in that turn: it is no ban on the tool, nor on a user who insists."""
    script.replies[:] = [calls(adjust("NW-011", 1)), calls(adjust("NW-011", 2))]
    asked = await scripted.start("count it", requested_by="nancy")
    run = await scripted.resume(asked.thread_id, reject(asked.pending[0], by="andrew"))
    assert [one.args["delta"] for one in run.pending] == [2]
    await scripted.resume(asked.thread_id, reject(run.pending[0], by="andrew"))
    script.replies[:] = [calls(adjust("NW-011", 1))]
    insisted = await scripted.start("no, do it", thread_id=asked.thread_id)
    assert [one.args["delta"] for one in insisted.pending] == [1]


@pytest.mark.guarantee("B6", "first-decision-wins")
@pytest.mark.parametrize(("first", "second", "outcome"), [
    (approve, approve, "already_executed"), (approve, reject, "already_decided"),
    (reject, approve, "already_decided"), (reject, reject, "already_decided"),
])  # fmt: skip
async def test_a_late_click_elsewhere_is_told_who_was_first(
    settings: Settings, first: type, second: type, outcome: str
) -> None:
    """Two places show one approval; it is decided in one, the other's list loses it, and its late click says so."""
    async with open_agent(settings) as here, open_agent(settings) as there:
        asked = await here.call(*adjust("NW-011", 1), requested_by="nancy")
        (shown,) = await there.pending()
        await here.resume(asked.thread_id, first(asked.pending[0], by="andrew"))
        assert await there.pending() == []
        late = await there.resume(asked.thread_id, second(shown, by="laura"))
        assert late.outcome == outcome
        assert outcome == "already_executed" or "andrew" in late.note
        assert len(effects(settings)) == (first is approve)
