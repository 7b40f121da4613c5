"""One held MCP session, owned by one task that opens it again when it breaks.

A session must be entered and left in the same task, and stays broken once its server has died, even when that is back.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import anyio
import mcp.types as mcp
from mcp import McpError
from pydantic import ValidationError

from graph.errors import LostAnswerError
from graph.render import visible
from graph.servers.definitions import Definition, Json
from graph.servers.opening import CONNECT_SECONDS, Opener, Session
from graph.servers.wire import Answer, answer_of, definition_of, request_of

log = logging.getLogger(__name__)

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 60.0
"""Between attempts to reach a server that is down; a call tries at once."""
PING_SECONDS: Final = 2.0
"""While an answer is awaited the connection is tried so often; else only a timeout would show a dead HTTP server."""
MAX_PAGES: Final = 50
"""Of a tool list: a server must not keep us reading for ever."""
MAX_LOG_CHARS: Final = 2_000

LOST: Final = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, ConnectionError)
TIMED_OUT: Final = 408
_NO_ANSWER_CODES: Final = frozenset({-32000, 32600, TIMED_OUT})
"""Connection closed, session gone, timed out: said by MCP's own client, not by the server's tool."""
_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO, "warning": logging.WARNING}


class Connection:
    """A session that is opened again when it breaks.

    Args:
        name: the server's, for log lines.
        opener: how to open a session.
        on_open: what to do with each new session before it is used, such as listing its tools.

    Attributes:
        session: the live one; None while the server is down.
        problem: why it is down.
        has_changed: the server said that its tools have changed, and nobody has listed them since.
    """

    def __init__(self, name: str, opener: Opener, on_open: Callable[[Session], Awaitable[None]]) -> None:
        self.name = name
        self.session: Session | None = None
        self.problem = ""
        self.has_changed = False
        self._opener, self._on_open = opener, on_open
        self._owner: asyncio.Task[None] | None = None
        self._gone: asyncio.Future[None] | None = None
        self._nudged, self._tried = asyncio.Event(), asyncio.Event()
        self._closing = False
        self.failure: Exception | None = None

    async def start(self, patience: float | None = None) -> bool:
        """Begins, and waits for the first attempt; whether the server is there.

        Args:
            patience: seconds to wait at most; the attempt goes on in the background. None: until it has ended.
        """
        self._owner = asyncio.create_task(self._own(), name=f"countersign-mcp-{self.name}")
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._tried.wait()
        if self.session is None and not self.problem:
            self.problem = "it does not answer yet"
        return self.session is not None

    async def stop(self) -> None:
        """Closes the session and ends its task."""
        self._closing = True
        self._nudged.set()
        if self._owner is not None:
            await self._owner

    async def ensure(self) -> Session | None:
        """The live session; where there is none one attempt is made now. None: the server is down."""
        if self.session is None and not self._closing:
            self._tried.clear()
            self._nudged.set()
            await self._tried.wait()
        return self.session

    async def _own(self) -> None:
        wait = FIRST_WAIT_SECONDS
        try:
            while not self._closing:
                if await self._open_once():
                    wait = FIRST_WAIT_SECONDS
                else:
                    self._tried.set()
                    wait = min(wait * 2, LONGEST_WAIT_SECONDS)
                await self._pause(wait)
        finally:
            self._drop()
            self._tried.set()

    async def _open_once(self) -> bool:
        """One session from its beginning to its end; whether there was one."""
        was_up = False
        try:
            async with self._opener(self._on_message, self._on_log) as session:
                self._gone = asyncio.get_running_loop().create_future()
                with anyio.fail_after(CONNECT_SECONDS):
                    await self._on_open(session)
                self.session, self.problem, self.failure, was_up = session, "", None, True
                self._tried.set()
                await self._until_broken(session)
        except Exception as error:  # noqa: BLE001 whatever a server does to us, the agent goes on without it
            self._note(error)
        self._drop()
        return was_up

    async def _until_broken(self, session: Session) -> None:
        while self.session is session and not self._closing:
            await self._nudged.wait()
            self._nudged.clear()

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(0 if self._closing else seconds):
                await self._nudged.wait()
        except TimeoutError:
            return
        self._nudged.clear()

    def _note(self, error: Exception) -> None:
        first: BaseException = error
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        said = next(iter(str(first).splitlines()), "") or type(first).__name__
        if said != self.problem:
            log.warning("MCP server %s: %s", self.name, visible(said))
        self.problem, self.failure = said, error

    def _drop(self) -> None:
        self.session = None
        if self._gone is not None and not self._gone.done():
            self._gone.set_result(None)

    def broken(self, session: Session) -> None:
        """Says that this session is of no use any more; a new one is opened in the background."""
        if self.session is session:
            self._drop()
            self.problem = "the connection broke"
            self._nudged.set()

    # -- requests --------------------------------------------------------------------------------------------------

    async def call_held(self, session: Session, tool: str, arguments: Json, meta: Json | None = None) -> Answer:
        """Calls a tool of a server in this process, which cannot die alone: nothing watches over the call.

        Raises:
            LostAnswerError: no answer came.
        """
        try:
            return answer_of(await session.send_request(request_of(tool, arguments, meta), mcp.CallToolResult))
        except McpError as error:
            raise LostAnswerError(tool, error.error.message) from error
        except LOST as error:
            self.broken(session)
            raise LostAnswerError(tool) from error

    async def call(self, session: Session, tool: str, arguments: Json, seconds: float) -> Answer:
        """Calls a tool, and keeps an eye on the connection while it waits.

        Args:
            session: the live one.
            tool, arguments: what to call.
            seconds: how long the answer may take.

        Raises:
            LostAnswerError: it went out, perhaps, and no answer came that can be read.
        """
        limit = timedelta(seconds=seconds)
        request = request_of(tool, arguments, None)
        asked = asyncio.ensure_future(
            session.send_request(request, mcp.CallToolResult, limit, progress_callback=self._on_progress)
        )
        try:
            return answer_of(await self._answered(session, asked))
        except LOST as error:
            self.broken(session)
            raise LostAnswerError(tool, f"the connection to {self.name} broke") from error
        except ValidationError as error:
            raise LostAnswerError(tool, f"the answer of {self.name} could not be read") from error
        except McpError as error:
            if error.error.code not in _NO_ANSWER_CODES:
                return Answer(True, None, (error.error.message,))
            if error.error.code == TIMED_OUT:
                raise LostAnswerError(tool, f"{self.name} did not answer within {seconds:g} s", late=True) from error
            self.broken(session)
            raise LostAnswerError(tool, f"the connection to {self.name} broke") from error
        finally:
            asked.cancel()

    async def _answered(self, session: Session, asked: "asyncio.Future[mcp.CallToolResult]") -> mcp.CallToolResult:
        """Waits for the answer, or for the session's end, whichever comes first."""
        ping: asyncio.Task[None] | None = None
        gone: asyncio.Future[Any] | None = self._gone
        while gone is not None:
            await asyncio.wait([asked, gone], timeout=PING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                break
            if gone.done():
                raise ConnectionError
            if ping is None or ping.done():
                ping = asyncio.create_task(self._ping(session))
        return await asked

    async def _ping(self, session: Session) -> None:
        """A busy server may take its time, so silence says nothing; a refused connection ends the session."""
        try:
            await session.send_request(
                mcp.ClientRequest(mcp.PingRequest()), mcp.EmptyResult, timedelta(seconds=PING_SECONDS)
            )
        except LOST:
            self.broken(session)
        except (McpError, ValidationError) as error:
            log.debug("MCP server %s does not answer a ping: %s", self.name, error)

    async def definitions(self, session: Session) -> list[Definition]:
        """What the server offers now.

        Raises:
            LostAnswerError: it does not say.
        """
        self.has_changed = False
        found: list[Definition] = []
        cursor: str | None = None
        try:
            with anyio.fail_after(CONNECT_SECONDS):
                for _ in range(MAX_PAGES):
                    page = await self._page(session, cursor)
                    found += [definition_of(tool) for tool in page.tools]
                    cursor = page.nextCursor
                    if not cursor:
                        return found
        except (*LOST, McpError, TimeoutError, ValidationError) as error:
            self.broken(session)
            raise LostAnswerError("tools/list", f"{self.name} does not list its tools") from error
        raise LostAnswerError("tools/list", f"the list of tools of {self.name} does not end")

    async def _page(self, session: Session, cursor: str | None) -> mcp.ListToolsResult:
        parameters = mcp.PaginatedRequestParams(cursor=cursor) if cursor else None
        asked = asyncio.ensure_future(
            session.send_request(mcp.ClientRequest(mcp.ListToolsRequest(params=parameters)), mcp.ListToolsResult)
        )
        watched: list[asyncio.Future[Any]] = [asked] if self._gone is None else [asked, self._gone]
        try:
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise ConnectionError
            return await asked
        finally:
            asked.cancel()

    # -- what a server says unasked --------------------------------------------------------------------------------

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, mcp.ServerNotification) and isinstance(message.root, mcp.ToolListChangedNotification):
            self.has_changed = True

    async def _on_log(self, params: mcp.LoggingMessageNotificationParams) -> None:
        text = params.data if isinstance(params.data, str) else json.dumps(params.data, default=str)
        level = _LEVELS.get(params.level, logging.ERROR)
        log.log(level, "MCP server %s: %s", self.name, visible(text[:MAX_LOG_CHARS]))

    async def _on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        of = "" if total is None else f" of {total:g}"
        log.info("MCP server %s: %g%s %s", self.name, progress, of, visible((message or "")[:MAX_LOG_CHARS]))
