"""The ledger against a plain model of it, on both databases; and races that it settles by compare-and-set."""

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from checkpoints.database import database_url, migrate
from checkpoints.ledger import Ledger, approval_id_of, call_key
from checkpoints.records import Decision, Proposal, Status, Verdict

START: Final = datetime(2026, 12, 1, tzinfo=UTC)
CALLS: Final = [("t1", "m1", "c0"), ("t1", "m1", "c1"), ("t1", "m2", "c0"), ("t2", "m1", "c0")]
OPEN_ENDS: Final = {"executed", "stale", "failed"}


def proposal(place: tuple[str, str, str] = CALLS[0], digest: str = "d1", proposed: str = "p1") -> Proposal:
    """A planned call that expires after a day."""
    thread, message, call = place
    return Proposal(
        thread_id=thread, message_id=message, call_id=call, call=call_key(*place), tool="adjust_stock",
        proposed={"p": proposed}, arguments={"p": proposed}, preview={"digest": digest}, digest=digest, policy={},
        requested_by="nancy", request="words", expires_at=START + timedelta(days=1),
    )  # fmt: skip


@dataclass
class Known:
    """What the model knows of one approval."""

    id: str
    thread: str
    status: Status
    digest: str
    proposed: str
    expires_at: datetime
    supersedes: str | None = None
    decided_by: str | None = None
    settled: bool = False


@dataclass
class Model:
    """A ledger that fits on a page: the rounds of each call, newest last."""

    now: datetime = START
    rounds: dict[str, list[Known]] = field(default_factory=dict)

    def all(self) -> list[Known]:
        return [one for rounds in self.rounds.values() for one in rounds]

    def find(self, approval_id: str) -> Known | None:
        return next((one for one in self.all() if one.id == approval_id), None)

    def open(self, wanted: Proposal) -> str:
        rounds = self.rounds.setdefault(wanted.call, [])
        proposed = wanted.proposed["p"]
        if rounds:
            newest = rounds[-1]
            if newest.status == "pending" and (newest.digest, newest.proposed) != (wanted.digest, proposed):
                newest.status, newest.settled = "superseded", True
            elif newest.status == "approved" and newest.proposed != proposed:
                newest.status, newest.settled = "stale", True
            elif newest.status != "stale":
                return newest.id
        rounds.append(
            Known(
                approval_id_of(wanted.call, len(rounds) + 1),
                wanted.thread_id,
                "pending",
                wanted.digest,
                proposed,
                wanted.expires_at,
                rounds[-1].id if rounds else None,
            )
        )
        return rounds[-1].id

    def decide(self, decision: Decision, by: str, thread: str | None) -> str:
        one = self.find(decision.approval_id)
        if one is None:
            return "unknown"
        if thread is not None and thread != one.thread:
            return "wrong_thread"
        if one.status == "superseded" or decision.digest not in {None, one.digest}:
            return "superseded"
        if one.status != "pending":
            return "expired" if one.status == "expired" else "already_decided"
        if self.now >= one.expires_at:
            one.status = "expired"
            return "expired"
        one.decided_by = by
        one.status = "approved" if decision.kind == "approve" else "rejected"
        return one.status

    def settle(self, approval_id: str, status: Status) -> None:
        one = self.find(approval_id)
        before = "approved" if status in OPEN_ENDS else status
        if one is not None and not one.settled and one.status == before:
            one.status, one.settled = status, True


class LedgerMachine(RuleBasedStateMachine):
    """Whatever is opened, decided, settled, expired and closed, in any order, the ledger says what the model says."""

    empty: Path

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        path = shutil.copy(self.empty, self.folder.name)
        self.model = Model()
        self.ledger = Ledger(database_url(str(path)), lambda: self.model.now)

    def teardown(self) -> None:
        assert list(self.ledger.problems()) == []
        self.ledger.close()
        self.folder.cleanup()

    @rule(
        places=st.lists(st.sampled_from(CALLS), min_size=1, max_size=2, unique=True),
        digest=st.sampled_from(["d1", "d2"]),
        proposed=st.sampled_from(["p1", "p2"]),
    )
    def open(self, places: list[tuple[str, str, str]], digest: str, proposed: str) -> None:
        wanted = [
            replace(proposal(place, digest, proposed), expires_at=self.model.now + timedelta(days=1))
            for place in places
        ]
        opened = self.ledger.open(wanted)
        assert [row.id for row in opened] == [self.model.open(one) for one in wanted]

    @rule(
        place=st.sampled_from(CALLS),
        round_=st.integers(1, 3),
        kind=st.sampled_from(["approve", "reject"]),
        digest=st.sampled_from([None, "d1", "d2"]),
        by=st.sampled_from(["andrew", "laura"]),
        thread=st.sampled_from([None, "t1", "t2"]),
    )
    def decide(
        self, place: tuple[str, str, str], round_: int, kind: Any, digest: str | None, by: str, thread: str | None
    ) -> None:
        decision = Decision(approval_id_of(call_key(*place), round_), kind, digest)
        (verdict,) = self.ledger.decide([decision], by=by, thread_id=thread)
        assert verdict.kind == self.model.decide(decision, by, thread)

    @rule(
        place=st.sampled_from(CALLS),
        round_=st.integers(1, 3),
        status=st.sampled_from(["executed", "stale", "failed", "rejected", "expired", "superseded"]),
    )
    def settle(self, place: tuple[str, str, str], round_: int, status: Status) -> None:
        name = approval_id_of(call_key(*place), round_)
        self.ledger.settle([(name, status, {"why": "x"})])
        self.model.settle(name, status)

    @rule(hours=st.sampled_from([1, 12, 30]))
    def time_passes(self, hours: int) -> None:
        self.model.now += timedelta(hours=hours)

    @rule(thread=st.sampled_from([None, "t1", "t2"]))
    def expire(self, thread: str | None) -> None:
        due = [
            one
            for one in self.model.all()
            if one.status == "pending" and one.expires_at <= self.model.now and thread in {None, one.thread}
        ]
        for one in due:
            one.status = "expired"
        assert {row.id for row in self.ledger.expire_due(thread)} == {one.id for one in due}

    @precondition(lambda self: self.model.rounds)
    @rule(thread=st.sampled_from(["t1", "t2"]))
    def close(self, thread: str) -> None:
        waiting = [one for one in self.model.all() if one.status == "pending" and one.thread == thread]
        for one in waiting:
            one.status = "superseded"
        assert {row.id for row in self.ledger.close_pending(thread, "new message")} == {one.id for one in waiting}

    @invariant()
    def they_agree(self) -> None:
        """Row by row; the newest of each call; and what waits or is not settled."""
        rows = {row.id: row for row in self.ledger.history()}
        assert {
            (row.id, row.status, row.digest, row.supersedes, row.decided_by, row.settled_at is not None)
            for row in rows.values()
        } == {(one.id, one.status, one.digest, one.supersedes, one.decided_by, one.settled) for one in self.model.all()}
        newest = {call: rounds[-1].id for call, rounds in self.model.rounds.items()}
        assert {call: row.id for call, row in self.ledger.latest(list(newest)).items()} == newest
        assert {row.id for row in self.ledger.pending()} == {o.id for o in self.model.all() if o.status == "pending"}
        unsettled = {one.thread for one in self.model.all() if one.status != "pending" and not one.settled}
        assert set(self.ledger.unsettled_threads()) == unsettled


@pytest.mark.guarantee("first-decision-wins", "never-silent", "accountable")
def test_the_ledger_does_what_a_plain_model_does(tmp_path: Path) -> None:
    """In every order of openings, decisions, settlements, deadlines and withdrawals."""
    LedgerMachine.empty = tmp_path / "checkpoints.db"
    migrate(database_url(str(LedgerMachine.empty)))
    some = settings(max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(LedgerMachine, settings=some)


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger."""
    path = str(tmp_path / "checkpoints.db")
    url = database_url(path if request.param == "sqlite" else str(request.getfixturevalue("pg_url")))
    migrate(url)
    opened = Ledger(url, lambda: START)
    yield opened
    opened.close()


def decide_at_once(ledger: Ledger, *decisions: tuple[Decision, str]) -> list[Verdict]:
    """Each on a connection of its own, behind one barrier."""
    barrier = threading.Barrier(len(decisions))

    def one(decision: tuple[Decision, str]) -> Verdict:
        mine = Ledger(ledger.url, ledger.clock)
        try:
            barrier.wait(30)
            return mine.decide([decision[0]], by=decision[1])[0]
        finally:
            mine.close()

    with ThreadPoolExecutor(len(decisions)) as pool:
        return list(pool.map(one, decisions))


@pytest.mark.guarantee("first-decision-wins", "accountable")
def test_of_six_who_decide_at_once_one_wins(ledger: Ledger) -> None:
    """The others are told who it was, on SQLite and on PostgreSQL."""
    for number in range(5):
        (row,) = ledger.open([proposal(("t", f"m{number}", "c"))])
        people = ["a", "b", "c", "d", "e", "f"]
        kinds: list[Any] = ["approve", "reject"] * 3
        told = decide_at_once(
            ledger, *((Decision(row.id, kind, "d1"), by) for kind, by in zip(kinds, people, strict=True))
        )
        won = [(verdict, by) for verdict, by in zip(told, people, strict=True) if verdict.recorded]
        after = ledger.get(row.id)
        assert after is not None
        assert [(verdict.kind, by) for verdict, by in won] == [(after.status, after.decided_by)]
        lost = [verdict for verdict in told if not verdict.recorded]
        assert {verdict.kind for verdict in lost} == {"already_decided"}
        assert {verdict.row.decided_by for verdict in lost if verdict.row} == {after.decided_by}
    assert list(ledger.problems()) == []


@pytest.mark.guarantee("once", "nothing-lost")
def test_two_processes_that_open_one_call_get_one_approval(ledger: Ledger) -> None:
    """A node that ran twice, or in two processes at once, asks once."""
    barrier = threading.Barrier(4)

    def open_it(_number: int) -> str:
        mine = Ledger(ledger.url, ledger.clock)
        try:
            barrier.wait(30)
            return mine.open([proposal()])[0].id
        finally:
            mine.close()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(open_it, range(4)))) == 1
    assert len(ledger.history()) == 1


def test_the_decisions_of_one_answer_are_written_together_or_not_at_all(ledger: Ledger) -> None:
    """What cannot be recorded takes nothing else with it into the ledger."""
    one, two = ledger.open([proposal(CALLS[0]), proposal(CALLS[1])])
    made_up: Any = Decision(two.id, "maybe", "d1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="maybe"):
        ledger.decide([Decision(one.id, "approve", "d1"), made_up], by="andrew")
    assert [row.status for row in ledger.history()] == ["pending", "pending"]


def test_a_call_has_a_name_of_its_own() -> None:
    """However a model names its calls, and whatever stands in the names."""
    names = [
        ("t", "m", "c"),
        ("t", "mc", ""),
        ("tm", "", "c"),
        ("t", "m", "c2"),
        ("t2", "m", "c"),
        ("\ud800", "m", "c"),
    ]
    assert len({call_key(*name) for name in names}) == len(names)
