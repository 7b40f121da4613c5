"""Databases for the tests: each is the test's own, on SQLite and on PostgreSQL, and is gone afterwards."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from erp_mcp.importers.northwind import load_northwind
from erp_mcp.store.engine import Store, create_database, open_store

POSTGRESQL: Final = "postgresql+psycopg://postgres@127.0.0.1:5432/postgres"


@pytest.fixture(scope="session")
def pg_server() -> str:
    """The PostgreSQL server to make databases on. Its absence is a failure in CI and a visible skip elsewhere."""
    url = os.environ.get("COUNTERSIGN_TEST_PG_URL", POSTGRESQL)
    engine = sa.create_engine(url, connect_args={"connect_timeout": 3})
    try:
        engine.connect().close()
    except OperationalError as error:
        reason = f"PostgreSQL is not reachable: {str(error.orig).splitlines()[0]}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    finally:
        engine.dispose()
    return url


@pytest.fixture
def pg_url(pg_server: str) -> Iterator[str]:
    """An empty PostgreSQL database."""
    name = f"countersign_test_{secrets.token_hex(8)}"
    admin = sa.create_engine(pg_server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    yield sa.make_url(pg_server).set(database=name).render_as_string(hide_password=False)
    with admin.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture(params=["sqlite", "postgresql"])
def erp_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an ERP may be made; nothing is there yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'erp.db'}"
    return str(request.getfixturevalue("pg_url"))


@pytest.fixture
def store(erp_url: str) -> Iterator[Store]:
    """An ERP without data."""
    create_database(erp_url)
    opened = open_store(erp_url)
    yield opened
    opened.close()


@pytest.fixture
def northwind(store: Store) -> Store:
    """An ERP with Northwind in it."""
    load_northwind(store)
    return store
