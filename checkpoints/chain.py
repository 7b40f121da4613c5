"""A hash chain over the ledger's moves: a row that was changed, added or removed behind its back is found and named.

What it cannot find is a ledger whose newest entries and approvals were cut off together; the ERP's operations, which
have a chain of their own, show the effects of those.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from checkpoints.records import ApprovalRow, Assurance
from checkpoints.statements import all_rows
from checkpoints.tables import entries, signatures
from checkpoints.transactions import Prepared, Transaction

START: Final = "0" * 64
"""What the first entry follows."""

_SIGNED: Final = re.compile(r"signed \((?P<assurance>\w+)\) by (?P<name>.*)", re.DOTALL)
"""The event of a signature that did not suffice yet; the last one's event is the approval."""

_SIGNATURES = Prepared(sa.select(signatures))
_ENTRIES = Prepared(sa.select(entries).order_by(entries.c.seq))
_LAST = Prepared(sa.select(entries.c.seq, entries.c.hash).order_by(entries.c.seq.desc()).limit(1))
_APPEND = Prepared(sa.insert(entries))


def append(transaction: Transaction, event: str, row: ApprovalRow, at: datetime) -> None:
    """Adds one move to the chain, in the move's own transaction. The caller is the ledger's only writer."""
    last = transaction.rows(_LAST)
    seq, previous = (last[0][0] + 1, last[0][1]) if last else (1, START)
    entry: dict[str, Any] = {
        "seq": seq, "approval_id": row.id, "event": event, "at": at, "row_hash": row_hash(row), "previous": previous,
    }  # fmt: skip
    transaction.change(_APPEND, entry | {"hash": entry_hash(entry)})


def signed(by: str, assurance: Assurance) -> str:
    """The event of a signature that others have to follow."""
    return f"signed ({assurance}) by {by}"


def row_hash(row: ApprovalRow) -> str:
    """SHA-256 (hex) over everything that the ledger holds of an approval."""
    return _sha({name: getattr(row, name) for name in ApprovalRow.__dataclass_fields__})


def entry_hash(entry: dict[str, Any]) -> str:
    """SHA-256 (hex) over an entry, the hash of the one before included."""
    return _sha({name: value for name, value in entry.items() if name != "hash"})


def _sha(value: dict[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    raise TypeError(f"{type(value).__name__} has no place in the ledger")


def problems(transaction: Transaction) -> Iterator[str]:
    """What does not fit, one line each; nothing where ledger and chain are whole."""
    newest: dict[str, str] = {}
    told: dict[str, dict[str, _Signature]] = {}
    seq, previous = 0, START
    columns = entries.c.keys()
    for values in transaction.stream(_ENTRIES):
        entry = dict(zip(columns, values, strict=True))
        if entry["seq"] != seq + 1:
            yield f"entries {seq + 1} to {entry['seq'] - 1} were removed from the ledger"
        elif entry["previous"] != previous:
            yield f"entry {entry['seq']} ({entry['approval_id']}) does not follow the one before it"
        if entry_hash(entry) != entry["hash"]:
            yield f"entry {entry['seq']} ({entry['approval_id']}, {entry['event']}) was changed"
        seq, previous = entry["seq"], entry["hash"]
        newest[entry["approval_id"]] = entry["row_hash"]
        if signature := _SIGNED.fullmatch(entry["event"]):
            of_it = told.setdefault(entry["approval_id"], {})
            of_it[signature["name"]] = signature["assurance"], entry["at"]
    found = _signatures(transaction)
    for row in all_rows(transaction):
        known = newest.pop(row.id, None)
        if known is None:
            yield f"approval {row.id} was added behind the ledger's back"
        elif known != row_hash(row):
            yield f"approval {row.id} was changed behind the ledger's back"
        if not _signed_as_told(row, found.pop(row.id, []), told.get(row.id, {})):
            yield f"the signatures of approval {row.id} are not those that the ledger recorded"
    for gone in newest:
        yield f"approval {gone} was removed from the ledger"


_Signature = tuple[str | None, datetime | None]
"""How surely the one who signed is known, and when they did."""


def _signatures(transaction: Transaction) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    columns = signatures.c.keys()
    for values in transaction.rows(_SIGNATURES):
        signature = dict(zip(columns, values, strict=True))
        found.setdefault(signature["approval_id"], []).append(signature)
    return found


def _signed_as_told(row: ApprovalRow, signed: list[dict[str, Any]], told: dict[str, _Signature]) -> bool:
    """Whether the signatures are those of the entries and, where the last of them approved it, of ``decided_by``."""
    if any(signature["digest"] != row.digest for signature in signed):
        return False
    names: dict[str, _Signature] = {one["signed_by"]: (one["assurance"], one["signed_at"]) for one in signed}
    if row.decided_by is None or row.status in {"pending", "rejected", "expired", "superseded"}:
        return names == told
    return any(
        row.decided_by == ", ".join([*sorted(names.keys() - {last}), last])
        and names == told | {last: (row.assurance, row.decided_at)}
        for last in names
    )
