"""What 74 real customer requests of tau2 should lead to, put through preview, approval and execution over MCP."""

import json
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
import sqlalchemy as sa
from fastmcp import Client

from erp_mcp.contract import JsonObject
from erp_mcp.domain.money import money_string
from erp_mcp.importers.tau2 import load_tau2
from erp_mcp.store.engine import Store, create_database, open_store
from erp_mcp.store.invariants import check_invariants
from erp_mcp.store.tables import customers, order_lines, orders, returns
from tests.integration.small_erp import Host, ask, open_host, preview_of
from tests.shared_data import data_folder

EXCEPTIONS: Final = {
    ("110", 1): ("nothing_to_change", "the customer's address is that one already: there is nothing to sign"),
}
"""Calls that are not executed here, by request and place of the call in it, with the refusal's code and the reason."""

Write = tuple[str, JsonObject]


def requests() -> list[Any]:
    """Every request as a test's parameter; none where the data is not there (the first test says so)."""
    try:
        path = data_folder("tau2_retail") / "write_actions.json"
    except (pytest.skip.Exception, pytest.fail.Exception):
        return []
    return [pytest.param(request, id=request["id"]) for request in json.loads(path.read_text()) if request["writes"]]


@dataclass
class Shop:
    """What tau2's own rules make of its data: an independent model, in the source's terms.

    Args:
        prices: of items, today.
        orders: number → status, items as ordered with their prices, address, items that came back.
        addresses: of users.
        placed: items and total of orders sent in exchange, by user.
    """

    prices: dict[str, Decimal]
    orders: dict[str, JsonObject]
    addresses: dict[str, JsonObject]
    placed: list[tuple[str, Counter[str]]] = field(default_factory=list)

    @classmethod
    def of(cls, source: JsonObject) -> "Shop":
        variants = {v["item_id"]: v for product in source["products"].values() for v in product["variants"].values()}
        return cls(
            {item: variant["price"] for item, variant in variants.items()},
            {
                number: {
                    "user": order["user_id"],
                    "status": STATUS[order["status"]],
                    "items": Counter(item["item_id"] for item in order["items"]),
                    "total": sum(item["price"] for item in order["items"]),
                    "address": address_of(order["address"]),
                    "returned": Counter(),
                    "refunded": Decimal(0),
                }
                for number, order in source["orders"].items()
            },
            {user["user_id"]: address_of(user["address"]) for user in source["users"].values()},
        )

    def apply(self, name: str, given: JsonObject) -> None:
        """One write, as tau2 means it."""
        order = self.orders.get(given.get("order_id", ""), {})
        if name == "cancel_pending_order":
            order["status"] = "cancelled"
        elif name == "modify_pending_order_address":
            order["address"] = address_of(given)
        elif name == "modify_user_address":
            self.addresses[given["user_id"]] = address_of(given)
        elif name == "modify_pending_order_items":
            order["items"] = order["items"] - Counter(given["item_ids"]) + Counter(given["new_item_ids"])
            order["total"] += self._worth(given["new_item_ids"]) - self._worth(given["item_ids"])
        else:
            order["returned"] += Counter(given["item_ids"])
            order["refunded"] += self._worth(given["item_ids"])
            if name == "exchange_delivered_order_items":
                self.placed.append((order["user"], Counter(given["new_item_ids"])))

    def _worth(self, items: list[str]) -> Decimal:
        return sum((self.prices[item] for item in items), Decimal(0))


STATUS: Final = {"pending": "confirmed", "processed": "shipped", "delivered": "completed", "cancelled": "cancelled"}


def address_of(given: JsonObject) -> JsonObject:
    """The source's address in our fields, without its empty ones."""
    fields = {
        "line1": "address1", "line2": "address2", "city": "city", "region": "state", "postal_code": "zip",
        "country": "country",
    }  # fmt: skip
    return {ours: given[theirs] for ours, theirs in fields.items() if given[theirs]}


def as_lines(items: Counter[str]) -> list[JsonObject]:
    return [{"sku": sku, "quantity": n} for sku, n in items.items()]


def as_call(shop: Shop, name: str, given: JsonObject) -> Write:
    """The tool of ours, and its arguments, for one write of the source."""
    number = given.get("order_id")
    match name:
        case "cancel_pending_order":
            return "cancel_order", {"order_id": number, "reason": given["reason"]}
        case "modify_pending_order_items":
            after = shop.orders[str(number)]["items"] - Counter(given["item_ids"]) + Counter(given["new_item_ids"])
            return "update_order", {"order_id": number, "lines": as_lines(after)}
        case "modify_pending_order_address":
            return "update_order", {"order_id": number, "ship_to": address_of(given)}
        case "modify_user_address":
            return "update_customer", {"customer": given["user_id"], "address": address_of(given)}
        case "return_delivered_order_items" | "exchange_delivered_order_items":
            back = {"order_id": number, "lines": as_lines(Counter(given["item_ids"])), "reason": "the customer asked"}
            new = given.get("new_item_ids")
            return "request_return", back if new is None else back | {"exchange_for": as_lines(Counter(new))}
    raise AssertionError(name)


@pytest.fixture(scope="module")
def source() -> JsonObject:
    path = data_folder("tau2_retail") / "db.json"
    content: JsonObject = json.loads(path.read_text(), parse_float=Decimal)
    return content


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop's database, loaded once; tests get copies."""
    path = tmp_path_factory.mktemp("tau2") / "erp.db"
    create_database(f"sqlite:///{path}")
    store = open_store(f"sqlite:///{path}")
    load_tau2(store, data_folder("tau2_retail"))
    store.close()
    return path


@pytest.fixture
async def host(loaded: Path, tmp_path: Path) -> AsyncIterator[Host]:
    """The shop with a host that signs for it."""
    shutil.copy(loaded, tmp_path / "erp.db")
    opened = open_host(f"sqlite:///{tmp_path / 'erp.db'}", tmp_path)
    yield opened
    opened.erp.close()


def state_of(store: Store) -> tuple[dict[str, JsonObject], dict[str, JsonObject], list[tuple[str, Counter[str]]]]:
    """What the database says, in the model's terms: orders, addresses, orders placed in exchange."""
    with store.read() as tx:
        assert check_invariants(tx) == []
        refunds: dict[str, int] = Counter()
        for row in tx.connection.execute(sa.select(returns)):
            refunds[row.order_id] += row.refund_minor
        items: dict[str, Counter[str]] = {}
        back: dict[str, Counter[str]] = {}
        for line in tx.connection.execute(sa.select(order_lines)):
            items.setdefault(line.order_id, Counter())[line.sku] += line.quantity_milli // 1000
            if line.returned_milli:
                back.setdefault(line.order_id, Counter())[line.sku] += line.returned_milli // 1000
        found = tx.connection.execute(sa.select(orders)).all()
        addresses = {row.id: row.address for row in tx.connection.execute(sa.select(customers))}
    imported = {
        row.source_id: {
            "user": row.customer_id,
            "status": row.status,
            "items": items[row.id],
            "total": Decimal(money_string(row.total_minor, row.currency)),
            "address": {name: value for name, value in row.ship_to.items() if value},
            "returned": back.get(row.id, Counter()),
            "refunded": Decimal(money_string(refunds[row.id], row.currency)),
        }
        for row in found
        if row.source_id
    }
    placed = [(row.customer_id, items[row.id]) for row in sorted(found, key=lambda r: str(r.id)) if not row.source_id]
    return imported, addresses, placed


def test_the_requests_are_all_there() -> None:
    """74 requests with 120 writes, of six kinds."""
    data_folder("tau2_retail")
    found = [write for (request,) in (param.values for param in requests()) for write in request["writes"]]
    assert len(found) == 120
    assert len({write["name"] for write in found}) == 6


@pytest.mark.parametrize("request_", requests())
async def test_a_request_ends_in_the_state_that_it_asks_for(request_: Any, host: Host, source: JsonObject) -> None:
    """Every order, customer and exchange is what tau2's own rules make of it, and nothing else has changed."""
    shop = Shop.of(source)
    async with Client(host.erp.server) as client:
        for place, write in enumerate(request_["writes"]):
            tool, arguments = as_call(shop, write["name"], write["arguments"])
            if (request_["id"], place) in EXCEPTIONS:
                refused, answer = await ask(client, tool, **arguments)
                assert refused
                assert answer["error"]["code"] == EXCEPTIONS[request_["id"], place][0]
            else:
                preview = await preview_of(client, tool, **arguments)
                refused, answer = await ask(client, tool, host.grant(preview), **arguments)
                assert not refused, answer
                assert answer["status"] == "executed"
            shop.apply(write["name"], write["arguments"])
    found, addresses, placed = state_of(host.erp.store)
    assert found == shop.orders
    assert addresses == shop.addresses
    assert sorted(map(repr, placed)) == sorted(map(repr, shop.placed))


def test_every_exception_has_a_reason_and_is_a_real_call() -> None:
    """The table names calls that there are; that they are refused, and change nothing, is shown above."""
    known = {(request["id"], n) for (request,) in (p.values for p in requests()) for n in range(len(request["writes"]))}
    assert EXCEPTIONS.keys() <= known
    assert all(code and reason for code, reason in EXCEPTIONS.values())
