"""Writes that meet each other, on real connections behind barriers: one effect each, and never half of one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from erp_mcp.contract import JsonObject, Preview, WriteAnswer
from erp_mcp.errors import ErpError
from erp_mcp.store.tables import operations, stock_moves
from tests.integration.small_erp import (
    OPEN,
    Host,
    at_once,
    balanced_host,
    everything,
    preview,
    run,
    stock_of,
    verifier,
)

CANCEL: JsonObject = {"order_id": OPEN, "reason": "ordered by mistake"}
ADJUST: JsonObject = {"sku": "A-1", "delta": -5, "reason": "count"}
CREATE: JsonObject = {"customer": "ACME", "lines": [{"sku": "A-1", "quantity": 3}]}
WRITES = [("cancel_order", CANCEL), ("adjust_stock", ADJUST), ("create_order", CREATE)]


@pytest.fixture
def host(erp_url: str, tmp_path: Path) -> Iterator[Host]:
    """The small ERP and a host that may sign for it; whatever a test did, the books must balance afterwards."""
    with balanced_host(erp_url, tmp_path) as opened:
        yield opened


@pytest.mark.guarantee("once")
@pytest.mark.parametrize(("tool", "arguments"), WRITES)
def test_one_grant_raced_by_eight_threads_has_one_effect(
    host: Host, tmp_path: Path, tool: str, arguments: JsonObject
) -> None:
    """Real connections behind a barrier: one executes, the others get its receipt."""
    check = verifier(host, tmp_path)
    token = host.grant(preview(host, check, tool, arguments))
    answers = at_once(*[lambda: run(host, check, tool, arguments, token)] * 8)
    receipts = [answer.receipt for answer in answers if isinstance(answer, WriteAnswer) and answer.receipt]
    assert sorted(receipt.status for receipt in receipts) == ["already_executed"] * 7 + ["executed"]
    assert len({receipt.model_dump_json(exclude={"status"}) for receipt in receipts}) == 1
    with host.erp.store.read() as tx:
        assert tx.connection.scalar(sa.select(sa.func.count()).select_from(operations)) == 1


@pytest.mark.guarantee("once")
def test_two_approvals_of_one_tool_call_have_one_effect(host: Host, tmp_path: Path) -> None:
    """Whatever the rounds: the call is the same, so the second approval gets the first one's receipt."""
    check = verifier(host, tmp_path)
    shown = preview(host, check, "create_order", CREATE)
    tokens = [host.grant(shown, call="one-call") for _ in range(2)]
    answers = at_once(*[lambda t=t: run(host, check, "create_order", CREATE, t) for t in tokens])
    numbers = {a.receipt.result["order_id"] for a in answers if isinstance(a, WriteAnswer) and a.receipt}
    assert len(numbers) == 1
    with pytest.raises(ErpError) as refused:
        run(host, check, "create_order", CREATE | {"note": "other"}, host.grant(shown, call="one-call"))
    assert refused.value.code == "grant_mismatch"


@pytest.mark.guarantee("E3")
def test_the_last_one_is_sold_once(host: Host, tmp_path: Path) -> None:
    """Two customers, two approvals, one unit: one order, one insufficient_stock that names what is short."""
    check = verifier(host, tmp_path)
    wanted = [{"customer": c, "lines": [{"sku": "LAST", "quantity": 1}]} for c in ("ACME", "ZWEI")]
    tokens = [host.grant(preview(host, check, "create_order", arguments)) for arguments in wanted]
    answers = at_once(
        *[lambda a=a, t=t: run(host, check, "create_order", a, t) for a, t in zip(wanted, tokens, strict=True)]
    )
    (error,) = [answer for answer in answers if isinstance(answer, ErpError)]
    assert error.code == "insufficient_stock"
    assert error.details["shortages"] == [{"sku": "LAST", "name": "The last one", "requested": "1", "available": "0"}]
    assert stock_of(host.erp.store, "LAST") == (1_000, 1_000)


@pytest.mark.guarantee("E4")
def test_two_adjustments_at_once_both_count_or_one_asks_again(host: Host, tmp_path: Path) -> None:
    """−5 and −3 on 100: one of them is stale, asks again on what the other left, and 92 remain with two moves."""
    check = verifier(host, tmp_path)
    wanted: list[JsonObject] = [{"sku": "A-1", "delta": d, "reason": "count"} for d in (-5, -3)]
    tokens = [host.grant(preview(host, check, "adjust_stock", arguments)) for arguments in wanted]
    answers = at_once(
        *[lambda a=a, t=t: run(host, check, "adjust_stock", a, t) for a, t in zip(wanted, tokens, strict=True)]
    )
    (late,) = [i for i, answer in enumerate(answers) if isinstance(answer, ErpError)]
    error = answers[late]
    assert isinstance(error, ErpError)
    assert error.code == "stale_version"
    fresh = Preview.model_validate(error.details["preview"])
    run(host, check, "adjust_stock", wanted[late], host.grant(fresh))
    assert stock_of(host.erp.store, "A-1")[0] == 92_000
    with host.erp.store.read() as tx:
        adjusted = sa.select(sa.func.count()).where(stock_moves.c.kind == "adjustment")
        assert tx.connection.scalar(adjusted) == 2


@pytest.mark.guarantee("E5")
def test_a_line_that_ran_short_after_approval_leaves_the_others_untouched(host: Host, tmp_path: Path) -> None:
    """The shortage appears at execution: the whole order is refused, and nothing of it stays."""
    check = verifier(host, tmp_path)
    both: JsonObject = {"customer": "ACME", "lines": [{"sku": "A-1", "quantity": 1}, {"sku": "LAST", "quantity": 1}]}
    token = host.grant(preview(host, check, "create_order", both))
    last: JsonObject = {"customer": "ZWEI", "lines": [{"sku": "LAST", "quantity": 1}]}
    run(host, check, "create_order", last, host.grant(preview(host, check, "create_order", last)))
    before = everything(host.erp.store)
    with pytest.raises(ErpError) as refused:
        run(host, check, "create_order", both, token)
    assert refused.value.code == "insufficient_stock"
    assert everything(host.erp.store) == before
