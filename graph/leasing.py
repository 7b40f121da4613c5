"""One run of a thread at a time, across tasks and processes, as far as a courtesy goes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from checkpoints.faults import point
from checkpoints.leases import LIFETIME, new_owner
from graph.errors import CountersignError
from graph.services import Services

PATIENCE_SECONDS = 120.0
"""How long a caller waits for another run of the thread to end; a model may take its time."""

RENEWED_SECONDS = LIFETIME.total_seconds() / 3
"""How often a run renews its lease."""

SHORTEST_LOOK_SECONDS, LONGEST_LOOK_SECONDS = 0.01, 0.25
LOOK_SHARE = 1 / 8
"""A waiting run looks again after this share of the time that it has waited: most runs take milliseconds, and who waits
for one of those must not sleep through its end; who waits for a model must not keep the database busy."""


@asynccontextmanager
async def leased(services: Services, thread_id: str) -> AsyncIterator[None]:
    """Holds the thread's lease, renewing it while the body runs.

    Raises:
        CountersignError: ``thread_busy`` where another run does not come to an end.
    """
    owner = new_owner()
    await _take(services, thread_id, owner)
    renewing: list[asyncio.Task[None]] = []
    # Most runs are over before a third of the lease is: a timer costs less than a task that only sleeps.
    timer = asyncio.get_running_loop().call_later(
        RENEWED_SECONDS, lambda: renewing.append(asyncio.create_task(_renew(services, thread_id, owner)))
    )
    try:
        yield
    finally:
        timer.cancel()
        for task in renewing:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        point("agent.done")
        await services.write_down(services.leases.give_back, thread_id, owner)


async def _take(services: Services, thread_id: str, owner: str) -> None:
    waited = 0.0
    while not await services.write_down(services.leases.take, thread_id, owner):
        if waited > PATIENCE_SECONDS:
            raise CountersignError(
                "thread_busy", f"Thread {thread_id} is being worked on by another run.", "Try again in a moment."
            )
        wait = min(max(waited * LOOK_SHARE, SHORTEST_LOOK_SECONDS), LONGEST_LOOK_SECONDS)
        await asyncio.sleep(wait)
        waited += wait


async def _renew(services: Services, thread_id: str, owner: str) -> None:
    while True:
        await services.write_down(services.leases.take, thread_id, owner)
        await asyncio.sleep(RENEWED_SECONDS)
