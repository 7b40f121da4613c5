"""What people type, read strictly: approval ids, JSON arguments, days."""

import json
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from zoneinfo import ZoneInfo

from checkpoints.ledger import Ledger
from checkpoints.records import ApprovalRow
from graph.cli.failures import refuse_usage

PREFIX: Final = "apr_"
SHORTEST: Final = 6
"""Characters after ``apr_`` that an id must have at least to be looked up as the beginning of one."""


def find_approval(ledger: Ledger, typed: str) -> ApprovalRow | None:
    """The approval with this id, or the only one whose id begins so; None where there is none.

    Args:
        ledger: where to look.
        typed: the id, whole or its beginning, with or without ``apr_``.

    Raises:
        UsageError: it is too short, or several begin so.
    """
    text = typed.strip()
    wanted = text if text.startswith(PREFIX) else PREFIX + text
    exact = ledger.get(wanted)
    if exact is not None:
        return exact
    if len(wanted) < len(PREFIX) + SHORTEST:
        refuse_usage(
            "bad_approval_id",
            f"{typed!r} is too short to name an approval.",
            f"Give at least {SHORTEST} characters after {PREFIX}. Those that wait: countersign pending",
        )
    found = ledger.find(wanted)
    if len(found) > 1:
        candidates = ", ".join(row.id for row in found)
        refuse_usage("ambiguous_approval", f"{typed!r} fits several approvals: {candidates}", "Give more of the id.")
    return found[0] if found else None


def read_object(text: str) -> dict[str, Any]:
    """The JSON object of ``--args``.

    Raises:
        UsageError: it is not JSON, with the position; not an object; or says one name twice.
    """
    hint = """Write a JSON object in single quotes, such as --args '{"order_id": "SO19980506-11074"}'"""
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_each_once)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        refuse_usage("bad_json", f"--args is not JSON at {place}: {error.msg}.", hint)
    except RecursionError:
        refuse_usage("bad_json", "--args is nested too deeply.", hint)
    except ValueError as error:
        refuse_usage("bad_json", f"--args: {error}.", hint)
    if not isinstance(value, dict):
        refuse_usage("bad_json", f"--args must be a JSON object, not {type(value).__name__}.", hint)
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two values under one name, JSON readers disagree on which counts; a person must not sign that."""
    read = dict(pairs)
    if len(read) < len(pairs):
        names = [name for name, _value in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} stands in it twice")
    return read


def place_of(ledger: Ledger, typed: str) -> tuple[datetime, str]:
    """Where the page behind an approval begins.

    Raises:
        UsageError: there is no such approval.
    """
    row = find_approval(ledger, typed)
    if row is None:
        refuse_usage("bad_approval_id", f"There is no approval {typed!r} to go on behind.", "Leave out --after.")
    return row.created_at, row.id


def read_amount(text: str) -> int:
    """An amount as the ledger keeps it, in ten-thousandths.

    Raises:
        UsageError: it is not a plain number.
    """
    try:
        scaled = Decimal(text) * 10_000
    except InvalidOperation:
        scaled = Decimal("NaN")
    if not scaled.is_finite() or scaled != scaled.to_integral_value() or abs(scaled) > 10**18:
        refuse_usage("bad_amount", f"{text!r} is not an amount.", "Write a plain number, such as 5000 or 99.50.")
    return int(scaled)


def read_since(text: str, zone: ZoneInfo) -> datetime:
    """The time of ``--since``: a day begins where the business is.

    Args:
        text: a day (2026-01-31) or a time (2026-01-31T12:00, with or without an offset).
        zone: the business time zone.

    Raises:
        UsageError: it is neither.
    """
    try:
        read = datetime.fromisoformat(text.strip())
        return read if read.tzinfo else read.replace(tzinfo=zone)
    except ValueError:
        refuse_usage("bad_time", f"--since: {text!r} is not a day.", "Write it as YYYY-MM-DD or YYYY-MM-DDTHH:MM.")
