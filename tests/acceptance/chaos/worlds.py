"""Databases to be cruel to: copies of one Northwind, on SQLite files or on a PostgreSQL server."""

import asyncio
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import sqlalchemy as sa

from graph.app import open_agent
from graph.books import make_books
from graph.settings import Settings

Backend = Literal["sqlite", "postgresql"]
BACKENDS: Final[tuple[Backend, ...]] = ("sqlite", "postgresql")

POLICY: Final = """
[people.andrew]
roles = ["manager"]
[people.laura]
roles = ["manager"]
[people.nancy]
roles = ["sales"]
[people.robert]
roles = ["sales"]

[[rules]]
name = "sales-may-look"
tools = ["check_balance"]
when = '"sales" in requester_roles'
automatic = true
"""
"""One rule that signs by itself, so that its steps are among those at which processes die."""


@dataclass(frozen=True)
class Template:
    """A HOME with Northwind in it that is only ever copied.

    Args:
        home: its folder.
        server: the PostgreSQL server of its two databases; empty for SQLite files.
        names: these databases' names: the ERP's, the checkpoints'.
    """

    home: Path
    server: str = ""
    names: tuple[str, str] = ("", "")

    @contextmanager
    def copy(self, folder: Path) -> Iterator[Settings]:
        """A copy of one's own, which is gone afterwards.

        Args:
            folder: an empty place for its HOME.
        """
        home = Path(shutil.copytree(self.home, folder / "home"))
        if not self.server:
            yield settings_of(home)
            return
        with ExitStack() as stack:
            erp, checkpoints = (stack.enter_context(database(self.server, name)) for name in self.names)
            yield settings_of(home, erp, checkpoints)


@contextmanager
def make_template(backend: Backend, home: Path, server: str) -> Iterator[Template]:
    """Northwind, a policy, and LangGraph's tables, for as long as copies are wanted.

    Args:
        backend: on which of the two.
        home: an empty folder.
        server: a PostgreSQL database from which others can be made; unused for SQLite.
    """
    (home / "policy.toml").write_text(POLICY)
    if backend == "sqlite":
        _fill(settings_of(home))
        yield Template(home)
        return
    with database(server) as erp, database(server) as checkpoints:
        _fill(settings_of(home, erp, checkpoints))
        names = (sa.make_url(erp).database or "", sa.make_url(checkpoints).database or "")
        yield Template(home, server, names)


def settings_of(home: Path, erp: str = "", checkpoints: str = "") -> Settings:
    """The settings of a HOME and, where it is not on files, its databases."""
    return Settings(home=home, erp_url=erp, checkpoint_url=checkpoints, policy=home / "policy.toml")


def _fill(settings: Settings) -> None:
    make_books(settings, "northwind")

    async def open_once() -> None:
        async with open_agent(settings):
            pass  # makes LangGraph's own tables

    asyncio.run(open_once())


@contextmanager
def database(server: str, template: str = "template1") -> Iterator[str]:
    """A PostgreSQL database, made from another one, and dropped afterwards.

    Yields:
        Its URL.
    """
    name = f"countersign_chaos_{secrets.token_hex(8)}"
    admin = sa.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    try:
        yield sa.make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        with admin.connect() as connection:
            connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
