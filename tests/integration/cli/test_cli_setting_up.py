"""``init`` makes everything, harms nothing that is there, and leaves nothing half made."""

import shutil
import sys
from importlib.resources import files
from pathlib import Path

import pytest
import sqlalchemy as sa

from erp_mcp.store.engine import open_store
from erp_mcp.store.tables import meta
from tests.integration.cli.conftest import Cli


def test_init_makes_databases_and_key_for_this_user_alone(empty_home: Path, cli: Cli) -> None:
    """The folder is closed to others, the key is unreadable to them, and Northwind is in the ERP."""
    done = cli("init", "--json")
    assert done.code == 0
    assert done.json()["taken"]["orders"] == 830
    assert empty_home.stat().st_mode & 0o777 == 0o700
    assert (empty_home / "approval.key").stat().st_mode & 0o777 == 0o600
    assert {path.name for path in empty_home.iterdir()} >= {"erp.db", "checkpoints.db", "approval.key"}


def test_init_again_changes_nothing(home: Path, cli: Cli) -> None:
    """The key and the data stay; what was there is counted as such."""
    key = (home / "approval.key").read_bytes()
    done = cli("init", "--json")
    assert done.code == 0
    assert sum(done.json()["taken"].values()) == 0
    assert (home / "approval.key").read_bytes() == key
    assert "loaded already" in cli("init").out


def test_init_says_what_it_made_and_what_comes_next(empty_home: Path, cli: Cli) -> None:
    """A person reads where things are, who can sign, what was mended, and the next command."""
    said = cli("init").out
    for part in ("erp.db", "checkpoints.db", "approval.key", "830 orders", "Val2", "countersign ask"):
        assert part in said


def test_init_reads_the_files_from_a_given_folder(empty_home: Path, tmp_path: Path, cli: Cli) -> None:
    """``--from`` names the folder with the data set's files."""
    source = tmp_path / "source"
    with_files = files("erp_mcp").joinpath("data", "northwind")
    shutil.copytree(str(with_files), source)
    assert cli("init", "--from", str(source), "--json").json()["taken"]["orders"] == 830


@pytest.mark.parametrize("spoil", ["no folder", "no files"])
def test_a_bad_source_leaves_no_empty_erp_behind(empty_home: Path, tmp_path: Path, cli: Cli, spoil: str) -> None:
    """An ERP without orders would answer every question wrongly, so a failed import leaves none."""
    source = tmp_path / "source"
    if spoil == "no files":
        source.mkdir()
    done = cli("init", "--from", str(source))
    assert done.code in {1, 2}
    assert done.err.startswith("error: ")
    assert "hint: " in done.err
    assert not (empty_home / "erp.db").exists()
    assert cli("init").code == 0


def test_a_second_data_set_is_not_loaded_over_the_first(home: Path, cli: Cli) -> None:
    """Two data sets in one ERP would share numbers and customers."""
    store = open_store(f"sqlite:///{home / 'erp.db'}")
    with store.write() as tx:
        tx.connection.execute(sa.update(meta).where(meta.c.key == "dataset").values(value="another"))
    store.close()
    done = cli("init", "--json")
    assert done.code == 1
    assert done.json()["error"]["code"] == "dataset_mismatch"


def test_an_unknown_data_set_names_those_that_there_are(empty_home: Path, cli: Cli) -> None:
    """Nothing is made for a data set that there is not."""
    done = cli("init", "--data", "southwind")
    assert done.code == 2
    assert "southwind" in done.err
    assert "northwind" in done.err
    assert not empty_home.exists()


def test_a_home_that_cannot_be_made_is_named(empty_home: Path, cli: Cli) -> None:
    """A file stands where the folder should be."""
    empty_home.write_text("not a folder")
    done = cli("init")
    assert done.code == 1
    assert str(empty_home) in done.err
    assert "COUNTERSIGN_HOME" in done.err


def _set_revision(database: Path, table: str, revision: str) -> None:
    engine = sa.create_engine(f"sqlite:///{database}")
    with engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE {table} SET version_num = :revision"), {"revision": revision})
    engine.dispose()


@pytest.mark.parametrize(("name", "table"), [("erp.db", "alembic_version"), ("checkpoints.db", "checkpoints_version")])
@pytest.mark.parametrize("words", [("init",), ("ask", "What is in order 11074?"), ("audit",)])
def test_a_newer_schema_is_refused_and_left_alone(
    home: Path, cli: Cli, name: str, table: str, words: tuple[str, ...]
) -> None:
    """A release never writes to a database that a later one has changed."""
    _set_revision(home / name, table, "9999")
    before = (home / name).read_bytes()
    done = cli(*words)
    assert done.code == 1
    assert "9999" in done.err
    assert "release" in done.err
    assert (home / name).read_bytes() == before


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("erp.db", ("ask", "What is in order 11074?")),
        ("erp.db", ("audit",)),
        ("checkpoints.db", ("ask", "What is in order 11074?")),
        ("checkpoints.db", ("audit",)),
        ("checkpoints.db", ("approve", "apr_123456", "--by", "andrew")),
    ],
)
def test_a_missing_database_says_init(home: Path, cli: Cli, name: str, words: tuple[str, ...]) -> None:
    """Nothing is made on the way: an empty ledger would look like an empty inbox."""
    (home / name).unlink()
    done = cli(*words)
    assert done.code == 1
    assert "countersign init" in done.err
    assert not (home / name).exists()


@pytest.mark.parametrize("name", ["erp.db", "checkpoints.db"])
def test_a_file_that_is_no_database_is_named(home: Path, cli: Cli, name: str) -> None:
    """It is never overwritten."""
    for part in home.glob(f"{name}-*"):
        part.unlink()
    (home / name).write_text("this is a shopping list")
    for words in (("init",), ("ask", "hi"), ("audit",)):
        done = cli(*words)
        assert done.code == 1
        assert name in done.err
    assert (home / name).read_text() == "this is a shopping list"


def test_a_folder_that_takes_no_file_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not "missing, run init" from ``init`` itself. /proc takes nobody's file, not even root's."""
    monkeypatch.setenv("COUNTERSIGN_HOME", "/proc")
    done = cli("init")
    assert (done.code, "cannot be used" in done.err, "countersign init" in done.err) == (1, True, False)


@pytest.mark.parametrize("variable", ["COUNTERSIGN_CHECKPOINT_URL", "COUNTERSIGN_ERP_URL"])
def test_postgresql_without_its_driver_says_what_to_install(
    home: Path, cli: Cli, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plain installation has no driver for it."""
    monkeypatch.setenv(variable, "postgresql+psycopg://127.0.0.1:1/none")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    done = cli("ask", "What is in order 11074?")
    assert done.code == 1
    assert "countersign-erp[postgres]" in done.err
    assert "not foreseen" not in done.err


def test_a_model_without_its_key_is_refused_before_anything_happens(
    home: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable to set is named."""
    monkeypatch.setenv("COUNTERSIGN_MODEL", "openai:some-model")
    done = cli("ask", "Cancel order 11074")
    assert done.code == 1
    assert "OPENAI_API_KEY" in done.err
    assert cli("pending", "--json").json() == []


def test_a_bad_setting_is_named_with_its_variable(home: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command reads the settings first."""
    monkeypatch.setenv("COUNTERSIGN_TIMEZONE", "Mars/Olympus")
    done = cli("pending", "--json")
    assert done.code == 1
    assert "COUNTERSIGN_TIMEZONE" in done.json()["error"]["message"]


def test_a_key_that_others_can_read_signs_nothing(home: Path, cli: Cli) -> None:
    """Whoever reads the key can sign."""
    (home / "approval.key").chmod(0o644)
    done = cli("ask", "Cancel order 11074")
    assert done.code == 1
    assert "chmod 600" in done.err
