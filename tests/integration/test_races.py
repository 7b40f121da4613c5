"""Writes on the same rows at the same moment, from threads with their own connections: sums add up."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa

from erp_mcp.contract import JsonObject, WriteAnswer
from erp_mcp.errors import ErpError
from erp_mcp.grants import Verifier
from erp_mcp.store.tables import customers, operations, order_lines, orders, returns, stock_moves
from tests.integration.small_erp import OPEN, Host, at_once, balanced_host, preview, run, stock_of, verifier
from tests.integration.writing import lines, ship

Write = tuple[str, JsonObject]
CANCEL: Final[Write] = ("cancel_order", {"order_id": OPEN, "reason": "ordered by mistake"})
ROUNDS: Final = 30
"""A write that is asked again has met another one that was done, so nobody needs more rounds than there are writes."""


@pytest.fixture
def host(erp_url: str, tmp_path: Path) -> Iterator[Host]:
    """The small ERP and a host that may sign for it; whatever a race did, the books must balance afterwards."""
    with balanced_host(erp_url, tmp_path) as opened:
        yield opened


@pytest.fixture
def check(host: Host, tmp_path: Path) -> Verifier:
    """What the ERP checks grants with."""
    return verifier(host, tmp_path)


def once(host: Host, check: Verifier, write: Write) -> Callable[[], WriteAnswer]:
    """A write that was previewed and signed before the race; only its execution is in it."""
    token = signed(host, check, write)
    return lambda: run(host, check, *write, token)


def until_done(host: Host, check: Verifier, write: Write) -> Callable[[], WriteAnswer]:
    """A write that is previewed and signed again as often as it is stale, as a patient approver would."""

    def start() -> WriteAnswer:
        for _ in range(ROUNDS):
            try:
                return run(host, check, *write, signed(host, check, write))
            except ErpError as error:
                if error.code != "stale_version":
                    raise
        raise AssertionError(f"{write} was stale {ROUNDS} times")

    return start


def signed(host: Host, check: Verifier, write: Write) -> str:
    """A grant under a number of its own: the host's counter is not made for threads."""
    name = secrets.token_hex(8)
    return host.grant(preview(host, check, *write), approval=name, call=f"call-{name}")


def outcomes(answers: Sequence[WriteAnswer | ErpError]) -> list[str]:
    """Each answer's status or code, sorted."""
    return sorted(answer.code if isinstance(answer, ErpError) else answer.status for answer in answers)


def count(host: Host, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> int:
    """How many rows there are."""
    with host.erp.store.read() as tx:
        return tx.connection.scalar(sa.select(sa.func.count()).select_from(table).where(*conditions)) or 0


@pytest.mark.guarantee("E2")
def test_an_order_that_many_cancel_at_once_is_cancelled_once(host: Host, check: Verifier) -> None:
    """Eight approvals: one releases the stock, and seven hear that it is done already."""
    answers = at_once(*[once(host, check, CANCEL) for _ in range(8)])
    assert outcomes(answers) == ["already_cancelled"] * 7 + ["executed"]
    assert stock_of(host.erp.store, "A-1") == (100_000, 0)
    assert count(host, stock_moves, stock_moves.c.kind == "release") == 2  # one for each of its two SKUs


@pytest.mark.guarantee("E3", "E5")
def test_orders_that_race_for_the_last_goods_get_what_there_is(host: Host, check: Verifier) -> None:
    """Eight orders for 124 apples, and 80 are left: who is short reserves nothing, not even the flour beside them."""
    wanted = [("create_order", {"customer": "ZWEI", "lines": lines(("B-2", 1), ("A-1", 12 + n))}) for n in range(8)]
    answers = at_once(*[once(host, check, write) for write in wanted])
    placed = [
        answer.receipt.result["order_id"] for answer in answers if isinstance(answer, WriteAnswer) and answer.receipt
    ]
    assert outcomes(answers) == ["executed"] * len(placed) + ["insufficient_stock"] * (8 - len(placed))
    assert 4 <= len(set(placed)) == len(placed) < 8
    with host.erp.store.read() as tx:
        sold = sa.select(sa.func.sum(order_lines.c.quantity_milli)).where(order_lines.c.order_id.in_(placed))
        apples = int(tx.connection.scalar(sold.where(order_lines.c.sku == "A-1")) or 0)
    assert stock_of(host.erp.store, "A-1") == (100_000, 20_000 + apples)
    assert stock_of(host.erp.store, "B-2") == (50_000, 2_500 + 1_000 * len(placed))
    assert 80_000 - apples < 19_000  # nobody was refused who could have been served


@pytest.mark.guarantee("E4", "stale-asks-again")
def test_adjustments_at_once_all_count_once_they_were_asked_again(host: Host, check: Verifier) -> None:
    """Each was seen on what the others had left; none is lost and none counts twice."""
    deltas = [-5, -3, 7, -11, 2, 4]
    wanted = [("adjust_stock", {"sku": "A-1", "delta": delta, "reason": "count"}) for delta in deltas]
    answers = at_once(*[once(host, check, write) for write in wanted])
    assert outcomes(answers) == ["executed"] + ["stale_version"] * 5
    late = [write for write, answer in zip(wanted, answers, strict=True) if isinstance(answer, ErpError)]
    assert outcomes(at_once(*[until_done(host, check, write) for write in late])) == ["executed"] * 5
    assert stock_of(host.erp.store, "A-1") == (100_000 + 1_000 * sum(deltas), 20_000)
    assert count(host, stock_moves, stock_moves.c.kind == "adjustment") == 6


def test_an_order_is_changed_or_cancelled_but_never_half_of_each(host: Host, check: Verifier) -> None:
    """Whoever comes second saw an order that is no more; what is reserved is what the first one left."""
    change: Write = ("update_order", {"order_id": OPEN, "lines": lines(("A-1", 30), ("LAST", 1))})
    answers = at_once(once(host, check, change), once(host, check, CANCEL))
    changed = isinstance(answers[0], WriteAnswer)
    assert outcomes(answers) == (["executed", "stale_version"] if changed else ["executed", "not_updatable"])
    assert stock_of(host.erp.store, "A-1") == (100_000, 30_000 if changed else 0)
    assert stock_of(host.erp.store, "LAST") == (1_000, 1_000 if changed else 0)
    assert stock_of(host.erp.store, "B-2") == (50_000, 0)


def test_changes_of_one_order_at_once_do_not_mix(host: Host, check: Verifier) -> None:
    """One whole list of lines wins; the others are asked again on top of it, one after the other."""
    wanted: list[Write] = [
        ("update_order", {"order_id": OPEN, "lines": lines(("A-1", n), ("B-2", n))}) for n in range(1, 7)
    ]
    assert outcomes(at_once(*[once(host, check, write) for write in wanted])) == ["executed"] + ["stale_version"] * 5
    at_once(*[until_done(host, check, write) for write in wanted])
    with host.erp.store.read() as tx:
        its = sa.select(order_lines.c.quantity_milli).where(order_lines.c.order_id == OPEN)
        quantities = list(tx.connection.scalars(its))
    assert len(quantities) == 2
    assert len(set(quantities)) == 1


def test_goods_are_returned_no_oftener_than_they_were_bought(host: Host, check: Verifier) -> None:
    """Five bought, four times two to return: two returns, two refusals, and refunds for four."""
    placed = until_done(host, check, ("create_order", {"customer": "ZWEI", "lines": lines(("A-1", 5))}))()
    assert placed.receipt is not None
    number = placed.receipt.result["order_id"]
    ship(host.erp.store, number)
    two: Write = ("request_return", {"order_id": number, "lines": lines(("A-1", 2)), "reason": "broken"})
    assert outcomes(at_once(*[once(host, check, two) for _ in range(3)])) == ["executed"] + ["stale_version"] * 2
    answers = at_once(*[until_done(host, check, two) for _ in range(3)])
    assert outcomes(answers) == ["executed"] + ["return_exceeds_order"] * 2
    assert stock_of(host.erp.store, "A-1") == (99_000, 20_000)
    with host.erp.store.read() as tx:
        refunds = list(tx.connection.scalars(sa.select(returns.c.refund_minor).where(returns.c.order_id == number)))
        line = tx.connection.execute(sa.select(order_lines).where(order_lines.c.order_id == number)).one()
    assert (refunds, line.returned_milli) == ([2_000, 2_000], 4_000)


def test_a_customer_that_many_change_at_once_has_one_whole_value_of_each(host: Host, check: Verifier) -> None:
    """Phone and e-mail address come from the same change, the last one; each change raised the version."""
    wanted: list[Write] = [
        ("update_customer", {"customer": "ACME", "phone": str(n), "email": f"{n}@acme.example"}) for n in range(5)
    ]
    assert outcomes(at_once(*[until_done(host, check, write) for write in wanted])) == ["executed"] * 5
    with host.erp.store.read() as tx:
        row = tx.connection.execute(sa.select(customers).where(customers.c.id == "ACME")).one()
    assert (row.email, row.version) == (f"{row.phone}@acme.example", 6)


@pytest.mark.guarantee("once")
def test_all_writes_at_once_add_up(host: Host, check: Verifier) -> None:
    """Every tool on the same product from as many threads: what is on hand is what each of them did, added up."""
    placed = until_done(host, check, ("create_order", {"customer": "ZWEI", "lines": lines(("A-1", 6))}))()
    assert placed.receipt is not None
    bought = placed.receipt.result["order_id"]
    ship(host.erp.store, bought)
    back: JsonObject = {"order_id": bought, "lines": lines(("A-1", 1)), "reason": "broken"}
    wanted: list[Write] = [
        ("adjust_stock", {"sku": "A-1", "delta": 4, "reason": "count"}),
        ("adjust_stock", {"sku": "A-1", "delta": -1, "reason": "count"}),
        ("create_order", {"customer": "ACME", "lines": lines(("A-1", 2))}),
        ("update_order", {"order_id": OPEN, "lines": lines(("A-1", 25))}),
        ("request_return", back),
        ("request_return", back | {"exchange_for": lines(("A-1", 3))}),
        ("update_customer", {"customer": "ZWEI", "phone": "1"}),
    ]
    answers = at_once(*[until_done(host, check, write) for write in wanted])
    assert outcomes(answers) == ["executed"] * len(wanted)
    assert stock_of(host.erp.store, "A-1") == (100_000 - 6_000 + 4_000 - 1_000 + 2_000, 25_000 + 2_000 + 3_000)
    assert count(host, operations) == 1 + len(wanted)
    assert count(host, orders) == 2 + 1 + 2
    with host.erp.store.read() as tx:
        refunded = tx.connection.scalar(sa.select(sa.func.sum(returns.c.refund_minor)))
    assert int(refunded or 0) == 2_000
