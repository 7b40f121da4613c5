"""The light half of the wiring: the two records, made and read without an agent. It loads SQLAlchemy and no framework.

With ``graph.app`` the only place that reaches into the ERP's inside.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from checkpoints.database import database_url, sqlite_path
from checkpoints.database import migrate as migrate_checkpoints
from checkpoints.ledger import Ledger
from erp_mcp.errors import ErpError
from erp_mcp.importers.report import ImportReport, Progress, RowListener
from erp_mcp.queries.lookup import find_order
from erp_mcp.queries.operations import OperationRow, list_operations
from erp_mcp.store.chain import operation_problems
from erp_mcp.store.connect import parse_url
from erp_mcp.store.engine import Store, create_database, open_store
from graph.audit import AuditEntry, Operation, audit_entries, touches
from graph.errors import CountersignError
from graph.origin import is_external
from graph.run import Approval
from graph.settings import Settings

if TYPE_CHECKING:
    from erp_mcp.importers.datasets import Importer

Json = dict[str, Any]


@dataclass(frozen=True)
class Made:
    """What ``make_books`` made or found.

    Args:
        home: the folder of it all.
        erp, checkpoints: the databases, without passwords.
        key: the file whose reader can sign.
        report: what was loaded into the ERP.
    """

    home: Path
    erp: str
    checkpoints: str
    key: Path
    report: ImportReport

    def as_json(self) -> Json:
        """The form that ``init --json`` prints."""
        return {
            "home": str(self.home), "erp": self.erp, "checkpoints": self.checkpoints, "key": str(self.key),
        } | self.report.model_dump()  # fmt: skip


def datasets() -> tuple[str, ...]:
    """The data sets that ``init`` can load."""
    return tuple(_importers())


def _importers() -> "Mapping[str, Importer]":
    # Loaded only where it is needed: whoever looks at an approval should not wait for it.
    from erp_mcp.importers.datasets import IMPORTERS

    return IMPORTERS


def make_books(
    settings: Settings,
    dataset: str,
    source: Path | None = None,
    progress: Progress | None = None,
    on_row: RowListener | None = None,
) -> Made:
    """Makes both databases and the key, and loads data. What is there already stays as it is.

    Args:
        settings: say where.
        dataset: one of ``datasets()``.
        source: the data set's file, or the folder with its files; the package's own if left out.
        progress: told what is being done, how much of it is done, and how much there is.
        on_row: told of every row of the source that is mended or refused.

    Raises:
        CountersignError: ``home_unusable``.
        ErpError, CheckpointError: what is wrong with a database, the source or the key; ``dataset_mismatch`` where
            another data set is loaded.
    """
    from erp_mcp.grants import load_or_create_key  # loads a cryptography library, which looking does not need

    _make_home(settings.home)
    with _whole_or_not_at_all(parse_url(settings.erp_database)):
        create_database(settings.erp_database)
        with _store(settings) as store:
            report = _importers()[dataset](store, source, progress, on_row)
            erp = store.url
    checkpoints = database_url(settings.checkpoint_database)
    migrate_checkpoints(checkpoints)
    load_or_create_key(settings.key_path)
    return Made(settings.home, erp, checkpoints.render_as_string(hide_password=True), settings.key_path, report)


@contextmanager
def _whole_or_not_at_all(url: sa.URL) -> Iterator[None]:
    """Takes a new SQLite file away again where loading it failed: an empty ERP would look like one without orders."""
    path = sqlite_path(url)
    is_new = path is not None and not path.exists()
    try:
        yield
    except BaseException:
        if path is not None and is_new:
            for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
                path.with_name(name).unlink(missing_ok=True)
        raise


def _make_home(home: Path) -> None:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CountersignError(
            "home_unusable",
            f"The folder {home} cannot be made: {error.strerror}.",
            "Set COUNTERSIGN_HOME to a folder that this user can write.",
        ) from error


@contextmanager
def open_ledger(settings: Settings) -> Iterator[Ledger]:
    """The approval ledger alone.

    Raises:
        CheckpointError: the database is missing, locked or of another release.
    """
    ledger = Ledger(database_url(settings.checkpoint_database))
    try:
        yield ledger
    finally:
        ledger.close()


@contextmanager
def _store(settings: Settings) -> Iterator[Store]:
    store = open_store(settings.erp_database, zone=settings.zone)
    try:
        yield store
    finally:
        store.close()


def read_audit(settings: Settings, *, order: str | None = None, since: datetime | None = None) -> list[AuditEntry]:
    """Who asked, who approved, what they saw, what was done; in the order in which it happened.

    Args:
        settings: say where the two records are.
        order: only what is about this order: its number as typed, ours or the imported one.
        since: an aware time; only what was asked, decided or done then or later.

    Raises:
        ErpError: ``order_not_found``, ``ambiguous``, and what is wrong with the ERP's database.
        CheckpointError: what is wrong with the ledger's.
    """
    with open_ledger(settings) as ledger, _store(settings) as store:
        rows = ledger.history()
        number, done = _operations(store, order)
        known = {row.id for row in rows}
        rows += ledger.history(ids=[operation.approval_id for operation in done if operation.approval_id not in known])
    if number is not None:
        ids = {operation.approval_id for operation in done}
        rows = [row for row in rows if row.id in ids or touches(row, number)]
    return audit_entries(rows, done, since=since)


def verify_records(settings: Settings) -> list[str]:
    """What was changed, added or removed behind the two records' backs, one line each; nothing where both are whole.

    Each record is a hash chain of its own, and each effect stands in both.
    """
    with open_ledger(settings) as ledger, _store(settings) as store:
        found = [f"ledger: {problem}" for problem in ledger.problems()]
        rows = {row.id: row for row in ledger.history()}
        with store.read() as tx:
            found += [f"ERP: {problem}" for problem in operation_problems(tx)]
            done = {row.approval_id for row in list_operations(tx)}
    found += [f"ERP: operation {name} has no approval in the ledger" for name in sorted(done - rows.keys())]
    executed = {row.id for row in rows.values() if row.status == "executed" and not is_external(row.preview)}
    found += [f"ledger: {name} is executed, but the ERP has no such operation" for name in sorted(executed - done)]
    refused = {row.id: row.status for row in rows.values() if row.status not in {"executed", "approved"}}
    return found + [
        f"ledger: {name} is {refused[name]}, but the ERP has executed it" for name in sorted(done & refused.keys())
    ]


def why_gone(settings: Settings, approval: Approval) -> str | None:
    """Why this release cannot carry an approval out, as far as the tool's name tells; quick enough for lists."""
    further = (Path(part) for part in settings.skills.split(os.pathsep) if part)
    folders = [Path(str(files("erp_mcp"))) / "skills", *further]
    is_known = any((folder / approval.tool).is_dir() for folder in folders) or is_external(
        approval.preview.model_dump()
    )
    return None if is_known else f"There is no tool {approval.tool!r} any more."


def why_unfit(settings: Settings, approval: Approval) -> str | None:
    """The same by the tool's arguments too; it loads the tools."""
    from erp_mcp.registry import load_registry, skill_directories

    gone = why_gone(settings, approval)
    if gone is not None or is_external(approval.preview.model_dump()):
        return gone
    try:
        load_registry(skill_directories(settings.skills)).tool(approval.tool).parse(approval.args)
    except ErpError as error:
        return error.message
    return None


def broken_invariants(settings: Settings) -> list[str]:
    """What does not add up in the ERP's books, one sentence each; nothing where all is well.

    Raises:
        ErpError: what is wrong with the ERP's database.
    """
    from erp_mcp.store.invariants import check_invariants

    with _store(settings) as store, store.read() as tx:
        return check_invariants(tx)


def _operations(store: Store, order: str | None) -> tuple[str | None, list[Operation]]:
    """The effects, and the order's number in the ERP's own form."""
    with store.read() as tx:
        number = None if order is None else str(find_order(tx, order).id)
        return number, [_operation(row) for row in list_operations(tx, order_id=number)]


def _operation(row: OperationRow) -> Operation:
    return Operation(
        row.approval_id, row.tool, row.arguments, row.digest, row.approver, row.requested_by, row.executed_at,
        row.preview, row.receipt,
    )  # fmt: skip
