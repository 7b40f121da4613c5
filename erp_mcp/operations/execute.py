"""The one way by which anything in the ERP changes: plan, compare with what was signed, apply, record, commit.

To re-verify is to plan again inside the write's own transaction and to compare digests, so there is no list of checks
that somebody could forget. A single call is a batch of one.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import sqlalchemy as sa
from pydantic import BaseModel

from erp_mcp.contract import (
    BatchCall,
    JsonObject,
    Preview,
    Receipt,
    WriteAnswer,
    bound_facts,
    canonical_json,
    digest_of,
)
from erp_mcp.errors import ErpError
from erp_mcp.faults import point
from erp_mcp.grants import Grant, Presented, Verifier
from erp_mcp.operations.effects import apply
from erp_mcp.operations.plan import Plan
from erp_mcp.store.chain import append_operation
from erp_mcp.store.engine import Store
from erp_mcp.store.prepared import Prepared
from erp_mcp.store.tables import operations
from erp_mcp.store.transaction import Tx


class WriteTool(Protocol):
    """What this module needs of a tool; the registry has them."""

    @property
    def name(self) -> str:
        """The tool's name."""

    def parse(self, raw: JsonObject) -> BaseModel:
        """A client's arguments, checked."""

    def normalise(self, arguments: BaseModel) -> JsonObject:
        """The arguments as they are signed."""

    def plan(self, tx: Tx, arguments: BaseModel) -> Plan:
        """What the call would do; reads only."""


class WriteTools(Protocol):
    """Write tools by name."""

    def write(self, name: str) -> WriteTool:
        """The write tool of that name; ``ErpError`` where there is none."""


@dataclass(frozen=True)
class _Call:
    tool: WriteTool
    arguments: BaseModel
    normalised: JsonObject


def batch(
    store: Store, verifier: Verifier, tools: WriteTools, calls: Sequence[BatchCall], grants: Sequence[str] | None
) -> list[WriteAnswer]:
    """Preview calls that belong together, or execute them, all or nothing.

    Args:
        store: the ERP's database.
        verifier: checks grants.
        tools: where the write tools are found.
        calls: in order; each preview and each plan sees the effects of the calls before it.
        grants: one token per call, in the same order; None asks for previews, and nothing is written.

    Returns:
        One answer per call. A call that was executed before comes back with its stored receipt.

    Raises:
        ErpError: what the first call that fails has to say (``index`` in the details, where there are several calls);
            ``grant_invalid``, ``grant_expired``, ``grant_mismatch``; ``stale_version`` with the fresh ``preview``.
            Nothing was done.
    """
    try:
        parsed = [_parse(tools, call, i, len(calls)) for i, call in enumerate(calls)]
    except ErpError:
        done = _done_before(store, verifier, calls, grants or [])
        if done is None:
            raise
        return done
    if not parsed:
        raise ErpError("invalid_argument", "calls is empty.", "Give at least one call.")
    if grants is None:
        return _preview_all(store, parsed)
    if len(grants) != len(parsed):
        raise ErpError(
            "grant_mismatch",
            f"There are {len(grants)} grants for {len(parsed)} calls.",
            "Send one grant per call, in the same order.",
        )
    return _execute_all(store, verifier, parsed, grants)


def _parse(tools: WriteTools, call: BatchCall, index: int, count: int) -> _Call:
    with _named(index, count):
        tool = tools.write(call.tool)
        arguments = tool.parse(call.arguments)
        return _Call(tool, arguments, tool.normalise(arguments))


def _done_before(
    store: Store, verifier: Verifier, calls: Sequence[BatchCall], tokens: Sequence[str]
) -> list[WriteAnswer] | None:
    """The receipts of calls that fit no tool of this release, where another release has executed them all.

    The grants name what was done by approval, call, tool and digest, and the digest binds the arguments; so these need
    not be read.
    """
    if not tokens or len(tokens) != len(calls):
        return None
    answers = []
    with store.read() as tx:
        for call, token in zip(calls, tokens, strict=True):
            grant = verifier.present(token).grant
            row = tx.row(_DONE, approval=grant.approval_id, this_call=grant.call)
            signed = (grant.approval_id, grant.call, grant.tool, grant.digest)
            if row is None or call.tool != grant.tool or (row.approval_id, row.call, row.tool, row.digest) != signed:
                return None
            answers.append(_repeated(Receipt.model_validate(row.receipt)))
    return answers


def _repeated(receipt: Receipt) -> WriteAnswer:
    return WriteAnswer(status="already_executed", receipt=receipt.model_copy(update={"status": "already_executed"}))


def _preview_all(store: Store, calls: Sequence[_Call]) -> list[WriteAnswer]:
    answers = []
    # A lone preview needs no writer's lock; several are applied one after the other, and rolled back.
    with store.read() if len(calls) == 1 else store.dry_run() as tx:
        for i, call in enumerate(calls):
            with _named(i, len(calls)):
                plan, preview = _plan(tx, call)
                if i + 1 < len(calls):
                    _apply(tx, plan, approval_id="")
            answers.append(WriteAnswer(status="approval_required", preview=preview))
    return answers


def _execute_all(store: Store, verifier: Verifier, calls: Sequence[_Call], tokens: Sequence[str]) -> list[WriteAnswer]:
    granted = []
    for i, (call, token) in enumerate(zip(calls, tokens, strict=True)):
        with _named(i, len(calls)):
            granted.append(_granted(verifier, call, token))
    answers = []
    with store.write() as tx:
        point("execute.begin")
        for i, (call, presented) in enumerate(zip(calls, granted, strict=True)):
            with _named(i, len(calls)):
                answers.append(_execute(tx, call, presented))
        point("execute.before_commit")
    point("execute.after_commit")
    return answers


def _granted(verifier: Verifier, call: _Call, token: str) -> Presented:
    """Signature, audience and tool; whether it is still in time matters only if nothing was done yet."""
    presented = verifier.present(token)
    if presented.grant.tool != call.tool.name:
        raise _mismatch(f"The grant is for {presented.grant.tool}, not for {call.tool.name}.")
    return presented


def _execute(tx: Tx, call: _Call, presented: Presented) -> WriteAnswer:
    grant = presented.grant
    done = _already_done(tx, call, grant)
    if done is not None:
        return _repeated(done)
    presented.refuse_expired()
    plan, preview = _plan(tx, call)
    point("execute.planned")
    if preview.digest != grant.digest:
        raise ErpError(
            "stale_version",
            "What was approved is no longer what would happen: something changed since the preview.",
            "Nothing was done. Show the user the fresh preview in the details, and ask for approval again.",
            preview=preview.model_dump(mode="json"),
        )
    result = _apply(tx, plan, grant.approval_id)
    point("execute.applied")
    receipt = Receipt(
        approval_id=grant.approval_id,
        tool=call.tool.name,
        status="executed",
        result=result,
        executed_at=tx.now.isoformat(),
        approver=grant.approver,
        requested_by=grant.requested_by,
    )
    _record(tx, call, grant, preview, receipt)
    return WriteAnswer(status="executed", receipt=receipt)


_DONE = Prepared(
    sa.select(operations).where(
        sa.or_(operations.c.approval_id == sa.bindparam("approval"), operations.c.call == sa.bindparam("this_call"))
    )
)


def _already_done(tx: Tx, call: _Call, grant: Grant) -> Receipt | None:
    """The receipt of this approval, or of another approval of the same tool call.

    Raises:
        ErpError: ``grant_mismatch`` where what was done then is not what is asked for now.
    """
    rows = tx.rows(_DONE, approval=grant.approval_id, this_call=grant.call)
    if not rows:
        return None
    row = next((r for r in rows if r.approval_id == grant.approval_id), rows[0])
    same = (
        row.tool == call.tool.name
        and row.call == grant.call
        and canonical_json(row.arguments) == canonical_json(call.normalised)
        and (row.approval_id != grant.approval_id or row.digest == grant.digest)
    )
    if not same:
        raise _mismatch("This approval, or this tool call, was executed already with something else.")
    return Receipt.model_validate(row.receipt)


def _plan(tx: Tx, call: _Call) -> tuple[Plan, Preview]:
    plan = call.tool.plan(tx, call.arguments)
    targets, changes, money = list(plan.targets), list(plan.changes), list(plan.money)
    facts = bound_facts(call.normalised, targets, changes, money, plan.reversibility, plan.facts)
    return plan, Preview(
        tool=call.tool.name,
        summary=plan.summary,
        arguments=call.normalised,
        targets=targets,
        changes=changes,
        money=money,
        facts=plan.facts,
        context=plan.context,
        warnings=list(plan.warnings),
        reversibility=plan.reversibility,
        digest=digest_of(call.tool.name, facts),
    )


def _apply(tx: Tx, plan: Plan, approval_id: str) -> JsonObject:
    result = dict(plan.result)
    for effect in plan.effects:
        result |= apply(effect, tx, approval_id)
    return result


def _record(tx: Tx, call: _Call, grant: Grant, preview: Preview, receipt: Receipt) -> None:
    append_operation(
        tx,
        {
            "approval_id": grant.approval_id,
            "call": grant.call,
            "tool": call.tool.name,
            "arguments": call.normalised,
            "digest": grant.digest,
            "approver": grant.approver,
            "requested_by": grant.requested_by,
            "executed_at": tx.now,
            "preview": preview.model_dump(mode="json"),
            "receipt": receipt.model_dump(mode="json"),
        },
    )


def _mismatch(message: str) -> ErpError:
    return ErpError(
        "grant_mismatch", message, "Nothing was done. Call the tool without a grant to get a preview for approval."
    )


@contextmanager
def _named(index: int, count: int) -> Iterator[None]:
    """Says which call of several an error belongs to."""
    try:
        yield
    except ErpError as error:
        if count > 1:
            error.details["index"] = index
        raise
