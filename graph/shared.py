"""Services that outlive a run under ``langgraph dev``: one set per event loop, owned by one task of that loop."""

import asyncio
import weakref
from asyncio import AbstractEventLoop
from contextlib import AbstractAsyncContextManager

from graph.services import Services

_opened: "weakref.WeakKeyDictionary[AbstractEventLoop, asyncio.Future[Services]]" = weakref.WeakKeyDictionary()
_owners: set[asyncio.Task[None]] = set()


async def shared_services() -> Services:
    """The services of the running loop, opened on first use; a failed opening is tried again by the next caller.

    Raises:
        CountersignError, ErpError, CheckpointError: what is missing or wrong.
    """
    loop = asyncio.get_running_loop()
    opened = _opened.get(loop)
    if opened is None:
        opened = _opened[loop] = loop.create_future()
        owner = loop.create_task(_own(opened), name="countersign-services")
        _owners.add(owner)
        owner.add_done_callback(_owners.discard)
    try:
        return await asyncio.shield(opened)
    except Exception:
        _opened.pop(loop, None)
        raise


async def _own(opened: "asyncio.Future[Services]") -> None:
    """Enters and leaves the MCP client in one task, as it must be."""
    manager = await asyncio.to_thread(_manager)  # imports and settings block, and this loop must not
    try:
        async with manager as services:
            opened.set_result(services)
            await asyncio.Event().wait()
    except Exception as error:
        if opened.done():
            raise
        opened.set_exception(error)


def _manager() -> AbstractAsyncContextManager[Services]:
    from graph.app import open_services
    from graph.settings import load_settings

    return open_services(load_settings())
