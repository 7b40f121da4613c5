"""The graph for ``langgraph dev``: exported bare, because the server brings its own checkpointer and many event loops.

The server imports files that are named by path once per use, so what is shared lives in ``graph.shared``, which is
imported normally.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph.checkpoint.base import BaseCheckpointSaver

from checkpoints.database import database_url
from checkpoints.saver import open_saver
from graph.build import build_graph
from graph.settings import load_settings
from graph.shared import shared_services

graph = build_graph(shared_services).compile()
"""Named in langgraph.json."""


@asynccontextmanager
async def checkpointer() -> AsyncIterator[BaseCheckpointSaver[str]]:
    """Our own checkpoint database, so that a thread begun here can be answered from Python, and the other way round."""
    async with open_saver(database_url(load_settings().checkpoint_database)) as saver:
        yield saver
