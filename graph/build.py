"""The graph, as its picture has it: model → read → propose → approve → execute → model.

Node names never change once released: a pending approval lives in them.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from checkpoints.ledger import Ledger
from graph.errors import CountersignError
from graph.nodes.approve import approve
from graph.nodes.execute import execute
from graph.nodes.model import model
from graph.nodes.propose import propose
from graph.nodes.read import read
from graph.services import Provider, Services
from graph.state import Input, Route, State
from graph.turn import Turn

Node = Callable[[State, Turn], Awaitable[dict[str, Any]]]
Agent = CompiledStateGraph[State, None, Input, State]


def build_graph(provider: Provider) -> StateGraph[State, None, Input, State]:
    """The graph without a checkpointer, for ``langgraph dev``, which brings its own.

    Args:
        provider: gives a node its services, for the event loop that it runs in.
    """
    graph = StateGraph(State, input_schema=Input)
    graph.add_node("model", _bound(model, provider))
    graph.add_node("read", _bound(read, provider))
    graph.add_node("propose", _bound(propose, provider))
    graph.add_node("approve", _bound(approve, provider))
    graph.add_node("execute", _bound(execute, provider))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", step, {"read": "read", "propose": "propose", "done": END})
    graph.add_conditional_edges("read", step, ["propose", "model"])
    graph.add_conditional_edges("propose", step, ["approve", "execute", "read", "model"])
    graph.add_conditional_edges("approve", step, ["approve", "propose", "execute", "model"])
    graph.add_conditional_edges("execute", step, ["propose", "model"])
    return graph


async def step(state: Route) -> str:
    """Where the node that just ran wants to go. Async, because LangGraph gives a sync function a thread hop."""
    return state.get("step", "model")


def _bound(node: Node, provider: Provider) -> Callable[..., Awaitable[dict[str, Any]]]:
    async def run(state: State, config: RunnableConfig) -> dict[str, Any]:
        return await node(state, Turn.of(await provider(), config))

    run.__name__ = node.__name__
    return run


def assemble(services: Services, checkpointer: BaseCheckpointSaver[str] | None) -> Agent:
    """The agent, ready to run.

    Args:
        services: with a ledger, unless there is nothing to sign.
        checkpointer: where an approval waits.

    Raises:
        CountersignError: ``unsafe_assembly``: write tools without a ledger or a checkpointer. It is refused here, not
            at the first write.
    """
    if services.bridge.has_writes():
        parts: list[tuple[str, object, type]] = [
            ("a ledger", services.ledger, Ledger),
            ("a checkpointer", checkpointer, BaseCheckpointSaver),
        ]
        for part, given, wanted in parts:
            if not isinstance(given, wanted):  # LangGraph also takes False and None for a checkpointer
                raise CountersignError(
                    "unsafe_assembly",
                    f"An agent with write tools needs {part}.",
                    "Use open_agent(), or give both to assemble().",
                )

    async def provider() -> Services:
        return services

    return build_graph(provider).compile(checkpointer=checkpointer)
