"""The policy on Northwind: who may decide is looked at when listing, when deciding and when signing."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from langchain_core.messages import AIMessage

from graph import approve, edit, reject
from graph.app import open_agent
from graph.errors import CountersignError
from graph.run import Run
from graph.settings import Settings
from graph.threads import Agent
from tests.integration.agent_fixtures import (
    Json,
    Script,
    adjust,
    calls,
    effects,
    ledger_rows,
    northwind_home,
    script,
    settings,
)

__all__ = ["northwind_home", "script", "settings"]

PEOPLE: Final = """
[people.andrew]
roles = ["manager"]
logins = ["andrew@example.com"]
[people.laura]
roles = ["manager"]
[people.steven]
roles = ["clerk"]
[people.nancy]
roles = ["sales"]
"""
MANAGERS: Final = '[[rules]]\nname = "managers"\napprovers = ["manager"]\n'
FOUR_EYES: Final = '[[rules]]\nname = "four-eyes"\ncount = 2\n'
AUTOMATIC: Final = (
    '[[rules]]\nname = "look"\ntools = ["check_balance"]\nwhen = \'"sales" in requester_roles\'\nautomatic = true\n'
)

Writing = Callable[..., None]
Opening = Callable[[], AbstractAsyncContextManager[Agent]]


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    """Where the policy is."""
    return tmp_path / "policy.toml"


@pytest.fixture
def put(policy_file: Path) -> Writing:
    """Puts a policy in force, beside the people, at any time."""

    def write(rules: str, people: str = PEOPLE) -> None:
        fresh = policy_file.with_suffix(".new")
        fresh.write_text(people + rules)
        fresh.replace(policy_file)  # another file, so that it is seen within one tick of the clock

    write("")
    return write


@pytest.fixture
def opened(settings: Settings, policy_file: Path, put: Writing, script: Script) -> Opening:
    """Opens an agent under that policy; each is a process of its own as far as the ledger can tell."""
    used = settings.model_copy(update={"policy": policy_file})
    return lambda: open_agent(used, chat=script)


@pytest.fixture
async def agent(opened: Opening) -> AsyncIterator[Agent]:
    """One of them."""
    async with opened() as one:
        yield one


async def ask(agent: Agent, delta: int = -1, by: str = "nancy") -> Run:
    """Asks to correct a stock level."""
    tool, args = adjust("NW-011", delta)
    return await agent.call(tool, args, requested_by=by)


async def say_yes(agent: Agent, run: Run, by: str) -> Run:
    """Approves the first thing that waits."""
    return await agent.resume(run.thread_id, approve(run.pending[0], by=by))


def order_of(quantity: int) -> tuple[str, Json]:
    """An order of NW-011, which costs 21.00 USD."""
    return "create_order", {"customer": "ALFKI", "lines": [{"sku": "NW-011", "quantity": quantity}]}


# -- one signature -----------------------------------------------------------------------------------------------------


async def test_only_whom_the_policy_names_may_decide(agent: Agent, put: Writing, settings: Settings) -> None:
    """Strangers, people without the role, and names that look like a rule decide nothing, in any way."""
    put(MANAGERS)
    run = await ask(agent)
    for by in ("steven", "mallory", "policy:managers", "nancy", "andrew2"):
        for answer in (
            approve(run.pending[0], by=by),
            reject(run.pending[0], by=by),
            edit(run.pending[0], {"sku": "NW-011", "delta": -2, "reason": "x"}, by=by),
        ):
            refused = await agent.resume(run.thread_id, answer)
            assert (refused.outcome, refused.status) == ("forbidden", "pending"), (by, answer)
    assert effects(settings) == []
    assert (await say_yes(agent, run, "andrew")).outcome == "executed"


async def test_who_asks_does_not_approve(agent: Agent, put: Writing) -> None:
    """Neither by the same name nor by another of theirs, with a rule and without."""
    for rules in ("", MANAGERS):
        put(rules)
        for requester, approver in (("andrew", "andrew"), ("Andrew@Example.com ", "ANDREW")):
            run = await ask(agent, by=requester)
            refused = await say_yes(agent, run, approver)
            assert refused.outcome == "forbidden"
            assert "who asks does not approve" in refused.note
            assert (await say_yes(agent, run, "laura")).outcome == "executed"
    put(MANAGERS + "requester_may_approve = true\n")
    assert (await say_yes(agent, await ask(agent, by="andrew"), "andrew")).outcome == "executed"


async def test_a_rule_can_demand_a_token(agent: Agent, put: Writing, settings: Settings) -> None:
    """A name that somebody typed is not enough then, and how surely it was known is recorded."""
    put(MANAGERS + 'assurance = "token"\n')
    run = await ask(agent)
    refused = await say_yes(agent, run, "andrew")
    assert refused.outcome == "forbidden"
    assert "token" in refused.note
    done = await agent.resume(run.thread_id, approve(run.pending[0], by="andrew@example.com"), assurance="token")
    assert done.outcome == "executed"
    assert [(row.decided_by, row.assurance) for row in ledger_rows(settings)] == [("andrew", "token")]


async def test_the_shortest_expiry_of_the_matching_rules_counts(agent: Agent, put: Writing, settings: Settings) -> None:
    """Each rule may set one; the settings' own is the longest."""
    put(MANAGERS + 'expires = "72h"\n' + FOUR_EYES + 'expires = "30m"\n')
    await ask(agent)
    (row,) = ledger_rows(settings)
    assert timedelta(minutes=29) < row.expires_at - row.created_at <= timedelta(minutes=30)


# -- four eyes ---------------------------------------------------------------------------------------------------------


@pytest.mark.guarantee("B4")
async def test_one_person_counts_once_through_every_entrance(opened: Opening, put: Writing, settings: Settings) -> None:
    """By another of their names, in another process, through plain LangGraph's way and at the same moment."""
    put(FOUR_EYES)
    async with opened() as one, opened() as other:
        run = await ask(one)
        first, second = await asyncio.gather(say_yes(one, run, "andrew"), say_yes(other, run, "Andrew"))
        assert sorted([str(first.outcome), str(second.outcome)]) == ["already_decided", "recorded"]
        again = await other.resume(
            run.thread_id, approve(run.pending[0], by="andrew@example.com"), assurance="asserted"
        )
        assert (again.outcome, again.status, effects(settings)) == ("already_decided", "pending", [])
        done = await say_yes(other, run, "steven")
        assert done.outcome == "executed"
    (row,) = ledger_rows(settings)
    assert row.decided_by == "andrew, steven"
    assert [effect.approver for effect in effects(settings)] == ["andrew, steven"]


@pytest.mark.guarantee("B4")
async def test_four_eyes_with_one_person_stop_the_start(settings: Settings, put: Writing, policy_file: Path) -> None:
    """The message names the rule and the line, before anything is opened."""
    put(FOUR_EYES, "[people.andrew]\n")
    with pytest.raises(CountersignError, match=r"policy\.toml:4:1: nobody can satisfy rule four-eyes") as caught:
        async with open_agent(settings.model_copy(update={"policy": policy_file})):
            pytest.fail("an agent was opened under a policy that nobody can satisfy")
    assert caught.value.code == "bad_policy"


async def test_every_matching_rule_has_to_be_met(agent: Agent, put: Writing) -> None:
    """Two clerks' signatures are two people, and still no manager's; the note says what is missing."""
    put(MANAGERS + FOUR_EYES)
    run = await ask(agent)
    first = await say_yes(agent, run, "steven")
    assert (first.outcome, first.status) == ("recorded", "pending")
    assert "managers" in first.note
    assert (await say_yes(agent, run, "andrew")).outcome == "executed"


# -- the policy changes while one waits --------------------------------------------------------------------------------


@pytest.mark.guarantee("A9")
async def test_of_the_policy_then_and_now_the_stricter_holds(agent: Agent, put: Writing, settings: Settings) -> None:
    """A rule that came counts for what waits already, and one that went still does."""
    run = await ask(agent)
    put(MANAGERS)
    assert (await say_yes(agent, run, "steven")).outcome == "forbidden"
    put(FOUR_EYES)
    assert (await say_yes(agent, run, "steven")).outcome == "recorded"
    put("")
    assert (await say_yes(agent, run, "andrew")).outcome == "executed"
    put(FOUR_EYES)
    strict = await ask(agent)
    put("")
    assert (await say_yes(agent, strict, "steven")).outcome == "recorded"
    assert len(effects(settings)) == 1
    assert (await say_yes(agent, strict, "andrew")).outcome == "executed"


@pytest.mark.guarantee("A9")
async def test_a_rejected_call_never_runs_whatever_the_policy_becomes(
    agent: Agent, put: Writing, settings: Settings
) -> None:
    """Not even a rule that would sign it by itself brings it back."""
    put(MANAGERS)
    run = await ask(agent)
    assert (await agent.resume(run.thread_id, reject(run.pending[0], by="andrew"))).outcome == "rejected"
    put('[[rules]]\nname = "all"\nautomatic = true\n')
    assert await agent.recover() == []
    assert (await say_yes(agent, run, "andrew")).outcome == "already_decided"
    assert effects(settings) == []


@pytest.mark.guarantee("A9", "B3")
async def test_rights_are_looked_at_once_more_when_it_is_signed(
    agent: Agent, script: Script, put: Writing, settings: Settings
) -> None:
    """Approved, but not carried out while another call of the message waits: who was revoked meanwhile has not signed.
    It is asked again, of those who may decide now."""
    script.replies += [calls(adjust("NW-011", -1), adjust("NW-012", -1)), AIMessage("done")]
    run = await agent.start("both", requested_by="nancy")
    one, other = run.pending
    assert (await agent.resume(run.thread_id, approve(one, by="steven"))).outcome == "recorded"
    put(MANAGERS, PEOPLE.replace('["clerk"]', "[]"))
    last = await agent.resume(run.thread_id, approve(other, by="andrew"))
    assert [effect.approval_id for effect in effects(settings)] == [other.approval_id]
    (fresh,) = last.pending
    assert fresh.supersedes == one.approval_id
    assert (await agent.resume(run.thread_id, approve(fresh, by="steven"))).outcome == "forbidden"
    assert (await agent.resume(run.thread_id, approve(fresh, by="laura"))).outcome == "executed"


@pytest.mark.guarantee("B3")
async def test_a_revoked_approver_decides_nothing_and_blocks_nobody(agent: Agent, put: Writing) -> None:
    """Rights are today's: who lost the role is forbidden, their earlier signature no longer counts, and who got it sees
    what waits already."""
    put(MANAGERS + "count = 2\n")
    run = await ask(agent)
    assert (await say_yes(agent, run, "andrew")).outcome == "recorded"
    assert await agent.pending(for_approver="steven") == []
    changed = PEOPLE.replace('["clerk"]', '["manager"]').replace(
        '[people.andrew]\nroles = ["manager"]', "[people.andrew]"
    )
    put(MANAGERS + "count = 2\n", changed)
    assert (await agent.resume(run.thread_id, reject(run.pending[0], by="andrew"))).outcome == "forbidden"
    assert [one.approval_id for one in await agent.pending(for_approver="steven")] == [run.pending[0].approval_id]
    assert (await say_yes(agent, run, "steven")).outcome == "recorded"
    assert (await say_yes(agent, run, "laura")).outcome == "executed"


async def test_a_policy_that_became_unusable_decides_nothing_until_it_is_mended(
    agent: Agent, put: Writing, settings: Settings
) -> None:
    """The old one may name people whose right was just taken away, so it does not go on counting."""
    run = await ask(agent)
    put("[[rules]\n")
    refused = await say_yes(agent, run, "andrew")
    assert (refused.outcome, refused.status, effects(settings)) == ("forbidden", "pending", [])
    assert "policy.toml:" in refused.note
    put("")
    assert (await say_yes(agent, run, "andrew")).outcome == "executed"


# -- the inbox of one person -------------------------------------------------------------------------------------------


async def test_an_inbox_lists_what_this_person_can_bring_on(agent: Agent, put: Writing) -> None:
    """Not their own requests, not what they have signed, and not what only others' signatures are missing for."""
    put(MANAGERS + FOUR_EYES)
    mine, other = await ask(agent, by="andrew"), await ask(agent)

    async def inbox(who: str) -> list[str]:
        return [one.thread_id for one in await agent.pending(for_approver=who)]

    assert await inbox("andrew") == [other.thread_id]
    assert await inbox("Laura") == await inbox("steven") == [mine.thread_id, other.thread_id]
    await say_yes(agent, other, "steven")
    assert await inbox("steven") == [mine.thread_id]
    assert await inbox("nancy") == [mine.thread_id]
    await say_yes(agent, mine, "nancy")
    await say_yes(agent, mine, "steven")
    assert await inbox("laura") == [mine.thread_id, other.thread_id]
    assert await inbox("steven") == await inbox("nancy") == await inbox("mallory") == []


# -- automatic rules ---------------------------------------------------------------------------------------------------


async def test_a_sensitive_read_asks_a_person_unless_a_rule_says_otherwise(
    agent: Agent, put: Writing, settings: Settings
) -> None:
    """The rule signs in its own name, for those whom it is about, and the ledger and the receipt say so."""
    put(AUTOMATIC)
    for by in ("steven", "mallory"):
        assert (await agent.call("check_balance", {"customer": "ALFKI"}, requested_by=by)).status == "pending"
    run = await agent.call("check_balance", {"customer": "ALFKI"}, requested_by="nancy")
    assert (run.status, len(run.receipts)) == ("done", 1)
    row = next(row for row in ledger_rows(settings) if row.requested_by == "nancy")
    assert (row.status, row.decided_by, row.assurance) == ("executed", "policy:look", "policy")
    assert effects(settings)[0].approver == "policy:look"


async def test_a_rule_that_asks_a_person_wins_over_an_automatic_one(
    agent: Agent, put: Writing, settings: Settings
) -> None:
    """Whatever their order in the file, and while approvals are paused no rule signs either."""
    careful = '[[rules]]\nname = "careful"\nwhen = \'args.customer == "ALFKI"\'\napprovers = ["manager"]\n'
    for rules in (AUTOMATIC + careful, careful + AUTOMATIC):
        put(rules)
        run = await agent.call("check_balance", {"customer": "ALFKI"}, requested_by="nancy")
        assert [one.status for one in run.pending] == ["pending"]
    assert effects(settings) == []
    agent.services.ledger.pause("andrew", "stocktaking")
    run = await agent.call("check_balance", {"customer": "BERGS"}, requested_by="nancy")
    assert run.status == "pending"
    agent.services.ledger.resume_all("andrew")
    assert (await say_yes(agent, run, "andrew")).outcome == "executed"


@pytest.mark.guarantee("nothing-lost")
async def test_what_a_rule_could_not_sign_in_a_pause_it_signs_after_it(
    agent: Agent, put: Writing, settings: Settings
) -> None:
    """Recovery lets the rule sign, once, as soon as the pause is over; what a person has to sign keeps waiting."""
    put(AUTOMATIC)
    agent.services.ledger.pause("andrew", "stocktaking")
    by_rule = await agent.call("check_balance", {"customer": "BERGS"}, requested_by="nancy")
    by_person = await agent.call(*adjust("NW-011", 1), requested_by="nancy")
    assert (by_rule.status, await agent.recover()) == ("pending", [])
    agent.services.ledger.resume_all("andrew")
    (run,) = await agent.recover()
    assert (run.thread_id, run.status, len(run.receipts)) == (by_rule.thread_id, "done", 1)
    assert [effect.approver for effect in effects(settings)] == ["policy:look"]
    assert [one.thread_id for one in await agent.pending()] == [by_person.thread_id]
    assert await agent.recover() == []


# -- limits ------------------------------------------------------------------------------------------------------------

DAILY: Final = '[[rules]]\nname = "day"\ntools = ["create_order"]\nwhen = "day_total > 100"\napprovers = ["manager"]\n'


async def test_splitting_an_order_does_not_slip_under_a_limit(
    agent: Agent, script: Script, put: Writing, settings: Settings
) -> None:
    """Within one message, over several threads, by any spelling of the name, done or still waiting: it adds up."""
    put(DAILY)
    script.replies += [calls(order_of(3), order_of(2)), AIMessage("done")]
    run = await agent.start("two small orders", requested_by="nancy")
    first, second = run.pending
    asked = {row.id: [rule["rule"] for rule in row.policy["rules"]] for row in ledger_rows(settings)}
    assert asked == {first.approval_id: ["default"], second.approval_id: ["day"]}
    assert (await agent.resume(run.thread_id, approve(second, by="steven"))).outcome == "forbidden"
    assert (await agent.resume(run.thread_id, approve(first, by="steven"))).outcome == "recorded"
    done = await agent.resume(run.thread_id, approve(second, by="andrew"))
    assert set(done.outcomes.values()) == {"executed"}
    third = await agent.call(*order_of(1), requested_by=" NANCY")
    assert (await say_yes(agent, third, "steven")).outcome == "forbidden"
    somebody_else = await agent.call(*order_of(4), requested_by="laura")
    assert (await say_yes(agent, somebody_else, "steven")).outcome == "executed"


async def test_a_limit_is_measured_on_what_the_erp_computed(agent: Agent, put: Writing) -> None:
    """The total is the preview's, whatever the arguments say; a cent decides."""
    put('[[rules]]\nname = "big"\nwhen = "total > 63"\napprovers = ["manager"]\n')
    at_limit = await agent.call(*order_of(3), requested_by="nancy")
    above = await agent.call(*order_of(4), requested_by="nancy")
    assert (await say_yes(agent, at_limit, "steven")).outcome == "executed"
    assert (await say_yes(agent, above, "steven")).outcome == "forbidden"
