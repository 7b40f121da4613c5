"""The migrations and the tables are two texts of one schema; they must not drift apart."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from erp_mcp.store import schema
from erp_mcp.store.engine import create_database
from erp_mcp.store.tables import metadata


@pytest.fixture
def migrated(erp_url: str) -> sa.Engine:
    """A database made by the migrations."""
    create_database(erp_url)
    return sa.create_engine(erp_url, poolclass=sa.NullPool)


@pytest.fixture
def declared(erp_url: str, migrated: sa.Engine, tmp_path: Path) -> sa.Engine:
    """The same kind of database, made from the tables as declared."""
    if migrated.dialect.name == "sqlite":
        engine = sa.create_engine(f"sqlite:///{tmp_path / 'declared.db'}", poolclass=sa.NullPool)
    else:
        with migrated.begin() as connection:
            connection.execute(sa.text("CREATE SCHEMA declared"))
        options = {"options": "-c search_path=declared"}
        engine = sa.create_engine(erp_url, connect_args=options, poolclass=sa.NullPool)
    metadata.create_all(engine)
    return engine


def described(engine: sa.Engine) -> dict[str, Any]:
    """Every table's columns, keys, checks, indexes and comments, as the database tells them."""
    look = sa.inspect(engine)
    tables = sorted(set(look.get_table_names()) - {"alembic_version"})
    return {table: _table(look, table) for table in tables}


def _table(look: sa.Inspector, table: str) -> dict[str, Any]:
    columns = [{**column, "type": str(column["type"]), "default": None} for column in look.get_columns(table)]
    foreign = [{**key, "referred_schema": None} for key in look.get_foreign_keys(table)]
    comment = look.get_table_comment(table) if look.dialect.supports_comments else None
    indexes = [{**i, "dialect_options": _texts(i.get("dialect_options", {}))} for i in look.get_indexes(table)]
    parts: list[Any] = [foreign, look.get_check_constraints(table), indexes]
    named = [sorted(map(repr, part)) for part in (*parts, look.get_unique_constraints(table))]
    return {"columns": columns, "key": look.get_pk_constraint(table), "named": named, "comment": comment}


def _texts(options: Any) -> dict[str, str]:
    """A partial index's condition as text; the reflected object has no repr of its own."""
    return {name: str(value) for name, value in options.items()}


def test_migrating_makes_the_declared_schema(migrated: sa.Engine, declared: sa.Engine) -> None:
    """Column by column, constraint by constraint, in both databases."""
    assert described(migrated) == described(declared)


def test_alembic_sees_nothing_to_do(migrated: sa.Engine) -> None:
    """Autogenerate, asked about the migrated database, has nothing to add."""
    with migrated.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_every_migration_is_known_without_alembic() -> None:
    """Opening compares with this list, so that it need not load Alembic."""
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    scripts = ScriptDirectory.from_config(config).walk_revisions()
    assert tuple(script.revision for script in scripts)[::-1] == schema.REVISIONS
