"""Alembic's entrance. It runs inside the caller's transaction: a migration happens whole, or not at all."""

import sqlalchemy as sa
from alembic import context

from erp_mcp.store.tables import metadata

connection: sa.Connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
