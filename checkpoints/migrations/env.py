"""Alembic's entrance: runs the migrations on the connection that ``checkpoints.database.migrate`` opened."""

from alembic import context

from checkpoints.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table="checkpoints_version",
    render_as_batch=True,
)
context.run_migrations()
