"""The graph's state: plain data only. Approvals live in the ledger; state merely points at them."""

from typing import Annotated, Any, Literal, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.channels import DeltaChannel

from graph.messages import merge_messages

Step = Literal["model", "read", "propose", "approve", "execute", "done"]


def last(_before: Any, after: Any) -> Any:
    """Of two writes in one step the later wins: a forged ``Command(goto=…)`` beside a node must not break it."""
    return after


class State(TypedDict, total=False):
    """What a checkpoint holds.

    Keys:
        messages: the conversation; only what is new is stored with each checkpoint.
        requested_by: who asks.
        step: where the graph goes next.
        request: what ``approve`` shows, with approval ids and digests.
        together: whether the gated calls of a message run all or nothing.
    """

    messages: Annotated[list[AnyMessage], DeltaChannel(merge_messages)]
    requested_by: Annotated[str, last]
    step: Annotated[Step, last]
    request: Annotated[dict[str, Any], last]
    together: Annotated[bool, last]


class Route(TypedDict, total=False):
    """What routing looks at; reading no more than that is cheaper."""

    step: Annotated[Step, last]


class Input(TypedDict, total=False):
    """What a run may be started with, from Studio too."""

    messages: list[AnyMessage]
    requested_by: str
    together: bool
