"""Finding one row by what a person typed (DESIGN section 6): as typed first, else exact after ``match_key``.

Never a substring and never a guess: what fits several is ``ambiguous``, and suggestions are only shown.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import sqlalchemy as sa
from rapidfuzz import process

from erp_mcp.contract import JsonObject
from erp_mcp.domain.lookup import match_key
from erp_mcp.errors import ErpError
from erp_mcp.store.prepared import Prepared, Row
from erp_mcp.store.tables import customers, orders, products, stock, warehouses
from erp_mcp.store.transaction import Tx

DEFAULT_WAREHOUSE: Final = "MAIN"
MAX_CANDIDATES: Final = 10
MAX_SUGGESTIONS: Final = 3
SUGGESTED_FROM: Final = 5000
"""Rows that are compared for suggestions; a help after a failure must not cost a scan of everything."""

_ORDERS = Prepared(
    sa.select(orders, customers.c.name.label("customer_name"))
    .join(customers, customers.c.id == orders.c.customer_id)
    .where(
        sa.or_(
            orders.c.id.in_([sa.bindparam("as_typed"), sa.bindparam("upper")]),
            orders.c.source_key == sa.bindparam("key"),
        )
    )
    .order_by(orders.c.id)
)
_PRODUCTS = Prepared(sa.select(products).where(products.c.sku_key == sa.bindparam("key")).order_by(products.c.sku))
_CUSTOMERS = Prepared(
    sa.select(customers)
    .where(sa.or_(customers.c.id_key == sa.bindparam("key"), customers.c.name_key == sa.bindparam("key")))
    .order_by(customers.c.id)
)
_CUSTOMER_BY_ID = Prepared(sa.select(customers).where(customers.c.id == sa.bindparam("id")))
_WAREHOUSES = Prepared(sa.select(warehouses).order_by(warehouses.c.code))
_STOCK = Prepared(
    sa.select(stock).where(stock.c.sku == sa.bindparam("sku"), stock.c.warehouse == sa.bindparam("warehouse"))
)


def find_order(tx: Tx, ref: str, *, customer: str | None = None) -> Row:
    """The order of this number, or of this number where it was imported from; its customer's name stands beside it.

    Args:
        tx: the transaction.
        ref: ``SO19960704-10248``, ``10248``, ``#W2378156``.
        customer: id of the customer whose orders there are; None is everybody's.

    Raises:
        ErpError: ``order_not_found``, ``ambiguous``.
    """
    key = match_key(ref)
    # Our own numbers are upper case, so upper() stands for a key column of theirs.
    rows = tx.rows(_ORDERS, as_typed=ref, upper=key.upper(), key=key)
    theirs = [row for row in rows if customer in (None, row.customer_id)]
    found = _one(theirs, ref, lambda row: ref in (row.id, row.source_id), _order_candidate)
    if found is None:
        hint = "Call list_orders to find it by customer, product or day, or ask the user for the number."
        raise ErpError("order_not_found", f"There is no order {ref!r}.", hint)
    return found


def find_product(tx: Tx, sku: str) -> Row:
    """The product of this SKU.

    Raises:
        ErpError: ``product_not_found`` (with ``suggestions`` in its details), ``ambiguous``.
    """
    rows = tx.rows(_PRODUCTS, key=match_key(sku))
    found = _one(rows, sku, lambda row: bool(row.sku == sku), lambda row: {"sku": row.sku, "name": row.name})
    if found is None:
        near = _suggestions(tx, sku, products.c.sku, products.c.name)
        hint = "Ask the user for the exact SKU, or which of the suggestions is meant."
        raise ErpError("product_not_found", f"There is no product with SKU {sku!r}.", hint, suggestions=near)
    return found


def find_customer(tx: Tx, ref: str) -> Row:
    """The customer of this id or exact name.

    Raises:
        ErpError: ``customer_not_found`` (with ``suggestions`` in its details), ``ambiguous``.
    """
    rows = tx.rows(_CUSTOMERS, key=match_key(ref))
    found = _one(rows, ref, lambda row: ref in (row.id, row.name), _customer_candidate)
    if found is None:
        raise customer_not_found(ref, _suggestions(tx, ref, customers.c.id, customers.c.name))
    return found


def find_customer_by_id(tx: Tx, customer_id: str) -> Row | None:
    """The customer of exactly this id."""
    return tx.row(_CUSTOMER_BY_ID, id=customer_id)


def customer_not_found(ref: str, suggestions: Sequence[str] = ()) -> ErpError:
    """The error for a customer who is not there, in one place, so that it says the same to everybody."""
    hint = "Ask the user for the customer's id or exact name, or which of the suggestions is meant."
    return ErpError(
        "customer_not_found", f"There is no customer {ref!r}.", hint,
        personal=("suggestions",), suggestions=list(suggestions),
    )  # fmt: skip


def find_warehouse(tx: Tx, code: str | None) -> Row:
    """The warehouse of this code; without one, the main warehouse, or the only one.

    Raises:
        ErpError: ``warehouse_not_found`` (with all ``warehouses`` in its details), ``ambiguous``.
    """
    rows = tx.rows(_WAREHOUSES)
    if code is None:
        default = [row for row in rows if row.code == DEFAULT_WAREHOUSE] or rows
        found = _one(default, "(no warehouse given)", lambda row: False, _warehouse_candidate)
    else:
        same = [row for row in rows if match_key(row.code) == match_key(code)]
        found = _one(same, code, lambda row: bool(row.code == code), _warehouse_candidate)
    if found is None:
        named = "There is no warehouse yet" if code is None else f"There is no warehouse {code!r}"
        codes = [row.code for row in rows[:MAX_CANDIDATES]]
        hint = "Leave the warehouse out for the main one, or ask the user which of the warehouses is meant."
        raise ErpError("warehouse_not_found", f"{named}.", hint, warehouses=codes)
    return found


def find_stock(tx: Tx, sku: str, warehouse: str | None = None) -> Row:
    """The stock of a product in one warehouse.

    Args:
        tx: the transaction.
        sku: as typed.
        warehouse: as typed; the main one, or the only one, if left out.

    Raises:
        ErpError: ``product_not_found``, ``warehouse_not_found``, ``ambiguous``; ``stock_not_found`` where the product
            is not kept in that warehouse.
    """
    return stock_of(tx, find_product(tx, sku), warehouse)


def stock_of(tx: Tx, product: Row, warehouse: str | None = None) -> Row:
    """The stock of a product that was found already; otherwise as ``find_stock``."""
    place = find_warehouse(tx, warehouse)
    row = tx.row(_STOCK, sku=product.sku, warehouse=place.code)
    if row is None:
        message = f"{product.sku} ({product.name}) is not kept in warehouse {place.code}."
        raise ErpError("stock_not_found", message, f"Call get_stock with sku {product.sku} to see where it is kept.")
    return row


def _one(
    rows: Sequence[Row], ref: str, as_typed: Callable[[Row], bool], candidate: Callable[[Row], JsonObject]
) -> Row | None:
    """The single row that fits; those that fit as typed come before those that only fit by key."""
    fitting = [row for row in rows if as_typed(row)] or rows
    if len(fitting) > 1:
        raise ErpError(
            "ambiguous",
            f"{ref!r} fits {len(fitting)} rows.",
            "Ask the user which of the candidates is meant, and call again with its id or code.",
            personal=("candidates",) if candidate is _customer_candidate else (),
            candidates=[candidate(row) for row in fitting[:MAX_CANDIDATES]],
            count=len(fitting),
        )
    return fitting[0] if fitting else None


def _suggestions(tx: Tx, ref: str, code: sa.Column[Any], name: sa.Column[Any]) -> list[str]:
    rows = tx.connection.execute(sa.select(code, name).order_by(code).limit(SUGGESTED_FROM)).all()
    labels = [f"{row[0]} ({row[1]})" for row in rows]
    near: dict[str, float] = {}
    for position in (0, 1):
        choices = [match_key(row[position]) for row in rows]
        for _, score, at in process.extract(match_key(ref), choices, limit=MAX_SUGGESTIONS, score_cutoff=70):
            near[labels[at]] = max(score, near.get(labels[at], 0))
    return sorted(near, key=lambda label: (-near[label], label))[:MAX_SUGGESTIONS]


def _order_candidate(row: Row) -> JsonObject:
    return {"order_id": row.id, "customer_id": row.customer_id, "status": row.status, "date": row.business_date}


def _customer_candidate(row: Row) -> JsonObject:
    return {"customer_id": row.id, "name": row.name, "country": row.country}


def _warehouse_candidate(row: Row) -> JsonObject:
    return {"warehouse": row.code, "name": row.name}
