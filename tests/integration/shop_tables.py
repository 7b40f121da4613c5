"""The ERP's tables and the model of them, side by side."""

from typing import Any

import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.domain.lookup import match_key
from erp_mcp.store.engine import Store
from erp_mcp.store.tables import (
    customers,
    metadata,
    order_lines,
    orders,
    price_tiers,
    products,
    return_lines,
    stock,
    stock_moves,
    warehouses,
)
from tests.integration.shop_model import CUSTOMERS, PRICES, STOCK, TIERS, Shop, address_of


def seed(store: Store) -> None:
    """Empty every table, and put there what the model begins with."""
    with store.write() as tx:
        run = tx.connection.execute
        for table in reversed(metadata.sorted_tables):
            if table.name != "meta":
                run(sa.delete(table))
        run(sa.insert(warehouses), [{"code": code, "name": code} for code in ("MAIN", "EAST")])
        for name in CUSTOMERS:
            keys = {"id_key": match_key(name), "name_key": match_key(name)}
            run(sa.insert(customers).values(id=name, name=name, address=address_of(name), currency="USD", **keys))
        for sku, price in PRICES.items():
            keys = {"sku_key": match_key(sku), "name_key": match_key(sku)}
            places = 3 if sku == "B" else 0
            values = {"unit_price_minor": int(price * 100), "currency": "USD", "quantity_places": places}
            run(sa.insert(products).values(sku=sku, name=sku, **values, **keys))
        for (sku, warehouse), amount in STOCK.items():
            run(sa.insert(stock).values(sku=sku, warehouse=warehouse, on_hand_milli=amount * 1000))
            move = {"sku": sku, "warehouse": warehouse, "kind": "opening", "on_hand_delta_milli": amount * 1000}
            run(sa.insert(stock_moves).values(move | {"at": tx.now}))
        for sku, tiers in TIERS.items():
            for start, percent in tiers:
                values = {"min_quantity_milli": start * 1000, "discount_bp": percent * 100}
                run(sa.insert(price_tiers).values(sku=sku, **values))


def kept(store: Store) -> JsonObject:
    """What the ERP's tables say, in the model's words."""
    with store.read() as tx:
        run = tx.connection.execute
        lines: dict[str, list[Any]] = {}
        refunds = {
            (row.order_id, row.line_no): int(row.minor)
            for row in run(
                sa.select(
                    return_lines.c.order_id,
                    return_lines.c.line_no,
                    sa.func.sum(return_lines.c.amount_minor).label("minor"),
                ).group_by(return_lines.c.order_id, return_lines.c.line_no)
            )
        }
        for row in run(sa.select(order_lines).order_by(order_lines.c.order_id, order_lines.c.line_no)):
            refunded = refunds.get((row.order_id, row.line_no), 0)
            lines.setdefault(row.order_id, []).append(
                (row.sku, row.quantity_milli, row.net_unit_price_minor, row.amount_minor, row.returned_milli, refunded)
            )
        return {
            "orders": {
                row.id: (row.customer_id, row.warehouse, row.status, row.version, row.note, row.ship_to, lines[row.id])
                for row in run(sa.select(orders))
            },
            "stock": {
                (row.sku, row.warehouse): (row.on_hand_milli, row.reserved_milli, row.version)
                for row in run(sa.select(stock))
            },
            "customers": {row.id: (row.address, row.phone, row.version) for row in run(sa.select(customers))},
        }


def expected(shop: Shop) -> JsonObject:
    """The same from the model."""

    def lines(number: str) -> list[Any]:
        order = shop.orders[number]
        counted = zip(order.lines, order.returned, order.refunded, strict=True)
        return [
            (line.sku, line.quantity * 1000, line.net * 100, line.amount * 100, returned * 1000, refunded * 100)
            for line, returned, refunded in counted
        ]

    return {
        "orders": {
            number: (o.customer, o.warehouse, o.status, o.version, o.note, o.address, lines(number))
            for number, o in shop.orders.items()
        },
        "stock": {
            place: (spot.on_hand * 1000, spot.reserved * 1000, spot.version) for place, spot in shop.stock.items()
        },
        "customers": {name: (p["address"], p["phone"], p["version"]) for name, p in shop.people.items()},
    }
