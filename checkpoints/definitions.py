"""Which definitions of other servers' tools a person has accepted. Kept beside the ledger, in the same database."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from checkpoints.database import open_engine, said_plainly
from checkpoints.reading import Clock, utc_now
from checkpoints.records import Json
from checkpoints.tables import definitions

FIRST_USE: Final = "first use"
"""Who accepted what a server offered when it was seen for the very first time."""

MAX_NAME: Final = 64
"""Characters of a tool's name that model providers take."""

_LOCK: Final = 0x44656673  # "Defs"
_ALL: Final = sa.select(definitions).order_by(definitions.c.server, definitions.c.tool, definitions.c.seen_at)


@dataclass(frozen=True)
class KnownTool:
    """One tool of one server.

    Args:
        server, tool: whose, and its name there.
        alias: its name for the model, given once and for good, so that no approval changes its tool.
        accepted, accepted_hash: the definition that was accepted last, if one was.
        accepted_by, accepted_at: by whom, and when.
        seen, seen_hash: the definition that the server offered last.
    """

    server: str
    tool: str
    alias: str
    accepted: Json | None
    accepted_hash: str | None
    accepted_by: str | None
    accepted_at: datetime | None
    seen: Json
    seen_hash: str


class DefinitionBook:
    """The accepted definitions of all servers. Its methods block; call them off the event loop.

    Args:
        url: of the checkpoint database.
        clock: what time it is, in UTC.
    """

    def __init__(self, url: sa.URL, clock: Clock = utc_now) -> None:
        self._url = url
        self._clock = clock
        self._engine = open_engine(url)

    def close(self) -> None:
        """Gives the connections back."""
        self._engine.dispose()

    def known(self, server: str) -> dict[str, KnownTool]:
        """A server's tools by their names there."""
        with said_plainly(self._url), self._engine.connect() as connection, connection.begin():
            return _known(connection).get(server, {})

    def see(
        self, server: str, offered: Mapping[str, tuple[str, Json]], reserved: Collection[str]
    ) -> dict[str, KnownTool]:
        """Records what a server offers now.

        The first sight of a server is trusted, and recorded as such. Whatever it offers later, changed or new, waits
        for a person: else a server could show harmless tools first and others once it is relied on.

        Args:
            server: its name.
            offered: hash and definition by the tool's name.
            reserved: names that no tool of a server may take.

        Returns:
            All of the server's tools that were ever seen.
        """
        known = self.known(server)
        if all(name in known and known[name].seen_hash == hash_ for name, (hash_, _) in offered.items()):
            return known
        with self._write() as connection:
            everybody = _known(connection)
            is_first = server not in everybody
            names = {tool.alias for tools in everybody.values() for tool in tools.values()} | set(reserved)
            for name, (hash_, definition) in offered.items():
                old = everybody.get(server, {}).get(name)
                if old is not None and old.seen_hash == hash_:
                    continue
                alias = old.alias if old else _free_name(server, name, names)
                names.add(alias)
                self._record(connection, (server, name, hash_), alias, definition, accept=is_first)
            return _known(connection).get(server, {})

    def _record(
        self, connection: sa.Connection, key: tuple[str, str, str], alias: str, definition: Json, *, accept: bool
    ) -> None:
        server, tool, hash_ = key
        now = self._later_than(connection, definitions.c.seen_at, server, tool)
        again = sa.update(definitions).where(_is(*key)).values(seen_at=now)
        if connection.execute(again).rowcount:
            return
        connection.execute(
            sa.insert(definitions).values(
                server=server, tool=tool, hash=hash_, alias=alias, definition=definition, first_seen_at=now,
                seen_at=now, accepted_at=now if accept else None, accepted_by=FIRST_USE if accept else None,
            )
        )  # fmt: skip

    def accept(self, server: str, chosen: Mapping[str, str], by: str) -> None:
        """A person accepts definitions.

        Args:
            server: whose.
            chosen: the hash of what they saw, by the tool's name.
            by: who they are.
        """
        with self._write() as connection:
            for tool, hash_ in chosen.items():
                now = self._later_than(connection, definitions.c.accepted_at, server, tool)
                accepted = {"accepted_at": now, "accepted_by": by}
                connection.execute(sa.update(definitions).where(_is(server, tool, hash_)).values(**accepted))

    def _later_than(self, connection: sa.Connection, column: sa.Column[Any], server: str, tool: str) -> datetime:
        """Now, but later than what is there already: which definition is the newest must not hang on a clock."""
        own = sa.and_(definitions.c.server == server, definitions.c.tool == tool)
        last: datetime | None = connection.scalar(sa.select(sa.func.max(column)).where(own))
        now = self._clock()
        return now if last is None or last < now else last + timedelta(microseconds=1)

    @contextmanager
    def _write(self) -> Iterator[sa.Connection]:
        writing = self._engine.connect().execution_options(writes=True)
        with said_plainly(self._url), writing as connection, connection.begin():
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            yield connection


def _is(server: str, tool: str, hash_: str) -> sa.ColumnElement[bool]:
    table = definitions.c
    return sa.and_(table.server == server, table.tool == tool, table.hash == hash_)


def _known(connection: sa.Connection) -> dict[str, dict[str, KnownTool]]:
    """All tools by server and name: of each the definition seen last, and the one accepted last."""
    rows: dict[tuple[str, str], list[Any]] = {}
    for row in connection.execute(_ALL):
        rows.setdefault((row.server, row.tool), []).append(row)
    found: dict[str, dict[str, KnownTool]] = {}
    for (server, tool), versions in rows.items():
        accepted = max((v for v in versions if v.accepted_at), key=lambda v: v.accepted_at, default=None)
        seen = versions[-1]
        found.setdefault(server, {})[tool] = KnownTool(
            server, tool, seen.alias, accepted and accepted.definition, accepted and accepted.hash,
            accepted and accepted.accepted_by, accepted and accepted.accepted_at, seen.definition, seen.hash,
        )  # fmt: skip
    return found


def _free_name(server: str, tool: str, taken: Collection[str]) -> str:
    """The tool's own name, with the server's before it where that is taken; in characters that providers take."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in tool)
    for name in (plain[:MAX_NAME], f"{server}__{plain}"[:MAX_NAME]):
        if name and name not in taken:
            return name
    number = 2
    while (name := f"{server}__{plain}"[: MAX_NAME - 4] + f"_{number}") in taken:
        number += 1
    return name
