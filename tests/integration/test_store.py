"""Transactions, and opening what can and cannot be opened."""

import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
import sqlalchemy as sa

from erp_mcp.errors import ErpError
from erp_mcp.store import connect, schema
from erp_mcp.store.engine import Store, create_database, migrate, open_store
from erp_mcp.store.tables import UtcTime, sequences, stock, warehouses
from erp_mcp.store.transaction import Tx


def codes(tx: Tx) -> list[str]:
    return list(tx.connection.scalars(sa.select(warehouses.c.code).order_by(warehouses.c.code)))


def add(tx: Tx, code: str) -> None:
    tx.connection.execute(sa.insert(warehouses).values(code=code, name=code))


def fail_after(tx: Tx, code: str) -> None:
    add(tx, code)
    raise ErpError("some_code", "Something else went wrong.")


def refusal(url: str) -> ErpError:
    with pytest.raises(ErpError) as refused:
        open_store(url)
    assert refused.value.hint
    assert "Traceback" not in refused.value.message
    return refused.value


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers wait 50 ms for each other instead of five seconds."""
    monkeypatch.setattr(connect, "BUSY_MILLISECONDS", 50)


def test_a_write_is_kept_and_a_failed_one_is_not(store: Store) -> None:
    """Leaving the context commits; an exception takes everything back."""
    with store.write() as tx:
        add(tx, "A")
    with pytest.raises(ErpError), store.write() as tx:
        fail_after(tx, "B")
    with store.read() as tx:
        assert codes(tx) == ["A"]


def test_a_dry_run_sees_its_own_effects_and_leaves_none(store: Store) -> None:
    """Planned on top of each other, and gone."""
    with store.dry_run() as tx:
        add(tx, "A")
        assert codes(tx) == ["A"]
    with store.read() as tx:
        assert codes(tx) == []


def test_a_read_cannot_write(store: Store) -> None:
    """Not even by mistake: the database refuses it."""
    with pytest.raises(ErpError) as refused, store.read() as tx:
        add(tx, "A")
    assert refused.value.code == "database_read_only"
    with store.write() as tx:
        add(tx, "A")


def test_a_read_sees_one_snapshot(store: Store) -> None:
    """What another transaction commits meanwhile is not seen before the next read."""
    with store.read() as before:
        assert codes(before) == []
        with store.write() as tx:
            add(tx, "A")
        assert codes(before) == []
    with store.read() as after:
        assert codes(after) == ["A"]


def test_writers_come_one_after_the_other(store: Store) -> None:
    """Read, add one, write back, in four threads at once: no update is lost, and their times follow their order."""
    with store.write() as tx:
        tx.connection.execute(sa.insert(sequences).values(name="n", value=0))
    barrier = threading.Barrier(4)
    seen: list[tuple[int, datetime]] = []

    def count() -> None:
        barrier.wait()
        for _ in range(10):
            with store.write() as tx:
                value = tx.connection.scalar(sa.select(sequences.c.value)) or 0
                tx.connection.execute(sa.update(sequences).values(value=value + 1))
                seen.append((value, tx.now))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [value for value, _ in seen] == list(range(40))
    assert [now for _, now in seen] == sorted(now for _, now in seen)


@pytest.mark.usefixtures("impatient")
def test_a_writer_that_waits_too_long_is_told_so(erp_url: str) -> None:
    """Busy is an error that may be tried again, and the one before is not disturbed."""
    create_database(erp_url)
    store = open_store(erp_url)
    with store.write() as tx:
        add(tx, "A")
        with pytest.raises(ErpError) as refused, store.write() as second:
            add(second, "B")
    assert refused.value.code == "database_busy"
    assert refused.value.as_json()["error"]["retryable"] is True
    with store.read() as tx:
        assert codes(tx) == ["A"]
    store.close()


def test_an_instance_keeps_its_id(erp_url: str, tmp_path: Path) -> None:
    """Made once, with the database; another database has another."""
    create_database(erp_url)
    first = open_store(erp_url)
    create_database(erp_url)
    migrate(erp_url)
    again = open_store(erp_url)
    create_database(f"sqlite:///{tmp_path / 'other.db'}")
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    assert first.instance_id == again.instance_id != other.instance_id
    for store in (first, again, other):
        store.close()


def test_the_clock_is_the_callers(erp_url: str) -> None:
    """A transaction happens at one moment, which the given clock names."""
    create_database(erp_url)
    moment = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
    store = open_store(erp_url, clock=lambda: moment)
    with store.read() as tx:
        assert tx.now == moment
    store.close()


def test_a_missing_database_is_not_made_by_opening_it(tmp_path: Path) -> None:
    """Opening creates nothing, and says how to create it."""
    path = tmp_path / "none" / "erp.db"
    error = refusal(f"sqlite:///{path}")
    assert (error.code, "countersign init" in error.hint) == ("database_missing", True)
    assert not path.parent.exists()


def test_what_is_no_erp_is_refused_and_left_alone(tmp_path: Path) -> None:
    """Some other file, a folder, somebody else's database: named, and not touched by init either."""
    text = tmp_path / "text.db"
    text.write_text("This is a letter, not a database. " * 50)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE theirs (id INTEGER)")
    for path in (text, foreign):
        before = path.read_bytes()
        assert refusal(f"sqlite:///{path}").code == "database_unusable"
        with pytest.raises(ErpError) as refused:
            create_database(f"sqlite:///{path}")
        assert refused.value.code == "database_unusable"
        assert path.read_bytes() == before
    assert refusal(f"sqlite:///{tmp_path}").code == "database_unusable"


def test_an_empty_file_is_a_database_that_is_not_made_yet(tmp_path: Path) -> None:
    """So that an init that was killed can be run again."""
    (tmp_path / "erp.db").touch()
    url = f"sqlite:///{tmp_path / 'erp.db'}"
    assert refusal(url).code == "database_missing"
    create_database(url)
    open_store(url).close()


@pytest.mark.parametrize("url", ["", "nonsense", "sqlite://", "sqlite:///:memory:", "mysql://user:secret@host/db"])
def test_an_address_that_cannot_hold_an_erp_is_refused(url: str) -> None:
    """Before anything is opened; and a password is not repeated."""
    error = refusal(url)
    assert error.code == "database_unusable"
    assert "secret" not in error.message


def test_a_postgresql_that_is_not_there_is_named(pg_server: str) -> None:
    """No database of that name, and no server at that port, are different things."""
    url = sa.make_url(pg_server)
    absent = url.set(database="countersign_never_made").render_as_string(hide_password=False)
    assert refusal(absent).code == "database_missing"
    silent = url.set(port=1).render_as_string(hide_password=False)
    assert refusal(silent).code == "database_unusable"


def test_another_schema_is_refused_with_what_to_do(erp_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer one needs a newer release; an older one needs init."""
    create_database(erp_url)
    monkeypatch.setattr(schema, "REVISIONS", ("0001", "0002"))
    assert refusal(erp_url).code == "database_schema_older"
    monkeypatch.setattr(schema, "REVISIONS", ("0000",))
    assert refusal(erp_url).code == "database_schema_newer"
    for change in (create_database, migrate):
        with pytest.raises(ErpError) as refused:
            change(erp_url)
        assert refused.value.code == "database_schema_newer"


def test_a_database_opened_to_read_cannot_be_written(tmp_path: Path) -> None:
    """Reading works; writing says what is wrong."""
    url = f"sqlite:///{tmp_path / 'erp.db'}"
    create_database(url)
    store = open_store(f"{url}?mode=ro")
    with store.read() as tx:
        assert codes(tx) == []
    with pytest.raises(ErpError) as refused, store.write() as tx:
        add(tx, "A")
    assert refused.value.code == "database_read_only"
    store.close()


def test_opening_does_not_load_what_it_does_not_need() -> None:
    """The command line answers at once because Alembic and the frameworks stay out."""
    heavy = "{'alembic', 'fastmcp', 'mcp', 'langgraph', 'psycopg'} & set(sys.modules)"
    code = f"import sys, erp_mcp.store.engine, erp_mcp.queries.operations; print(sorted({heavy}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "moment",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(2026, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=8))),
    ],
)
def test_times_are_kept_as_text_that_sorts(moment: datetime) -> None:
    """Fixed width and UTC, so that the text sorts as the times do."""
    kind, dialect = UtcTime(), sa.create_engine("sqlite://").dialect
    text = kind.process_bind_param(moment, dialect)
    assert text is not None
    assert len(text) == 27
    assert kind.process_result_value(text, dialect) == moment


def test_a_row_without_its_parent_is_refused(store: Store) -> None:
    """Foreign keys hold in both databases."""
    with pytest.raises(sa.exc.IntegrityError), store.write() as tx:
        tx.connection.execute(sa.insert(stock).values(sku="none", warehouse="none"))
