"""A small ERP that a test knows by heart, a host that signs for it, and what was in its tables before and after."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from fastmcp import Client

from erp_mcp.app import Erp, build_erp
from erp_mcp.contract import META_GRANT, BatchCall, JsonObject, Preview, WriteAnswer
from erp_mcp.domain.lookup import match_key
from erp_mcp.domain.orders import twin_key
from erp_mcp.errors import ErpError
from erp_mcp.grants import Grant, Signer, Verifier, load_or_create_key
from erp_mcp.operations.execute import batch
from erp_mcp.store.engine import Store, create_database, open_store
from erp_mcp.store.invariants import check_invariants
from erp_mcp.store.tables import (
    customers,
    metadata,
    order_lines,
    orders,
    price_tiers,
    products,
    stock,
    stock_moves,
    warehouses,
)
from erp_mcp.store.transaction import Tx

OPEN: Final = "SO20260102-1001"
SHIPPED: Final = "SO20260102-1002"
START: Final = datetime(2026, 1, 2, 9, 0, tzinfo=UTC)

PRODUCTS: Final = {  # sku: name, price in cents, currency, places, discontinued, on hand in thousandths
    "A-1": ("Apples", 1000, "USD", 0, False, 100_000),
    "B-2": ("Flour by the kilo", 333, "USD", 3, False, 50_000),
    "LAST": ("The last one", 500, "USD", 0, False, 1_000),
    "DEAD": ("Discontinued", 700, "USD", 0, True, 9_000),
    "EURO": ("Priced in euro", 900, "EUR", 0, False, 9_000),
    "NONE": ("Kept nowhere", 900, "USD", 0, False, None),
}
CUSTOMERS: Final = {"ACME": ("Acme Ltd", "USD"), "ZWEI": ("Zwei GmbH", "USD"), "EURC": ("Euro Corp", "EUR")}


def make_small_erp(url: str) -> None:
    """Two orders of ACME (one open, one shipped), six products, tiers on A-1: from 10 10 %, from 50 20 %."""
    create_database(url)
    store = open_store(url)
    with store.write() as tx:
        _insert_things(tx)
        _insert_order(tx, OPEN, "confirmed", [("A-1", 20_000), ("B-2", 2_500)])
        _insert_order(tx, SHIPPED, "shipped", [("A-1", 1_000)])
    store.close()


def _insert_things(tx: Tx) -> None:
    run = tx.connection.execute
    run(sa.insert(warehouses), [{"code": "MAIN", "name": "Main"}, {"code": "EAST", "name": "East"}])
    for customer_id, (name, currency) in CUSTOMERS.items():
        address = {"line1": f"1 {name} Street", "city": "Town", "country": "UK"}
        keys = {"id_key": match_key(customer_id), "name_key": match_key(name)}
        run(sa.insert(customers).values(id=customer_id, name=name, address=address, currency=currency, **keys))
    for sku, (name, price, currency, places, dead, on_hand) in PRODUCTS.items():
        keys = {"sku_key": match_key(sku), "name_key": match_key(name)}
        run(
            sa.insert(products).values(
                sku=sku, name=name, unit_price_minor=price, currency=currency, quantity_places=places,
                discontinued=dead, **keys,
            )
        )  # fmt: skip
        if on_hand is not None:
            run(sa.insert(stock).values(sku=sku, warehouse="MAIN", on_hand_milli=on_hand))
            run(
                sa.insert(stock_moves).values(
                    sku=sku, warehouse="MAIN", kind="opening", on_hand_delta_milli=on_hand, at=START
                )
            )
    tiers = [{"sku": "A-1", "min_quantity_milli": q, "discount_bp": d} for q, d in ((10_000, 1000), (50_000, 2000))]
    run(sa.insert(price_tiers), tiers)


def _insert_order(tx: Tx, order_id: str, status: str, lines: Sequence[tuple[str, int]]) -> None:
    run = tx.connection.execute
    run(
        sa.insert(orders).values(
            id=order_id, source_id=order_id[-4:], source_key=order_id[-4:], customer_id="ACME", status=status,
            currency="USD", warehouse="MAIN", total_minor=1000 * len(lines), line_count=len(lines), placed_at=START,
            business_date="2026-01-02", ship_to={"line1": "x"}, twin_key=twin_key("ACME", lines),
        )
    )  # fmt: skip
    for n, (sku, milli) in enumerate(lines, start=1):
        run(
            sa.insert(order_lines).values(
                order_id=order_id, line_no=n, sku=sku, name=PRODUCTS[sku][0], quantity_milli=milli,
                unit_price_minor=PRODUCTS[sku][1], net_unit_price_minor=PRODUCTS[sku][1], amount_minor=1000,
            )
        )  # fmt: skip
        if status == "confirmed":
            reserved = stock.c.reserved_milli + milli
            run(sa.update(stock).where(stock.c.sku == sku).values(reserved_milli=reserved))
            run(
                sa.insert(stock_moves).values(
                    sku=sku, warehouse="MAIN", kind="reserve", reserved_delta_milli=milli, order_id=order_id, at=START
                )
            )


@dataclass
class Host:
    """A host with the ERP's key: previews, signs what was previewed, and sends it again with the grant."""

    erp: Erp
    signer: Signer
    count: int = 0

    def grant(self, preview: Preview, *, approval: str = "", call: str = "") -> str:
        """A token for a preview; every approval is its own tool call unless told otherwise."""
        self.count += 1
        approval = approval or f"approval-{self.count}"
        grant = Grant(approval, call or f"call-of-{approval}", preview.tool, preview.digest, "andrew", "nancy")
        return self.signer.sign(grant, self.erp.instance_id)


def open_host(url: str, home: Path, **wiring: Any) -> Host:
    """The ERP of a database with its key under ``home``."""
    key = home / "approval.key"
    erp = build_erp(url, key_path=key, **wiring)
    return Host(erp, Signer(load_or_create_key(key)))


async def ask(client: Client[Any], tool: str, grant: object = None, **arguments: Any) -> tuple[bool, JsonObject]:
    """Call a tool over MCP: whether it refused, and its answer: an error's stands in the text alone."""
    return await send(client, tool, arguments, {} if grant is None else {META_GRANT: grant})


async def send(
    client: Client[Any], tool: str, arguments: JsonObject, meta: Mapping[str, object]
) -> tuple[bool, JsonObject]:
    """The raw request, with any ``_meta``."""
    answer = await client.session.call_tool(tool, arguments, meta=dict(meta) or None)
    (content,) = answer.content
    body: JsonObject = json.loads(content.text)  # type: ignore[union-attr]
    assert answer.structuredContent == (None if answer.isError else body)
    return bool(answer.isError), body


async def preview_of(client: Client[Any], tool: str, **arguments: Any) -> Preview:
    """The preview that a call without a grant answers."""
    refused, answer = await ask(client, tool, **arguments)
    assert not refused, answer
    assert answer["status"] == "approval_required"
    return Preview.model_validate(answer["preview"])


def everything(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, for a comparison of before and after."""
    with store.read() as tx:
        return {
            table.name: sorted((tuple(row) for row in tx.connection.execute(sa.select(table))), key=repr)
            for table in metadata.sorted_tables
        }


def stock_of(store: Store, sku: str) -> tuple[int, int]:
    """On hand and reserved in MAIN, in thousandths."""
    with store.read() as tx:
        row = tx.connection.execute(sa.select(stock).where(stock.c.sku == sku, stock.c.warehouse == "MAIN")).one()
        return row.on_hand_milli, row.reserved_milli


@contextmanager
def balanced_host(url: str, home: Path) -> Iterator[Host]:
    """The small ERP, made and opened; on leaving, its invariants must hold."""
    make_small_erp(url)
    host = open_host(url, home)
    yield host
    with host.erp.store.read() as tx:
        assert check_invariants(tx) == []
    host.erp.close()


def verifier(host: Host, home: Path) -> Verifier:
    """The ERP's own check, for calls that do not go over MCP."""
    return Verifier(load_or_create_key(home / "approval.key"), host.erp.instance_id)


def run(host: Host, check: Verifier, tool: str, arguments: JsonObject, token: str | None = None) -> WriteAnswer:
    """One call, in this thread and on its own connection."""
    calls = [BatchCall(tool=tool, arguments=arguments)]
    return batch(host.erp.store, check, host.erp.registry, calls, None if token is None else [token])[0]


def at_once(*jobs: Callable[[], WriteAnswer]) -> list[WriteAnswer | ErpError]:
    """Run jobs in threads that all stand at one barrier first."""
    barrier = threading.Barrier(len(jobs))

    def start(job: Callable[[], WriteAnswer]) -> WriteAnswer | ErpError:
        barrier.wait()
        try:
            return job()
        except ErpError as error:
            return error

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(start, jobs))


def preview(host: Host, check: Verifier, tool: str, arguments: JsonObject) -> Preview:
    """The preview of one call."""
    found = run(host, check, tool, arguments).preview
    assert found is not None
    return found
