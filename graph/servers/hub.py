"""All other MCP servers as one: their accepted tools, and calls that are sent at most once."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checkpoints.definitions import DefinitionBook, KnownTool
from checkpoints.ledger import Ledger
from erp_mcp.contract import Preview
from erp_mcp.errors import ErpError
from graph.errors import CountersignError, LostAnswerError
from graph.servers.answers import refusal, text_as_data, wrapped
from graph.servers.config import ServerConfig
from graph.servers.connection import Connection
from graph.servers.fallback import post
from graph.servers.opening import Session, over_network
from graph.servers.tool import ExternalTool
from graph.servers.wire import Answer

log = logging.getLogger(__name__)

Json = dict[str, Any]
START_SECONDS = 5.0
"""How long opening an agent waits for servers that do not answer at once."""

Mark = Callable[[], Awaitable[bool]]


class SentBeforeError(Exception):
    """The call was sent by an earlier attempt; it is not sent again."""


@dataclass
class _Server:
    """One server: its connection, and what it offers."""

    config: ServerConfig
    connection: Connection
    offered: dict[str, str] | None = None
    known: dict[str, KnownTool] = field(default_factory=dict)

    def tools(self) -> list[ExternalTool]:
        return [
            ExternalTool(self.config, tool, tool.seen_hash if self.offered is None else self.offered.get(name))
            for name, tool in self.known.items()
        ]


class Servers:
    """The other servers of the settings.

    Args:
        configs: from ``read_servers``.
        book: accepted definitions.
        ledger: where approvals that wait for another definition are ended.
        logs: the folder for what server processes write to their standard error.

    Attributes:
        version: changes whenever what the model may use has changed.
    """

    def __init__(self, configs: Sequence[ServerConfig], book: DefinitionBook, ledger: Ledger, logs: Path) -> None:
        self.version = 0
        self._book, self._ledger = book, ledger
        self._reserved: Collection[str] = ()
        self._tools: dict[str, ExternalTool] = {}
        self._servers = {config.name: self._made(config, logs) for config in configs}

    def _made(self, config: ServerConfig, logs: Path) -> _Server:
        async def on_open(session: Session) -> None:
            await self._list(self._servers[config.name], session)

        return _Server(config, Connection(config.name, over_network(config, logs), on_open))

    async def open(self, reserved: Collection[str]) -> None:
        """Connects to all of them side by side; whoever does not answer is left out until they do.

        Args:
            reserved: the ERP's tools, whose names no other server's tool may take.
        """
        self._reserved = reserved
        for server in self._servers.values():
            server.known = await asyncio.to_thread(self._book.known, server.config.name)
        self._rebuild()
        await asyncio.gather(*(server.connection.start(START_SECONDS) for server in self._servers.values()))

    async def close(self) -> None:
        """Closes all sessions."""
        await asyncio.gather(*(server.connection.stop() for server in self._servers.values()))

    # -- what there is ---------------------------------------------------------------------------------------------

    def get(self, alias: str) -> ExternalTool | None:
        """The tool with this name for the model."""
        return self._tools.get(alias)

    def tools(self) -> list[ExternalTool]:
        """All tools that were ever seen on the configured servers."""
        return list(self._tools.values())

    def problems(self) -> dict[str, str]:
        """Why each server that is down is down, by name; empty where all is well."""
        down = (server for server in self._servers.values() if server.connection.session is None)
        return {server.config.name: server.connection.problem for server in down}

    def for_model(self) -> list[Json]:
        """The tools that the model is told of: accepted, and offered as they were accepted.

        Those of a server that is down stay: a call is answered with that, which a user would like to know.
        """
        return [tool.for_model() for tool in self._tools.values() if tool.why_withheld is None]

    def overview(self) -> dict[str, tuple[ServerConfig, str | None, list[ExternalTool]]]:
        """Each server by name: its settings, why it is down (None: it is not), and its tools."""
        down = self.problems()
        return {name: (one.config, down.get(name), one.tools()) for name, one in self._servers.items()}

    async def accept(self, name: str, by: str) -> list[ExternalTool]:
        """A person accepts what a server offers now, as it was listed just before.

        Args:
            name: the server.
            by: who they are.

        Returns:
            The tools as they stood before: changed, or new.

        Raises:
            CountersignError: ``unknown_server``, ``unnamed_approver``.
        """
        server = self._servers.get(name)
        if server is None:
            known = ", ".join(self._servers) or "none is configured"
            raise CountersignError("unknown_server", f"There is no MCP server {name!r}.", f"Configured: {known}")
        if not by.strip():
            raise CountersignError("unnamed_approver", "A definition is accepted by a named person.", "Say --by NAME.")
        waiting = [tool for tool in server.tools() if tool.waits]
        chosen = {tool.known.tool: tool.known.seen_hash for tool in waiting}
        await asyncio.to_thread(self._book.accept, name, chosen, by)
        await self.refresh()
        return waiting

    async def refresh(self) -> None:
        """Takes note of changed tool lists, and of what people accepted in the meantime."""
        for server in self._servers.values():
            session = server.connection.session
            if session is not None and server.connection.has_changed:
                await self._relist(server, session)
            elif any(tool.why_withheld for tool in server.tools()):
                server.known = await asyncio.to_thread(self._book.known, server.config.name)
                self._rebuild()

    async def _relist(self, server: _Server, session: Session) -> bool:
        try:
            await self._list(server, session)
        except LostAnswerError as error:
            log.warning("MCP server %s: %s", server.config.name, error.why)
            return False
        return True

    async def _list(self, server: _Server, session: Session) -> None:
        found = await server.connection.definitions(session)
        offered = {one.name: (one.hash, one.as_json()) for one in found}
        name = server.config.name
        known = await asyncio.to_thread(self._book.see, name, offered, self._reserved)
        server.offered, server.known = {tool: hash_ for tool, (hash_, _) in offered.items()}, known
        self._rebuild()
        now = {tool.alias: server.offered.get(tool.tool, "") for tool in known.values()}
        ended = await asyncio.to_thread(self._ledger.close_changed, name, now)
        if ended:
            ids = ", ".join(row.id for row in ended)
            log.warning("MCP server %s: its tools have changed; no longer waiting: %s", name, ids)

    def _rebuild(self) -> None:
        tools = [tool for server in self._servers.values() for tool in server.tools()]
        before, self._tools = self._tools, {tool.known.alias: tool for tool in tools}
        if before != self._tools:
            self.version += 1

    # -- calls -----------------------------------------------------------------------------------------------------

    async def read(self, alias: str, arguments: Json) -> Json:
        """Calls a tool that may run freely; asked once more where the connection broke, for a read does no harm.

        Raises:
            ErpError: ``server_unavailable``, ``schema_changed``, or what it refused.
        """
        server = self._server(alias)
        why = server.connection.problem
        for _attempt in (1, 2):
            session = await server.connection.ensure()
            if session is None:
                break
            if server.connection.has_changed:
                await self._relist(server, session)
            tool = self._checked(alias, arguments)
            try:
                return await self._over_mcp(server, session, tool, arguments)
            except LostAnswerError as error:
                why = error.why
                if error.late or server.connection.session is session:
                    break
        return await self._read_otherwise(server, self._checked(alias, arguments), arguments, why)

    async def _read_otherwise(self, server: _Server, tool: ExternalTool, arguments: Json, why: str) -> Json:
        if not tool.has_fallback:
            raise _unavailable(server, why)
        try:
            data = await post(server.config, tool.known.tool, arguments)
        except LostAnswerError as error:
            raise _unavailable(server, error.why) from error
        return wrapped(server.config.name, tool.definition, data, server.config.max_chars)

    async def plan(self, alias: str, arguments: Json) -> Preview | ErpError:
        """What an approver would sign; nothing is sent but the question whether the tool is still the same."""
        server = self._server(alias)
        session = await server.connection.ensure()
        if session is not None and not await self._relist(server, session):
            session = await server.connection.ensure()
        try:
            tool = self._checked(alias, arguments)
        except ErpError as error:
            return error
        if session is None and not tool.has_fallback:
            return _unavailable(server, server.connection.problem)
        return tool.preview(arguments)

    async def send(self, alias: str, arguments: Json, signed: Mapping[str, Any], mark: Mark) -> Json:
        """Sends a signed call, at most once.

        Args:
            alias, arguments: the call.
            signed: the preview that was signed.
            mark: writes down that it is being sent, durably, and says whether that was not so before.

        Raises:
            ErpError: nothing was sent (``server_unavailable``, ``schema_changed``, ``stale_version``), or it was, and
                the tool answered with an error.
            SentBeforeError: an earlier attempt has sent it.
            LostAnswerError: it was sent, and no answer came.
        """
        planned = await self.plan(alias, arguments)
        if isinstance(planned, ErpError):
            raise planned
        if planned.facts.get("definition") != signed.get("facts", {}).get("definition"):
            message = f"{alias} is not the tool any more that was approved; nothing was sent."
            raise ErpError("schema_changed", message, "Propose the call again.")
        if planned.digest != signed.get("digest"):
            raise ErpError("stale_version", f"The call of {alias} is not what was approved.", "Decide the fresh one.")
        server, tool = self._server(alias), self._checked(alias, arguments)
        session = server.connection.session
        if session is None and not tool.has_fallback:
            raise _unavailable(server, server.connection.problem)
        if not await mark():
            raise SentBeforeError
        if session is not None:
            return await self._over_mcp(server, session, tool, arguments)
        data = await post(server.config, tool.known.tool, arguments)
        return wrapped(server.config.name, tool.definition, data, server.config.max_chars)

    async def _over_mcp(self, server: _Server, session: Session, tool: ExternalTool, arguments: Json) -> Json:
        name, config = tool.known.tool, server.config
        answer = await server.connection.call(session, name, arguments, config.timeout_seconds)
        if answer.is_error:
            raise refusal(config.name, name, answer.text)
        return wrapped(config.name, tool.definition, _data(answer), config.max_chars)

    def _server(self, alias: str) -> _Server:
        return self._servers[self._tools[alias].config.name]

    def _checked(self, alias: str, arguments: Json) -> ExternalTool:
        tool = self._tools[alias]
        tool.check(arguments)
        return tool


def _data(answer: Answer) -> Any:
    """Structured content where there is some, else text; pictures and sounds are named, not passed on."""
    if answer.structured is not None:
        return answer.structured
    parts = [*map(text_as_data, answer.texts), *({"not_passed_on": kind} for kind in answer.others)]
    return parts[0] if len(parts) == 1 else parts


def _unavailable(server: _Server, why: str) -> ErpError:
    name = server.config.name
    return ErpError(
        "server_unavailable",
        f"The server {name} is not available{f' ({why})' if why else ''}; nothing was done.",
        "Go on without it, or tell the user to try again later.", server=name,
    )  # fmt: skip
