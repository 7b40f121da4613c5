"""The ERP's first tables. A migration is history: it repeats the columns instead of importing them."""

import sqlalchemy as sa
from alembic import op

from erp_mcp.store.migrations.order_count_triggers import create_order_count_triggers

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make every table of the first release. There is no way down: it would destroy the data."""
    _meta_customers_products()
    _stock()
    _orders()
    _order_counts()
    _order_lines()
    _returns()
    _operations()


def _meta_customers_products() -> None:
    op.create_table(
        "meta",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_meta")),
        comment="instance_id (the grants' audience), dataset, currency",
    )
    op.create_table(
        "sequences",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_sequences")),
        comment="last number given, per kind and business date",
    )
    op.create_table(
        "customers",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("id_key", sa.String(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", sa.Text(), nullable=False),
        sa.Column("contact", sa.Text(), nullable=False),
        sa.Column("search_key", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("phone", sa.Text(), nullable=False),
        sa.Column("address", sa.JSON(), nullable=False),
        sa.Column("country", sa.Text(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("credit_limit_minor", sa.BigInteger(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint("version > 0", name=op.f("ck_customers_version")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_customers")),
    )
    op.create_index(op.f("ix_customers_country"), "customers", ["country"], unique=False)
    op.create_index(op.f("ix_customers_id_key"), "customers", ["id_key"], unique=False)
    op.create_index(op.f("ix_customers_name_key"), "customers", ["name_key"], unique=False)
    op.create_table(
        "products",
        sa.Column("sku", sa.String(), nullable=False),
        sa.Column("sku_key", sa.String(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("name_key", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("search_key", sa.Text(), nullable=False),
        sa.Column("pack", sa.Text(), nullable=False, comment="what one unit is, e.g. '24 - 12 oz bottles'"),
        sa.Column("unit_price_minor", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("quantity_places", sa.Integer(), nullable=False),
        sa.Column("discontinued", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint("quantity_places BETWEEN 0 AND 3", name=op.f("ck_products_places")),
        sa.CheckConstraint("unit_price_minor >= 0", name=op.f("ck_products_price")),
        sa.CheckConstraint("version > 0", name=op.f("ck_products_version")),
        sa.PrimaryKeyConstraint("sku", name=op.f("pk_products")),
    )
    op.create_index(op.f("ix_products_category"), "products", ["category"], unique=False)
    op.create_index(op.f("ix_products_name_key"), "products", ["name_key"], unique=False)
    op.create_index(op.f("ix_products_sku_key"), "products", ["sku_key"], unique=False)
    op.create_table(
        "price_tiers",
        sa.Column("sku", sa.String(), nullable=False),
        sa.Column("min_quantity_milli", sa.BigInteger(), nullable=False),
        sa.Column(
            "discount_bp",
            sa.Integer(),
            nullable=True,
            comment="discount off the list price, in hundredths of a percent",
        ),
        sa.Column("unit_price_minor", sa.BigInteger(), nullable=True, comment="or a net price"),
        sa.CheckConstraint("(discount_bp IS NULL) <> (unit_price_minor IS NULL)", name=op.f("ck_price_tiers_one_kind")),
        sa.CheckConstraint("discount_bp BETWEEN 0 AND 10000", name=op.f("ck_price_tiers_discount")),
        sa.CheckConstraint("min_quantity_milli > 0", name=op.f("ck_price_tiers_quantity")),
        sa.ForeignKeyConstraint(["sku"], ["products.sku"], name=op.f("fk_price_tiers_sku")),
        sa.PrimaryKeyConstraint("sku", "min_quantity_milli", name=op.f("pk_price_tiers")),
    )


def _stock() -> None:
    op.create_table(
        "warehouses",
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("code", name=op.f("pk_warehouses")),
    )
    op.create_table(
        "stock",
        sa.Column("sku", sa.String(), nullable=False),
        sa.Column("warehouse", sa.String(), nullable=False),
        sa.Column("on_hand_milli", sa.BigInteger(), nullable=False),
        sa.Column("reserved_milli", sa.BigInteger(), nullable=False),
        sa.Column("reorder_level_milli", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint("reserved_milli >= 0 AND on_hand_milli >= reserved_milli", name=op.f("ck_stock_available")),
        sa.CheckConstraint("version > 0", name=op.f("ck_stock_version")),
        sa.ForeignKeyConstraint(["sku"], ["products.sku"], name=op.f("fk_stock_sku")),
        sa.ForeignKeyConstraint(["warehouse"], ["warehouses.code"], name=op.f("fk_stock_warehouse")),
        sa.PrimaryKeyConstraint("sku", "warehouse", name=op.f("pk_stock")),
    )
    low = sa.text("reorder_level_milli > 0 AND on_hand_milli - reserved_milli - reorder_level_milli <= 0")
    op.create_index("ix_stock_low", "stock", ["warehouse", "sku"], unique=False, sqlite_where=low, postgresql_where=low)
    op.create_table(
        "stock_moves",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("sku", sa.String(), nullable=False),
        sa.Column("warehouse", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("on_hand_delta_milli", sa.BigInteger(), nullable=False),
        sa.Column("reserved_delta_milli", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("order_id", sa.String(), nullable=True),
        sa.Column("approval_id", sa.String(), nullable=True),
        sa.Column("at", sa.String(length=27), nullable=False),
        sa.CheckConstraint(
            "kind IN ('opening', 'adjustment', 'reserve', 'release', 'shipment', 'return', 'exchange')",
            name=op.f("ck_stock_moves_kind"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stock_moves")),
        comment="append-only: on hand and reserved are the sums of these rows",
    )
    op.create_index(op.f("ix_stock_moves_approval_id"), "stock_moves", ["approval_id"], unique=False)
    op.create_index(op.f("ix_stock_moves_order_id"), "stock_moves", ["order_id"], unique=False)
    op.create_index(op.f("ix_stock_moves_sku_id"), "stock_moves", ["sku", "id"], unique=False)
    op.create_index(op.f("ix_stock_moves_sku_warehouse_id"), "stock_moves", ["sku", "warehouse", "id"], unique=False)


def _orders() -> None:
    op.create_table(
        "orders",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=True, comment="the order's number where it was imported from"),
        sa.Column(
            "source_key",
            sa.String(),
            nullable=True,
            comment="match_key of source_id; an id of ours is its own, in upper case",
        ),
        sa.Column("customer_id", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("warehouse", sa.String(), nullable=False),
        sa.Column("total_minor", sa.BigInteger(), nullable=False),
        sa.Column("line_count", sa.Integer(), nullable=False),
        sa.Column("placed_at", sa.String(length=27), nullable=False),
        sa.Column("business_date", sa.String(length=10), nullable=False),
        sa.Column("ship_to", sa.JSON(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False, comment="why it was cancelled"),
        sa.Column("carrier", sa.Text(), nullable=False),
        sa.Column("tracking_number", sa.Text(), nullable=False),
        sa.Column("shipped_at", sa.String(length=27), nullable=True),
        sa.Column(
            "twin_key",
            sa.String(length=64),
            nullable=False,
            comment="hash of customer and lines, to find identical orders",
        ),
        sa.Column("approval_id", sa.String(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "status IN ('pending', 'confirmed', 'shipped', 'completed', 'cancelled')", name=op.f("ck_orders_status")
        ),
        sa.CheckConstraint("version > 0", name=op.f("ck_orders_version")),
        sa.ForeignKeyConstraint(["customer_id"], ["customers.id"], name=op.f("fk_orders_customer_id")),
        sa.ForeignKeyConstraint(["warehouse"], ["warehouses.code"], name=op.f("fk_orders_warehouse")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_orders")),
    )
    op.create_index(
        op.f("ix_orders_customer_id_placed_at_id"), "orders", ["customer_id", "placed_at", "id"], unique=False
    )
    op.create_index(op.f("ix_orders_customer_id_status"), "orders", ["customer_id", "status"], unique=False)
    op.create_index(op.f("ix_orders_placed_at_id"), "orders", ["placed_at", "id"], unique=False)
    op.create_index(op.f("ix_orders_source_key"), "orders", ["source_key"], unique=False)
    op.create_index(op.f("ix_orders_status_placed_at_id"), "orders", ["status", "placed_at", "id"], unique=False)
    op.create_index(op.f("ix_orders_twin_key_placed_at"), "orders", ["twin_key", "placed_at"], unique=False)


def _order_counts() -> None:
    op.create_table(
        "order_counts",
        sa.Column("business_date", sa.String(length=10), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("orders", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("business_date", "status", name=op.f("pk_order_counts")),
        comment="how many orders there are: kept by triggers on orders, so that a total is exact without counting them",
    )
    create_order_count_triggers(op.get_bind())


def _order_lines() -> None:
    op.create_table(
        "order_lines",
        sa.Column("order_id", sa.String(), nullable=False),
        sa.Column("line_no", sa.Integer(), nullable=False),
        sa.Column("sku", sa.String(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("quantity_milli", sa.BigInteger(), nullable=False),
        sa.Column("unit_price_minor", sa.BigInteger(), nullable=False, comment="list price when it was placed"),
        sa.Column("discount_bp", sa.Integer(), nullable=False),
        sa.Column("net_unit_price_minor", sa.BigInteger(), nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.Column("returned_milli", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("quantity_milli > 0", name=op.f("ck_order_lines_quantity")),
        sa.CheckConstraint("returned_milli BETWEEN 0 AND quantity_milli", name=op.f("ck_order_lines_returned")),
        sa.ForeignKeyConstraint(["order_id"], ["orders.id"], name=op.f("fk_order_lines_order_id")),
        sa.PrimaryKeyConstraint("order_id", "line_no", name=op.f("pk_order_lines")),
    )
    op.create_index(op.f("ix_order_lines_sku_order_id"), "order_lines", ["sku", "order_id"], unique=False)


def _returns() -> None:
    op.create_table(
        "returns",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("order_id", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("refund_minor", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("exchange_order_id", sa.String(), nullable=True),
        sa.Column("created_at", sa.String(length=27), nullable=False),
        sa.Column("approval_id", sa.String(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["exchange_order_id"], ["orders.id"], name=op.f("fk_returns_exchange_order_id")),
        sa.ForeignKeyConstraint(["order_id"], ["orders.id"], name=op.f("fk_returns_order_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_returns")),
    )
    op.create_index(op.f("ix_returns_order_id"), "returns", ["order_id"], unique=False)
    op.create_table(
        "return_lines",
        sa.Column("return_id", sa.String(), nullable=False),
        sa.Column("order_id", sa.String(), nullable=False),
        sa.Column("line_no", sa.Integer(), nullable=False),
        sa.Column("sku", sa.String(), nullable=False),
        sa.Column("quantity_milli", sa.BigInteger(), nullable=False),
        sa.Column("amount_minor", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["return_id"], ["returns.id"], name=op.f("fk_return_lines_return_id")),
        sa.PrimaryKeyConstraint("return_id", "order_id", "line_no", name=op.f("pk_return_lines")),
    )


def _operations() -> None:
    op.create_table(
        "operations",
        sa.Column("approval_id", sa.String(), nullable=False),
        sa.Column(
            "call", sa.String(length=64), nullable=False, comment="one tool call has one effect, whatever the rounds"
        ),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False, comment="normalised"),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("approver", sa.Text(), nullable=False),
        sa.Column("requested_by", sa.Text(), nullable=False),
        sa.Column("executed_at", sa.String(length=27), nullable=False),
        sa.Column("preview", sa.JSON(), nullable=False, comment="what the approver saw"),
        sa.Column("receipt", sa.JSON(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False, comment="without gaps"),
        sa.Column("previous", sa.String(length=64), nullable=False, comment="hash of the operation before"),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("approval_id", name=op.f("pk_operations")),
        sa.UniqueConstraint("call", name=op.f("uq_operations_call")),
        sa.UniqueConstraint("seq", name=op.f("uq_operations_seq")),
        comment="append-only: one row per executed approval, written in the effect's own transaction",
    )
