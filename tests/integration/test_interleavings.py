"""All writes, previewed now and executed later, twice or too late, in any order, against a model in plain Python."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from erp_mcp.contract import BatchCall, JsonObject, Preview, Receipt, WriteAnswer
from erp_mcp.errors import ErpError
from erp_mcp.grants import Verifier
from erp_mcp.operations.execute import batch
from erp_mcp.store.engine import create_database
from erp_mcp.store.invariants import check_invariants
from erp_mcp.store.tables import products
from tests.integration.shop_model import CUSTOMERS, PRICES, Planned, Refused, Shop, address_of
from tests.integration.shop_tables import expected, kept, seed
from tests.integration.small_erp import Host, open_host, verifier
from tests.integration.writing import ship

EXAMPLES: Final = {"sqlite": 15, "postgresql": 6}
STEPS: Final = 100
ANY: Final = 5

skus = st.sampled_from(sorted(PRICES))
line = st.one_of(
    st.builds(lambda sku, n: {"sku": sku, "quantity": n}, skus, st.sampled_from(["1", "2", "3"])),
    st.sampled_from([{"sku": "A", "quantity": "11"}, {"sku": "B", "quantity": "0.125"}]),
)
some_lines = st.lists(line, min_size=1, max_size=3)
position = st.integers(0, 7)
places = st.sampled_from(["MAIN", "MAIN", "MAIN", "EAST"])
soon = st.booleans()
"""Whether a call is executed right after it was looked at."""


def wish(tool: str, *, optional: JsonObject | None = None, **arguments: Any) -> st.SearchStrategy[Any]:
    """A tool with arguments; ``at`` stands for an order, which is chosen when there are orders."""
    drawn = {
        name: value if isinstance(value, st.SearchStrategy) else st.just(value) for name, value in arguments.items()
    }
    return st.tuples(st.just(tool), st.fixed_dictionaries(drawn, optional=optional or {}))


wishes = st.one_of(
    wish("create_order", customer=st.sampled_from(CUSTOMERS), lines=some_lines, warehouse=places),
    wish(
        "update_order",
        at=position,
        keep=st.booleans(),  # the lines that there are, with those to be added to them
        optional={"lines": some_lines, "note": st.sampled_from(["", "ring"])},
    ),
    wish("cancel_order", at=position, reason="mistake"),
    wish("adjust_stock", sku=skus, delta=st.sampled_from(["-9", "-2", "1", "5"]), warehouse=places, reason="count"),
    wish(
        "request_return",
        at=position,
        lines=st.sampled_from(["one of each", "all"]) | some_lines,
        reason="broken",
        optional={"exchange_for": some_lines},
    ),
    wish(
        "update_customer",
        customer=st.sampled_from(CUSTOMERS),
        phone=st.sampled_from("12"),
        optional={"address": st.sampled_from([address_of("old"), address_of("new")])},
    ),
)


@dataclass
class Seen:
    """Calls that were previewed together, what the model then thought of them, and their receipts once executed."""

    name: str
    calls: list[BatchCall]
    previews: list[Preview]
    planned: list[Any]
    receipts: list[Receipt] = field(default_factory=list)


class Writes(RuleBasedStateMachine):
    """The ERP and the model do the same; after each step they are the same."""

    host: Host
    check: Verifier
    shop = Shop()
    """The class's, since the ERP's clock is the model's."""

    def __init__(self) -> None:
        super().__init__()
        Writes.shop = Shop()
        self.seen: list[Seen] = []
        self.count = 0
        seed(self.host.erp.store)

    @initialize()
    def some_orders(self) -> None:
        """Three open ones and two that have left."""
        for apples, flour in ((12, 1), (2, 3), (3, 2), (1, 2), (11, 1)):
            quantities = {"A": apples, "B": flour}
            lines = [{"sku": sku, "quantity": str(quantity)} for sku, quantity in quantities.items()]
            ordered = {"customer": "ANNA", "lines": lines}
            self.look(BatchCall(tool="create_order", arguments=ordered), now=True)
        for at in (2, 3):
            self.goods_leave(at, "completed")

    @rule(wanted=wishes, now=soon)
    def write(self, wanted: Any, now: bool) -> None:
        self.look(self.call(*wanted), now=now)

    @rule(first=wishes, second=wishes, now=soon)
    def write_together(self, first: Any, second: Any, now: bool) -> None:
        self.look(self.call(*first), self.call(*second), now=now)

    @precondition(lambda self: any(not seen.receipts for seen in self.seen))
    @rule(at=position)
    def execute_later(self, at: int) -> None:
        """What waits, however long since it was looked at."""
        waiting = [seen for seen in self.seen if not seen.receipts]
        self.execute(waiting[at % len(waiting)])

    @precondition(lambda self: any(seen.receipts for seen in self.seen))
    @rule(at=position, other=st.booleans())
    def execute_twice(self, at: int, other: bool) -> None:
        """What was done; ``other`` under another approval of the same tool calls."""
        done = [seen for seen in self.seen if seen.receipts]
        self.execute(done[at % len(done)], other=other)

    def execute(self, seen: Seen, *, other: bool = False) -> None:
        """Sign and send; the model says what must come of it."""
        answers = self.send(seen, other)
        if seen.receipts:
            assert isinstance(answers, list)
            assert [answer.status for answer in answers] == ["already_executed"] * len(seen.calls)
            assert [answer.receipt.result for answer in answers if answer.receipt] == [r.result for r in seen.receipts]
            return
        changed = copy.deepcopy(self.shop)
        planned, numbers, code = follow(changed, seen.calls)
        if code or planned != seen.planned[: len(planned)]:
            assert isinstance(answers, ErpError)
            stale = next(
                (i for i, (new, old) in enumerate(zip(planned, seen.planned, strict=False)) if new != old), None
            )
            assert answers.code == ("stale_version" if stale is not None else code)
            return
        assert isinstance(answers, list), answers
        seen.receipts = [answer.receipt for answer in answers if answer.receipt]
        for receipt, given_numbers in zip(seen.receipts, numbers, strict=True):
            assert given_numbers.items() <= receipt.result.items()
        Writes.shop = changed

    @rule(at=position, status=st.sampled_from(["shipped", "completed"]))
    def goods_leave(self, at: int, status: str) -> None:
        number = self.number(at, "confirmed")
        open_orders = [order for order in self.shop.orders.values() if order.status == "confirmed"]
        if self.shop.orders[number] in open_orders and len(open_orders) > 2:
            self.shop.ship(number, status)
            ship(self.host.erp.store, number, status)

    @rule(sku=skus, cents=st.integers(1, 2000))
    def reprice(self, sku: str, cents: int) -> None:
        self.shop.prices[sku] = Decimal(cents) / 100
        self.product(sku, unit_price_minor=cents)

    @rule(sku=skus, gone=st.booleans())
    def retire(self, sku: str, gone: bool) -> None:
        (self.shop.retired.add if gone else self.shop.retired.discard)(sku)
        self.product(sku, discontinued=gone)

    @rule(hours=st.sampled_from([1, 25]))
    def wait(self, hours: int) -> None:
        self.shop.now += timedelta(hours=hours)

    @invariant()
    def the_erp_is_what_the_model_is(self) -> None:
        with self.host.erp.store.read() as tx:
            assert check_invariants(tx) == []
        assert kept(self.host.erp.store) == expected(self.shop)

    def call(self, tool: str, arguments: JsonObject) -> BatchCall:
        """A wish with an order in it."""
        if "at" not in arguments:
            return BatchCall(tool=tool, arguments=arguments)
        number = self.number(arguments["at"], "completed" if tool == "request_return" else "confirmed")
        rest = {name: value for name, value in arguments.items() if name not in ("at", "keep")}
        bought = self.shop.orders[number].quantities()
        whole = [{"sku": sku, "quantity": str(had)} for sku, had in bought.items()]
        if rest.get("lines") in ("all", "one of each"):
            rest["lines"] = whole if rest["lines"] == "all" else [each | {"quantity": "1"} for each in whole]
        elif arguments.get("keep") and "lines" in rest:
            rest["lines"] = [*whole, *rest["lines"]]
        return BatchCall(tool=tool, arguments=rest | {"order_id": number})

    def look(self, *wanted: BatchCall, now: bool) -> None:
        """Preview calls, and execute them if that is to be now; the model must think the same, down to the money."""
        planned, _, code = follow(copy.deepcopy(self.shop), wanted)
        try:
            answers = batch(self.host.erp.store, self.check, self.host.erp.registry, wanted, None)
        except ErpError as error:
            assert error.code == code  # noqa: PT017 - the model tells whether there must be one
            return
        assert code == ""
        previews = [answer.preview for answer in answers if answer.preview]
        assert [[abs(Decimal(m.amount)) for m in p.money] for p in previews] == [
            [abs(amount) for amount in money] for _, money in planned
        ]
        self.count += 1
        self.seen.append(Seen(f"approval-{self.count}", list(wanted), previews, planned))
        if now:
            self.execute(self.seen[-1])

    def send(self, seen: Seen, other: bool) -> list[WriteAnswer] | ErpError:
        suffix = "-other" if other else ""
        tokens = [
            self.host.grant(preview, approval=f"{seen.name}-{i}{suffix}", call=f"{seen.name}-{i}")
            for i, preview in enumerate(seen.previews)
        ]
        try:
            return batch(self.host.erp.store, self.check, self.host.erp.registry, seen.calls, tokens)
        except ErpError as error:
            return error

    def number(self, at: int, status: str) -> str:
        """An order of this status; one position, and all of them where there is none, mean any order."""
        every = sorted(self.shop.orders)
        wanted = [number for number in every if self.shop.orders[number].status == status and at != ANY]
        return (wanted or every)[at % len(wanted or every)]

    def product(self, sku: str, **values: Any) -> None:
        with self.host.erp.store.write() as tx:
            tx.connection.execute(sa.update(products).where(products.c.sku == sku).values(values))


def follow(shop: Shop, calls: Sequence[BatchCall]) -> tuple[list[Any], list[JsonObject], str]:
    """The model does calls one after the other: facts and money of each, its numbers, and the code that stops it."""
    planned: list[Any] = []
    numbers: list[JsonObject] = []
    for call in calls:
        try:
            plan: Planned = shop.plan(call.tool, call.arguments)
        except Refused as refused:
            return planned, numbers, str(refused)
        planned.append((copy.deepcopy(plan.facts), plan.money))
        numbers.append(plan.do())
    return planned, numbers, ""


@pytest.fixture
def host(erp_url: str, tmp_path: Path) -> Iterator[Host]:
    """An ERP without data whose clock is the model's."""
    create_database(erp_url)
    opened = open_host(erp_url, tmp_path, clock=lambda: Writes.shop.now)
    yield opened
    opened.erp.close()


@pytest.mark.guarantee("once", "stale-asks-again")
def test_any_interleaving_of_all_writes_keeps_every_invariant(host: Host, tmp_path: Path) -> None:
    """Whatever was previewed when, and executed how often: what happens is what the model says, once, or nothing."""
    Writes.host, Writes.check = host, verifier(host, tmp_path)
    run_state_machine_as_test(
        Writes,
        settings=settings(
            max_examples=EXAMPLES["sqlite" if "sqlite" in host.erp.store.url else "postgresql"],
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
