"""Changing how a customer is reached; the values are personal data, for the approver and for nobody else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.store.tables import customers
from tests.integration.small_erp import Host, balanced_host, everything
from tests.integration.writing import at_desk, changes_of, lines

ADDRESS = {"line1": "2 Side Street", "city": "Paris", "postal_code": "75001", "country": "France"}
PHONE, EMAIL = "+44 20 7946 0000", "orders@acme.example"


@pytest.fixture
def host(erp_url: str, tmp_path: Path) -> Iterator[Host]:
    """The small ERP, with a customer who can be reached."""
    with balanced_host(erp_url, tmp_path) as opened:
        with opened.erp.store.write() as tx:
            reached = {"phone": "0171 555", "email": "old@acme.example", "country": "UK"}
            tx.connection.execute(sa.update(customers).where(customers.c.id == "ACME").values(reached))
        yield opened


async def test_each_value_is_shown_before_and_after_and_what_is_not_given_stays(host: Host) -> None:
    """Field by field; the country by which sales are added up follows the address; the version rises."""
    async with at_desk(host) as desk:
        shown = await desk.preview("update_customer", customer="acme ltd", address=ADDRESS, phone=f" {PHONE} ")
        assert changes_of(shown) == {
            ("ACME", "address, line1"): ("1 Acme Ltd Street", "2 Side Street"),
            ("ACME", "address, city"): ("Town", "Paris"),
            ("ACME", "address, postal code"): ("", "75001"),
            ("ACME", "address, country"): ("UK", "France"),
            ("ACME", "phone"): ("0171 555", PHONE),
        }
        assert shown.warnings == [
            "1 open order keeps the address it was placed with; update_order changes an order's own."
        ]
        assert (shown.targets[0].id, shown.targets[0].version) == ("ACME", 1)
        await desk.sign(shown)
        found = await desk.read("get_customer", customer="ACME")
        assert found["address"] | ADDRESS == found["address"]
        assert (found["phone"], found["email"], found["country"], found["version"]) == (
            PHONE, "old@acme.example", "France", 2,
        )  # fmt: skip
        order = await desk.read("get_order", order_id=await desk.order(("A-1", 1)))
        assert order["ship_to"]["city"] == "Paris"
        await desk.write("update_customer", customer="ACME", email=EMAIL)
        assert (await desk.read("get_customer", customer="ACME"))["email"] == EMAIL


async def test_personal_data_is_shown_to_the_approver_only(host: Host) -> None:
    """Summary, receipt and refusals, which a model reads, say which values change and never the values."""
    async with at_desk(host) as desk:
        shown = await desk.preview("update_customer", customer="ACME", address=ADDRESS, phone=PHONE, email=EMAIL)
        _, answer = await desk.sign(shown)
        error = await desk.refusal("update_customer", customer="ACME", address=ADDRESS, phone=PHONE, email=EMAIL)
    assert answer["receipt"]["result"] == {
        "customer_id": "ACME", "customer": "Acme Ltd", "changed": ["address", "phone", "email"], "version": 2,
    }  # fmt: skip
    assert error["code"] == "nothing_to_change"
    read_by_models = f"{shown.summary} {answer['receipt']['result']} {error}"
    for value in (*ADDRESS.values(), PHONE, EMAIL, "0171 555", "old@acme.example", "1 Acme Ltd Street"):
        assert value not in read_by_models


async def test_the_values_before_take_a_change_back(host: Host) -> None:
    """What the preview calls reversible is, by the call that it names."""
    async with at_desk(host) as desk:
        before = await desk.read("get_customer", customer="ACME")
        shown = await desk.preview("update_customer", customer="ACME", address=ADDRESS, phone=PHONE, email=EMAIL)
        assert (shown.reversibility.kind, "update_customer" in shown.reversibility.how) == ("reversible", True)
        await desk.sign(shown)
        old = {"phone": before["phone"], "email": before["email"]}
        address = {name: value for name, value in before["address"].items() if value}
        await desk.write("update_customer", customer="ACME", address=address, **old)
        after = await desk.read("get_customer", customer="ACME")
    assert after | {"version": 1} == before


async def test_what_was_empty_cannot_be_emptied_again_and_the_preview_says_so(host: Host) -> None:
    """No value is removed by a tool, so filling an empty one is compensable, not reversible."""
    async with at_desk(host) as desk:
        shown = await desk.preview("update_customer", customer="ZWEI", phone=PHONE)
    assert shown.reversibility.kind == "compensable"
    assert "phone was empty" in shown.reversibility.how


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "nothing_to_change"),
        ({"phone": "0171 555", "email": "old@acme.example "}, "nothing_to_change"),
        ({"address": {"line1": "1 Acme Ltd Street", "city": "Town", "country": "UK"}}, "nothing_to_change"),
        ({"customer": "nobody", "phone": PHONE}, "customer_not_found"),
        ({"address": {"line1": "x", "city": "y"}}, "invalid_argument"),
        ({"address": "2 Side Street"}, "invalid_argument"),
        ({"phone": " "}, "invalid_argument"),
        ({"phone": "1" * 51}, "invalid_argument"),
        ({"name": "New Name"}, "invalid_argument"),
        *(
            ({"email": wrong}, "invalid_argument")
            for wrong in (
                "acme", "@acme.example", "a@b", "a b@acme.example", "a@acme..example", "a@b@acme.example", "a@acme.",
                "Acme <a@acme.example>", "a@acme.example, b@acme.example", "a@acme.example\nbcc: x@y.example",
            )
        ),
    ],
)  # fmt: skip
async def test_a_change_that_cannot_be_made_is_refused_before_anybody_is_asked(
    host: Host, arguments: JsonObject, code: str
) -> None:
    """A wrong value is named; nothing to change is said; no table changes."""
    before = everything(host.erp.store)
    async with at_desk(host) as desk:
        error = await desk.refusal("update_customer", **({"customer": "ACME"} | arguments))
    assert (error["code"], bool(error["hint"])) == (code, True)
    assert everything(host.erp.store) == before


@pytest.mark.guarantee("stale-asks-again")
async def test_two_approved_changes_do_not_overwrite_each_other(host: Host) -> None:
    """The second was seen on the version before: it asks again, with the first one's value as before."""
    async with at_desk(host) as desk:
        first = await desk.preview("update_customer", customer="ACME", phone=PHONE)
        second = await desk.preview("update_customer", customer="ACME", phone="1")
        await desk.sign(first)
        refused, answer = await desk.sign(second)
    assert (refused, answer["error"]["code"]) == (True, "stale_version")
    assert answer["error"]["preview"]["changes"] == [
        {"target": "ACME", "field": "phone", "before": PHONE, "after": "1"}
    ]


async def test_an_order_that_waits_is_asked_again_when_its_address_moves(host: Host) -> None:
    """It was approved for the old address: the customer's own address is a fact of a new order."""
    async with at_desk(host) as desk:
        shown = await desk.preview("create_order", customer="ACME", lines=lines(("A-1", 1)))
        await desk.write("update_customer", customer="ACME", address=ADDRESS)
        refused, answer = await desk.sign(shown)
    assert (refused, answer["error"]["code"]) == (True, "stale_version")
