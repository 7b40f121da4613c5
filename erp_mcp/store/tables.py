"""Every table of the ERP. Money is in minor units, quantities in thousandths; both are integers, never floats."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, String, Table, Text

from erp_mcp.domain.lookup import match_key

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def _read_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


class UtcTime(sa.types.TypeDecorator[datetime]):
    """An aware UTC time, kept as text of fixed width: it sorts, compares and reads the same in both databases."""

    impl = String(27)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> str | None:
        if value is None:
            return None
        # isoformat, not strftime: only it writes years before 1000 with four digits.
        return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> datetime | None:
        return _read_time(value)

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> Callable[[str | None], datetime | None]:
        """Without the wrapping of ``process_result_value``, which takes longer than the reading."""
        return _read_time


class SearchKey:
    """Default of a ``search_key`` column: the row's searchable texts as ``match_key`` makes them, one per line.

    Args:
        columns: of the same table, never changed after the row was inserted.
    """

    def __init__(self, *columns: str) -> None:
        self._columns = columns

    def __call__(self, context: Any) -> str:
        """The value for the row that is being inserted."""
        row = context.get_current_parameters()
        return "\n".join(match_key(row.get(column) or "") for column in self._columns)


LOW_STOCK: Final = "reorder_level_milli > 0 AND on_hand_milli - reserved_milli - reorder_level_milli <= 0"
"""At or below the reorder level; a level of 0 is no level. The index and the query must say it in the same words, and
SQLite only recognises a comparison with a constant."""

SERIAL: Final = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers only INTEGER keys by itself."""

meta = Table(
    "meta",
    metadata,
    Column("key", String, primary_key=True),
    Column("value", Text, nullable=False),
    comment="instance_id (the grants' audience), dataset, currency",
)

sequences = Table(
    "sequences",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", BigInteger, nullable=False),
    comment="last number given, per kind and business date",
)

customers = Table(
    "customers",
    metadata,
    Column("id", String, primary_key=True),
    Column("id_key", String, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("name_key", Text, nullable=False, index=True),
    Column("contact", Text, nullable=False, default=""),
    Column("search_key", Text, nullable=False, default=SearchKey("id", "name", "contact")),
    Column("email", Text, nullable=False, default=""),
    Column("phone", Text, nullable=False, default=""),
    Column("address", sa.JSON, nullable=False),
    Column("country", Text, nullable=False, default="", index=True),
    Column("currency", String(3), nullable=False),
    Column("credit_limit_minor", BigInteger),
    Column("version", Integer, nullable=False, default=1),
    CheckConstraint("version > 0", name="version"),
)

products = Table(
    "products",
    metadata,
    Column("sku", String, primary_key=True),
    Column("sku_key", String, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("name_key", Text, nullable=False, index=True),
    Column("category", Text, nullable=False, default="", index=True),
    Column("search_key", Text, nullable=False, default=SearchKey("sku", "name", "category")),
    Column("pack", Text, nullable=False, default="", comment="what one unit is, e.g. '24 - 12 oz bottles'"),
    Column("unit_price_minor", BigInteger, nullable=False),
    Column("currency", String(3), nullable=False),
    Column("quantity_places", Integer, nullable=False, default=0),
    Column("discontinued", sa.Boolean, nullable=False, default=False),
    Column("version", Integer, nullable=False, default=1),
    CheckConstraint("unit_price_minor >= 0", name="price"),
    CheckConstraint("quantity_places BETWEEN 0 AND 3", name="places"),
    CheckConstraint("version > 0", name="version"),
)

price_tiers = Table(
    "price_tiers",
    metadata,
    Column("sku", ForeignKey("products.sku"), primary_key=True),
    Column("min_quantity_milli", BigInteger, primary_key=True),
    Column("discount_bp", Integer, comment="discount off the list price, in hundredths of a percent"),
    Column("unit_price_minor", BigInteger, comment="or a net price"),
    CheckConstraint("(discount_bp IS NULL) <> (unit_price_minor IS NULL)", name="one_kind"),
    CheckConstraint("discount_bp BETWEEN 0 AND 10000", name="discount"),
    CheckConstraint("min_quantity_milli > 0", name="quantity"),
)

warehouses = Table(
    "warehouses", metadata, Column("code", String, primary_key=True), Column("name", Text, nullable=False)
)

stock = Table(
    "stock",
    metadata,
    Column("sku", ForeignKey("products.sku"), primary_key=True),
    Column("warehouse", ForeignKey("warehouses.code"), primary_key=True),
    Column("on_hand_milli", BigInteger, nullable=False, default=0),
    Column("reserved_milli", BigInteger, nullable=False, default=0),
    Column("reorder_level_milli", BigInteger, nullable=False, default=0),
    Column("version", Integer, nullable=False, default=1),
    CheckConstraint("reserved_milli >= 0 AND on_hand_milli >= reserved_milli", name="available"),
    CheckConstraint("version > 0", name="version"),
    Index("ix_stock_low", "warehouse", "sku", sqlite_where=sa.text(LOW_STOCK), postgresql_where=sa.text(LOW_STOCK)),
)

orders = Table(
    "orders",
    metadata,
    Column("id", String, primary_key=True),
    Column("source_id", String, comment="the order's number where it was imported from"),
    Column("source_key", String, index=True, comment="match_key of source_id; an id of ours is its own, in upper case"),
    Column("customer_id", ForeignKey("customers.id"), nullable=False),
    Column("status", String, nullable=False),
    Column("currency", String(3), nullable=False),
    Column("warehouse", ForeignKey("warehouses.code"), nullable=False),
    Column("total_minor", BigInteger, nullable=False),
    Column("line_count", Integer, nullable=False),
    Column("placed_at", UtcTime, nullable=False),
    Column("business_date", String(10), nullable=False),
    Column("ship_to", sa.JSON, nullable=False),
    Column("note", Text, nullable=False, default=""),
    Column("reason", Text, nullable=False, default="", comment="why it was cancelled"),
    Column("carrier", Text, nullable=False, default=""),
    Column("tracking_number", Text, nullable=False, default=""),
    Column("shipped_at", UtcTime),
    Column("twin_key", String(64), nullable=False, comment="hash of customer and lines, to find identical orders"),
    Column("approval_id", String),
    Column("version", Integer, nullable=False, default=1),
    CheckConstraint("status IN ('pending', 'confirmed', 'shipped', 'completed', 'cancelled')", name="status"),
    CheckConstraint("version > 0", name="version"),
    Index("ix_orders_placed_at_id", "placed_at", "id"),
    Index("ix_orders_customer_id_placed_at_id", "customer_id", "placed_at", "id"),
    Index("ix_orders_status_placed_at_id", "status", "placed_at", "id"),
    Index("ix_orders_twin_key_placed_at", "twin_key", "placed_at"),
    Index("ix_orders_customer_id_status", "customer_id", "status"),
)

order_counts = Table(
    "order_counts",
    metadata,
    Column("business_date", String(10), primary_key=True),
    Column("status", String, primary_key=True),
    Column("orders", BigInteger, nullable=False),
    comment="how many orders there are: kept by triggers on orders, so that a total is exact without counting them",
)

order_lines = Table(
    "order_lines",
    metadata,
    Column("order_id", ForeignKey("orders.id"), primary_key=True),
    Column("line_no", Integer, primary_key=True),
    Column("sku", String, nullable=False),
    Column("name", Text, nullable=False),
    Column("quantity_milli", BigInteger, nullable=False),
    Column("unit_price_minor", BigInteger, nullable=False, comment="list price when it was placed"),
    Column("discount_bp", Integer, nullable=False, default=0),
    Column("net_unit_price_minor", BigInteger, nullable=False),
    Column("amount_minor", BigInteger, nullable=False),
    Column("returned_milli", BigInteger, nullable=False, default=0),
    CheckConstraint("quantity_milli > 0", name="quantity"),
    CheckConstraint("returned_milli BETWEEN 0 AND quantity_milli", name="returned"),
    Index("ix_order_lines_sku_order_id", "sku", "order_id"),
)

stock_moves = Table(
    "stock_moves",
    metadata,
    Column("id", SERIAL, primary_key=True, autoincrement=True),
    Column("sku", String, nullable=False),
    Column("warehouse", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("on_hand_delta_milli", BigInteger, nullable=False, default=0),
    Column("reserved_delta_milli", BigInteger, nullable=False, default=0),
    Column("reason", Text, nullable=False, default=""),
    Column("order_id", String, index=True),
    Column("approval_id", String, index=True),
    Column("at", UtcTime, nullable=False),
    CheckConstraint(
        "kind IN ('opening', 'adjustment', 'reserve', 'release', 'shipment', 'return', 'exchange')", name="kind"
    ),
    Index("ix_stock_moves_sku_warehouse_id", "sku", "warehouse", "id"),
    Index("ix_stock_moves_sku_id", "sku", "id"),
    comment="append-only: on hand and reserved are the sums of these rows",
)

returns = Table(
    "returns",
    metadata,
    Column("id", String, primary_key=True),
    Column("order_id", ForeignKey("orders.id"), nullable=False, index=True),
    Column("reason", Text, nullable=False),
    Column("refund_minor", BigInteger, nullable=False),
    Column("currency", String(3), nullable=False),
    Column("exchange_order_id", ForeignKey("orders.id")),
    Column("created_at", UtcTime, nullable=False),
    Column("approval_id", String),
    Column("version", Integer, nullable=False, default=1),
)

return_lines = Table(
    "return_lines",
    metadata,
    Column("return_id", ForeignKey("returns.id"), primary_key=True),
    Column("order_id", String, primary_key=True),
    Column("line_no", Integer, primary_key=True),
    Column("sku", String, nullable=False),
    Column("quantity_milli", BigInteger, nullable=False),
    Column("amount_minor", BigInteger, nullable=False),
)

operations = Table(
    "operations",
    metadata,
    Column("approval_id", String, primary_key=True),
    Column(
        "call", String(64), nullable=False, unique=True, comment="one tool call has one effect, whatever the rounds"
    ),
    Column("tool", String, nullable=False),
    Column("arguments", sa.JSON, nullable=False, comment="normalised"),
    Column("digest", String(64), nullable=False),
    Column("approver", Text, nullable=False),
    Column("requested_by", Text, nullable=False),
    Column("executed_at", UtcTime, nullable=False),
    Column("preview", sa.JSON, nullable=False, comment="what the approver saw"),
    Column("receipt", sa.JSON, nullable=False),
    Column("seq", BigInteger, nullable=False, unique=True, comment="without gaps"),
    Column("previous", String(64), nullable=False, comment="hash of the operation before"),
    Column("hash", String(64), nullable=False),
    comment="append-only: one row per executed approval, written in the effect's own transaction",
)
