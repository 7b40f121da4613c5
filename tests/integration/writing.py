"""Writes over MCP in one step, and what happens to orders outside of every tool: shipping, new prices."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from fastmcp import Client

from erp_mcp.contract import JsonObject, Preview
from erp_mcp.store.engine import Store
from erp_mcp.store.tables import order_lines, orders, products, stock, stock_moves
from tests.integration.small_erp import Host, ask, preview_of


@dataclass
class Desk:
    """A client and the host that signs for it."""

    host: Host
    client: Client[Any]

    async def preview(self, tool: str, **arguments: Any) -> Preview:
        """What a write would do."""
        return await preview_of(self.client, tool, **arguments)

    async def sign(self, shown: Preview) -> tuple[bool, JsonObject]:
        """Execute what a preview showed: whether it was refused, and the answer."""
        return await ask(self.client, shown.tool, self.host.grant(shown), **shown.arguments)

    async def write(self, tool: str, **arguments: Any) -> JsonObject:
        """Preview, sign and execute; the receipt's result."""
        refused, answer = await self.sign(await self.preview(tool, **arguments))
        assert not refused, answer
        assert answer["status"] == "executed"
        result: JsonObject = answer["receipt"]["result"]
        return result

    async def refusal(self, tool: str, **arguments: Any) -> JsonObject:
        """The error of a call that must be refused before anybody is asked."""
        refused, answer = await ask(self.client, tool, **arguments)
        assert refused, answer
        error: JsonObject = answer["error"]
        return error

    async def read(self, tool: str, **arguments: Any) -> JsonObject:
        """A read tool's answer."""
        refused, answer = await ask(self.client, tool, **arguments)
        assert not refused, answer
        return answer

    async def order(self, *lines: tuple[str, object], customer: str = "ACME") -> str:
        """Place an order; its number."""
        wanted = [{"sku": sku, "quantity": quantity} for sku, quantity in lines]
        return str((await self.write("create_order", customer=customer, lines=wanted))["order_id"])

    async def delivered(self, *lines: tuple[str, object], status: str = "completed") -> str:
        """Place an order and ship it; its number."""
        number = await self.order(*lines)
        ship(self.host.erp.store, number, status)
        return number


@asynccontextmanager
async def at_desk(host: Host) -> AsyncIterator[Desk]:
    """A desk with a connected client."""
    async with Client(host.erp.server) as client:
        yield Desk(host, client)


def lines(*wanted: tuple[str, object]) -> list[JsonObject]:
    """Lines as a caller writes them."""
    return [{"sku": sku, "quantity": quantity} for sku, quantity in wanted]


def ship(store: Store, order_id: str, status: str = "completed") -> None:
    """What a warehouse does: the goods leave, and with them their reservation."""
    with store.write() as tx:
        run = tx.connection.execute
        order = run(sa.select(orders).where(orders.c.id == order_id)).one()
        for line in run(sa.select(order_lines).where(order_lines.c.order_id == order_id)).all():
            here = sa.and_(stock.c.sku == line.sku, stock.c.warehouse == order.warehouse)
            run(
                sa.update(stock)
                .where(here)
                .values(
                    on_hand_milli=stock.c.on_hand_milli - line.quantity_milli,
                    reserved_milli=stock.c.reserved_milli - line.quantity_milli,
                    version=stock.c.version + 1,
                )
            )
            run(
                sa.insert(stock_moves).values(
                    sku=line.sku, warehouse=order.warehouse, kind="shipment", order_id=order_id, at=tx.now,
                    on_hand_delta_milli=-line.quantity_milli, reserved_delta_milli=-line.quantity_milli,
                )
            )  # fmt: skip
        run(sa.update(orders).where(orders.c.id == order_id).values(status=status, version=orders.c.version + 1))


def set_price(store: Store, sku: str, cents: int) -> None:
    """A new list price."""
    with store.write() as tx:
        tx.connection.execute(sa.update(products).where(products.c.sku == sku).values(unit_price_minor=cents))


def money_of(shown: Preview) -> dict[str, Decimal]:
    """A preview's amounts by label."""
    return {amount.label: Decimal(amount.amount) for amount in shown.money}


def changes_of(shown: Preview) -> dict[tuple[str, str], tuple[str, str]]:
    """A preview's changes by target and field: before and after."""
    return {(change.target, change.field): (change.before, change.after) for change in shown.changes}
