"""Northwind behind a real MCP client, and its CSV files as pandas reads them: the other way to the same figures."""

from collections.abc import AsyncIterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import jsonschema_rs
import pandas as pd
import pytest
from fastmcp import Client

from erp_mcp.contract import JsonObject
from erp_mcp.importers.northwind import SHIPPED, load_northwind
from erp_mcp.store.engine import Store, create_database, open_store
from tests.integration.small_erp import Host, ask, open_host


class Shop:
    """One client's view of the ERP.

    Args:
        host: the ERP and its key.
        client: a connected client.
    """

    def __init__(self, host: Host, client: Client[Any]) -> None:
        self.host = host
        self.client = client
        self._schemas: dict[str, JsonObject] = {}

    @property
    def store(self) -> Store:
        """The database behind it, for a test to change."""
        return self.host.erp.store

    async def call(self, tool: str, **arguments: Any) -> JsonObject:
        """An answer, checked against the schema that the server lists for it."""
        if not self._schemas:
            self._schemas = {item.name: item.outputSchema or {} for item in await self.client.list_tools()}
        refused, answer = await ask(self.client, tool, **arguments)
        assert not refused, answer
        jsonschema_rs.validate(self._schemas[tool], answer)
        return answer

    async def refusal(self, tool: str, **arguments: Any) -> JsonObject:
        """The error of a call that must be refused."""
        refused, answer = await ask(self.client, tool, **arguments)
        assert refused, answer
        error: JsonObject = answer["error"]
        return error

    async def all_items(self, tool: str, **arguments: Any) -> list[JsonObject]:
        """The items of all pages; every page agrees on the total, and together they are that many."""
        page = await self.call(tool, **arguments)
        items = list(page["items"])
        while "next_cursor" in page:
            page = await self.call(tool, cursor=page["next_cursor"], **arguments)
            assert page["returned"] == len(page["items"]) > 0
            items += page["items"]
        assert len(items) == page["total"]
        return items


@pytest.fixture
async def shop(erp_url: str, tmp_path: Path) -> AsyncIterator[Shop]:
    """Northwind, freshly loaded, on SQLite and on PostgreSQL."""
    create_database(erp_url)
    store = open_store(erp_url)
    load_northwind(store)
    store.close()
    host = open_host(erp_url, tmp_path)
    async with Client(host.erp.server) as client:
        yield Shop(host, client)
    host.erp.close()


def northwind_lines() -> pd.DataFrame:
    """One row per order line with its amount (Decimal), and customer, country, day, product and category beside it."""
    tables = {name: pd.read_csv(SHIPPED / f"{name}.csv", dtype=str, keep_default_na=False) for name in _TABLES}
    customers = tables["Customers"].assign(CustomerID=lambda t: t["CustomerID"].str.strip())
    orders = tables["Orders"].assign(CustomerID=lambda t: t["CustomerID"].str.strip())
    products = tables["Products"].merge(tables["Categories"], on="CategoryID")
    lines = (
        tables["OrderDetails"]
        .merge(orders[["OrderID", "CustomerID", "OrderDate"]], on="OrderID")
        .merge(customers[["CustomerID", "Country"]], on="CustomerID")
        .merge(products[["ProductID", "CategoryName"]], on="ProductID")
    )
    lines["day"] = lines["OrderDate"].str[:10]
    lines["sku"] = "NW-" + lines["ProductID"].str.zfill(3)
    exact = [
        Decimal(price) * Decimal(quantity) * (1 - Decimal(discount))
        for price, quantity, discount in zip(lines["UnitPrice"], lines["Quantity"], lines["Discount"], strict=True)
    ]
    lines["amount"] = [amount.quantize(Decimal("0.01"), ROUND_HALF_UP) for amount in exact]
    lines["units"] = lines["Quantity"].astype(int)
    return lines


_TABLES = ("Customers", "Orders", "OrderDetails", "Products", "Categories")
