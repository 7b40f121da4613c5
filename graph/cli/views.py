"""What commands show: an approval whole, the inbox, a run, the audit. Nothing is cut, whatever the width."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from erp_mcp.contract import Preview
from graph.audit import AuditEntry
from graph.cli.screen import shown
from graph.render import sections
from graph.run import Approval, Run

ASSURANCES = {"asserted": "by their word", "token": "by a token", "policy": "a rule of the policy"}


def clock_text(time: datetime, zone: ZoneInfo) -> str:
    """A time where the business is, to the minute, with its zone."""
    return f"{time.astimezone(zone):%Y-%m-%d %H:%M %Z}"


def age_text(age: timedelta) -> str:
    """How long something has waited, in the largest unit that fits."""
    minutes = max(0, int(age.total_seconds())) // 60
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} d"


# -- one approval ------------------------------------------------------------------------------------------------------


def approval_view(approval: Approval, policy: str, zone: ZoneInfo) -> RenderableType:
    """One approval as an approver has to see it: whole.

    Args:
        approval: which.
        policy: what the policy asks for, in words.
        zone: for times.
    """
    return Group(
        shown(approval.preview.summary, "bold"),
        "",
        _pairs(_facts(approval, policy, zone)),
        *(shown(f"\nNote: {note}", "bold yellow") for note in approval.notes),
        *_difference(approval.difference),
        preview_view(approval.preview),
    )


def _facts(approval: Approval, policy: str, zone: ZoneInfo) -> Iterable[tuple[str, str]]:
    yield "approval", approval.approval_id
    yield "thread", approval.thread_id
    yield "tool", approval.tool
    yield "status", approval.status
    yield "asked by", f"{approval.requested_by}, {clock_text(approval.created_at, zone)}"
    yield "in these words", approval.request
    if approval.status == "pending":
        yield "expires", clock_text(approval.expires_at, zone)
    if approval.decided_by:
        yield "decided by", approval.decided_by
    if approval.reason:
        yield "reason", approval.reason
    if approval.outcome:
        yield "outcome", one_line(approval.outcome)
    yield "policy", policy
    if approval.supersedes:
        yield "asks again for", approval.supersedes
    yield "digest", approval.digest


def _difference(lines: Sequence[str]) -> Iterable[RenderableType]:
    if lines:
        yield Text("\nChanged since you looked", style="bold yellow")
        yield from (Padding(shown(line), (0, 0, 0, 2)) for line in lines)


def preview_view(preview: Preview) -> RenderableType:
    """What would be done, all of it."""
    undo = preview.reversibility
    return Group(
        *(shown(f"\nWarning: {warning}", "bold yellow") for warning in preview.warnings),
        *(part for heading, rows in sections(preview) if rows for part in (Text(f"\n{heading}", "bold"), _grid(rows))),
        "",
        shown(f"Can it be undone? {undo.kind}{': ' + undo.how if undo.how else ''}"),
    )


def _grid(rows: Iterable[tuple[str, ...]]) -> RenderableType:
    listed = list(rows)
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(max(len(row) for row in listed)):
        grid.add_column(overflow="fold")
    for row in listed:
        grid.add_row(*(shown(cell) for cell in row))
    return Padding(grid, (0, 0, 0, 2))


def _pairs(rows: Iterable[tuple[str, str]]) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(Text(name, style="dim"), shown(value))
    return grid


# -- the inbox ---------------------------------------------------------------------------------------------------------


def inbox_view(approvals: Sequence[Approval], now: datetime, zone: ZoneInfo) -> RenderableType:
    """What waits, oldest first."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("approval", no_wrap=True, overflow="fold")
    table.add_column("what", overflow="fold", ratio=1)
    table.add_column("asked by", overflow="fold", max_width=12)
    table.add_column("age", no_wrap=True, overflow="fold")
    table.add_column("expires", no_wrap=True, overflow="fold")
    for one in approvals:
        what = Text.assemble(shown(one.tool, "bold"), "\n", shown(one.preview.summary), *(
            shown(f"\n⚠ {note}", "yellow") for note in one.notes
        ))  # fmt: skip
        age, expires = age_text(now - one.created_at), f"{one.expires_at.astimezone(zone):%Y-%m-%d}"
        table.add_row(shown(one.approval_id), what, shown(one.requested_by), age, expires)
    return table


def waiting_lines(approvals: Sequence[Approval]) -> str:
    """What waits after a command, and how to go on."""
    lines = []
    for one in approvals:
        lines.append(f"Waits for approval: {one.approval_id}  {one.tool}\n  {one.preview.summary}")
        lines.append(f"  look:    countersign show {one.approval_id}")
        lines.append(f"  decide:  countersign approve {one.approval_id} --by YOUR-NAME   (or reject, edit)")
    return "\n".join(lines)


# -- a run -------------------------------------------------------------------------------------------------------------


def run_text(run: Run) -> str:
    """Where a thread stands, in words: outcome, receipts, result, answer, what waits."""
    parts = [f"{run.outcome}: {run.note}"] if run.outcome else []
    parts += [f"Receipt {one.approval_id}: {one.tool} {one.status}\n  {one_line(one.result)}" for one in run.receipts]
    if run.result is not None and not run.receipts and run.status == "done":
        parts.append(json.dumps(run.result, indent=2, ensure_ascii=False))
    if run.answer:
        parts.append(run.answer)
    if run.pending:
        parts.append(waiting_lines(run.pending))
    return "\n".join([*parts, f"Thread {run.thread_id}"])


def one_line(value: Any) -> str:
    """A JSON value in one line that people can read."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_nested(item)}" for name, item in value.items())
    if isinstance(value, list):
        return "; ".join(one_line(item) for item in value) or "none"
    return "–" if value is None else str(value)


def _nested(value: Any) -> str:
    return f"({one_line(value)})" if isinstance(value, dict | list) and value else one_line(value)


# -- the audit ---------------------------------------------------------------------------------------------------------


def audit_view(entry: AuditEntry, zone: ZoneInfo) -> RenderableType:
    """One approval from the request to the effect."""
    head = f"{clock_text(entry.last_at, zone)}  {entry.status}  {entry.tool}"
    return Group(shown(head, "bold"), Padding(_pairs(_told(entry, zone)), (0, 0, 0, 2)))


def _told(entry: AuditEntry, zone: ZoneInfo) -> Iterable[tuple[str, str]]:
    yield "approval", entry.approval_id
    asked = f", {clock_text(entry.requested_at, zone)}" if entry.requested_at else ""
    yield "asked by", f"{entry.requested_by}{asked}"
    if entry.request:
        yield "in these words", entry.request
    decided = f", {clock_text(entry.decided_at, zone)}" if entry.decided_at else ""
    sure = f" ({ASSURANCES.get(entry.assurance, entry.assurance)})" if entry.assurance else ""
    yield "decided by", f"{entry.decided_by}{sure}{decided}" if entry.decided_by else "nobody"
    if entry.reason:
        yield "reason", entry.reason
    preview = Preview.model_validate(entry.preview)
    yield "they saw", "\n".join([preview.summary, *(" ".join(row) for row in _seen(preview))])
    if entry.receipt is not None:
        done = f", {clock_text(entry.executed_at, zone)}" if entry.executed_at else ""
        yield "done", f"{one_line(entry.receipt.get('result', entry.receipt))}{done}"
    else:
        yield "done", {"approved": "not yet", "unknown": "not known"}.get(entry.status, "nothing")
    if entry.problem:
        yield "because", str(entry.problem.get("message", entry.problem))
    if entry.note:
        yield "note", entry.note


def _seen(preview: Preview) -> Iterable[tuple[str, ...]]:
    return (row for heading, rows in sections(preview) if heading in {"Changes", "Money"} for row in rows)
