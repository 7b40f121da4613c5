"""Statements that are compiled once and run on the driver's own connections, on both databases."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
import sqlalchemy as sa

from checkpoints.database import database_url, migrate
from checkpoints.errors import CheckpointError
from checkpoints.tables import approvals, entries, leases, signatures
from checkpoints.transactions import STREAMED_AT_ONCE, Prepared, Transactions

NOW = datetime(2026, 12, 1, 12, tzinfo=timezone(timedelta(hours=8)))
ALL = Prepared(sa.select(leases).order_by(leases.c.thread_id))
NEW = Prepared(sa.insert(leases))
NAMES = Prepared(sa.select(leases.c.thread_id))
LOCK = Prepared(sa.select(sa.func.pg_advisory_xact_lock(1)))
LATE = Prepared(sa.select(leases.c.owner).where(leases.c.expires_at > sa.bindparam("now"), leases.c.owner == "me"))


@pytest.fixture
def database(erp_url: str) -> Iterator[Transactions]:
    url = database_url(erp_url)
    migrate(url)
    transactions = Transactions(url)
    yield transactions
    transactions.close()


def lease(thread: str, owner: str = "me") -> dict[str, object]:
    return {"thread_id": thread, "owner": owner, "expires_at": NOW}


def test_values_go_in_and_come_out_as_sqlalchemy_has_them(database: Transactions) -> None:
    """Every type that the tables use, with and without a value; JSON's null is not SQL's."""
    row = {
        "id": "apr_1", "thread_id": "t", "message_id": "m", "call_id": "c", "call": "h", "round": 1, "tool": "x",
        "proposed": {"a": [1, "ü", None]}, "arguments": {}, "preview": {"on": True}, "digest": "d", "policy": {},
        "amount": 2**62, "notes": [], "together": True, "status": "pending", "requested_by": "nancy", "request": "?",
        "created_at": NOW, "expires_at": NOW, "decided_by": None, "assurance": None, "decided_at": None,
        "reason": None, "settled_at": None, "outcome": None, "supersedes": None,
    }  # fmt: skip
    with database.writing() as transaction:
        transaction.change(Prepared(sa.insert(approvals)), row)
        transaction.change(
            Prepared(sa.insert(signatures)),
            {"approval_id": "apr_1", "signed_by": "andrew", "assurance": "token", "digest": "d", "signed_at": NOW},
        )
    joined = sa.select(approvals, signatures).join(signatures, signatures.c.approval_id == approvals.c.id)
    with database.reading() as transaction:
        ours = transaction.rows(Prepared(joined))
    with database.engine.connect() as connection:
        theirs = [list(one) for one in connection.execute(joined)]
    assert ours == theirs
    assert [type(value) for value in ours[0]] == [type(value) for value in theirs[0]]
    assert dict(zip(approvals.c.keys(), ours[0], strict=False)) == row | {"created_at": NOW.astimezone(UTC)}


def test_a_statement_keeps_its_own_values_beside_those_that_are_given(database: Transactions) -> None:
    with database.writing() as transaction:
        assert [transaction.change(NEW, lease("t1")), transaction.change(NEW, lease("t2", "you"))] == [1, 1]
        assert transaction.rows(LATE, {"now": NOW - timedelta(seconds=1)}) == [["me"]]
        assert transaction.rows(LATE, {"now": NOW}) == []


def test_a_missing_value_is_not_taken_for_null(database: Transactions) -> None:
    with database.alone() as transaction, pytest.raises(KeyError, match="expires_at"):
        transaction.change(NEW, {"thread_id": "t", "owner": "me"})


def test_nothing_stays_of_a_transaction_that_did_not_end_well(database: Transactions) -> None:
    def cut_short() -> None:
        with database.writing() as transaction:
            transaction.change(NEW, lease("t1"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        cut_short()
    with database.reading() as transaction:
        assert transaction.rows(ALL) == []


def test_a_refusal_of_the_database_is_said_plainly_and_breaks_no_connection(database: Transactions) -> None:
    def twice() -> None:
        with database.writing() as transaction:
            transaction.change(NEW, lease("t1"))
            transaction.change(NEW, lease("t1"))

    with pytest.raises(CheckpointError) as refused:
        twice()
    assert refused.value.code == "checkpoints_unusable"
    with database.writing() as transaction:
        assert transaction.change(NEW, lease("t1")) == 1


def test_a_stream_gives_every_row_in_its_order(database: Transactions) -> None:
    many = [
        {"seq": number, "approval_id": "a", "event": "e", "at": NOW, "row_hash": "", "previous": "", "hash": ""}
        for number in range(STREAMED_AT_ONCE * 2 + 1)
    ]
    new, every = Prepared(sa.insert(entries)), Prepared(sa.select(entries.c.seq).order_by(entries.c.seq))
    with database.writing() as transaction:
        for entry in many:
            transaction.change(new, entry)
    with database.reading() as transaction:
        assert [seq for (seq,) in transaction.stream(every)] == list(range(len(many)))


def test_readers_see_one_moment_while_a_writer_goes_on(database: Transactions) -> None:
    """Each transaction has a connection of its own, whichever thread it runs in."""
    with database.writing() as transaction:
        transaction.change(NEW, lease("t1"))
        seen: list[int] = []

        def look() -> None:
            with database.reading() as other:
                seen.append(len(other.rows(ALL)))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join(10)
        assert seen == [0]
    with database.alone() as transaction:
        assert len(transaction.rows(ALL)) == 1


def test_connections_that_the_server_has_cut_are_opened_anew(database: Transactions) -> None:
    if database.engine.dialect.name == "sqlite":
        pytest.skip("a file cuts no connections")
    with database.alone() as transaction:
        ((mine,),) = transaction.rows(Prepared(sa.select(sa.func.pg_backend_pid())))
    with sa.create_engine(database.url, isolation_level="AUTOCOMMIT").connect() as other:
        other.execute(sa.select(sa.func.pg_terminate_backend(mine)))
    with database.alone() as transaction:
        assert transaction.rows(ALL) == []


def test_threads_that_come_at_once_share_no_connection(database: Transactions) -> None:
    """Connections stay at hand between transactions; whoever finds none there gets a new one."""
    failed: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for turn in range(50):
                with database.writing() as transaction:
                    if database.engine.dialect.name == "postgresql":
                        transaction.rows(LOCK)
                    transaction.change(NEW, lease(f"{name}-{turn}"))
                    assert [f"{name}-{turn}"] in transaction.rows(NAMES)
        except BaseException as error:  # noqa: BLE001 told below, in the thread that can fail the test
            failed.append(error)

    threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with database.alone() as transaction:
        assert len(transaction.rows(NAMES)) == 6 * 50
