"""``doctor`` finds what is wrong, says how to mend it, and changes nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from erp_mcp.store.engine import open_store
from erp_mcp.store.tables import operations, stock
from tests.integration.cli.conftest import Cli


def execute(home: Path, statement: sa.Executable) -> None:
    store = open_store(f"sqlite:///{home / 'erp.db'}")
    with store.write() as tx:
        tx.connection.execute(statement)
    store.close()


def test_all_is_well_after_init(home: Path, cli: Cli) -> None:
    """Every check says so, in a line each; as JSON, too."""
    done = cli("doctor")
    assert (done.code, done.err) == (0, "")
    assert all(line.startswith("ok ") for line in done.out.splitlines())
    found = cli("doctor", "--json").json()
    assert found["ok"] is True
    names = [check["name"] for check in found["checks"]]
    assert names == ["settings", "home", "signing key", "ERP", "approvals", "records", "policy", "model", "MCP servers"]


def test_all_is_well_after_an_executed_approval(home: Path, cli: Cli, adjusted: Callable[..., str]) -> None:
    """And while one waits, and after one was rejected."""
    executed, rejected = adjusted(), adjusted(3)
    adjusted(7)
    assert cli("approve", executed, "--by", "andrew").code == 0
    assert cli("reject", rejected, "--by", "andrew").code == 0
    assert cli("doctor").code == 0


@pytest.mark.parametrize(
    ("spoil", "check", "mend"),
    [
        (lambda home: (home / "approval.key").unlink(), "signing key", "countersign init"),
        (lambda home: (home / "approval.key").chmod(0o644), "signing key", "chmod 600"),
        (lambda home: (home / "approval.key").write_text("short"), "signing key", "Remove"),
        (lambda home: home.chmod(0o777), "home", "chmod 700"),
        (lambda home: (home / "erp.db").unlink(), "ERP", "countersign init"),
        (lambda home: (home / "erp.db").write_text("not a database"), "ERP", ""),
        (lambda home: (home / "checkpoints.db").unlink(), "approvals", "countersign init"),
        (
            lambda home: execute(home, sa.update(stock).where(stock.c.sku == "NW-011").values(on_hand_milli=1_000_000)),
            "ERP", "NW-011",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_how_to_mend_it(
    home: Path, cli: Cli, spoil: Callable[[Path], object], check: str, mend: str
) -> None:
    """Exit code 1, and the check that failed says what to do."""
    spoil(home)
    done = cli("doctor", "--json")
    assert done.code == 1
    wrong = {found["name"]: found for found in done.json()["checks"] if not found["ok"]}
    assert check in wrong
    problem = wrong[check]["problems"][0]
    assert problem["message"]
    assert problem["hint"]
    assert mend in problem["message"] + problem["hint"]
    shown = cli("doctor")
    assert shown.code == 1
    assert problem["message"] in shown.out
    assert problem["hint"] in shown.out


def test_an_effect_without_its_approval_is_found(home: Path, cli: Cli, adjusted: Callable[..., str]) -> None:
    """Whichever of the two records lacks it."""
    approval = adjusted()
    assert cli("approve", approval, "--by", "andrew").code == 0
    execute(home, sa.delete(operations))
    done = cli("doctor", "--json")
    wrong = {found["name"] for found in done.json()["checks"] if not found["ok"]}
    assert (done.code, wrong) == (1, {"ERP", "records"})
    assert approval in done.out


def test_a_model_without_its_key_is_found(home: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network is needed to know it."""
    monkeypatch.setenv("COUNTERSIGN_MODEL", "openai:some-model")
    done = cli("doctor")
    assert done.code == 1
    assert "OPENAI_API_KEY" in done.out
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    assert cli("doctor").code == 0


def test_bad_settings_are_the_only_finding(home: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else can be looked at then."""
    monkeypatch.setenv("COUNTERSIGN_TIMEZONE", "Mars/Olympus")
    done = cli("doctor", "--json")
    assert done.code == 1
    assert [check["name"] for check in done.json()["checks"]] == ["settings"]
    assert "Mars/Olympus" in done.out


def test_it_changes_nothing(home: Path, cli: Cli) -> None:
    """Not even a key or a database that is missing is made."""
    for name in ("approval.key", "erp.db"):
        (home / name).unlink()
    before = sorted(home.iterdir())
    cli("doctor")
    assert sorted(home.iterdir()) == before
