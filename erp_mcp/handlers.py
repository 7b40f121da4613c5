"""What answers a call: each tool of the registry joined with the database, the grants and whoever asks."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from erp_mcp.calls import ALL_TOOLS, Calls, Handler, Offer, Served, refuse_lacking
from erp_mcp.contract import META_GRANT, META_GRANTS, BatchAnswer, BatchCall, JsonObject, WriteAnswer
from erp_mcp.errors import ErpError
from erp_mcp.fields import hidden
from erp_mcp.grants import Verifier
from erp_mcp.operations.execute import batch
from erp_mcp.owners import own_arguments
from erp_mcp.principal import Principal
from erp_mcp.registry import Registry, Tool
from erp_mcp.schema import input_schema, output_schema, parse_arguments
from erp_mcp.skill import Skill
from erp_mcp.store.engine import Store
from erp_mcp.tools.arguments import MAX_LINES

BATCH: Final = "batch"

Unapproved = Callable[[Principal, BatchCall, JsonObject], WriteAnswer]
"""What a host does with a call without a grant, and its ``_meta``: it opens an approval, and says in its answer which.
It gets the call before it is planned: what was asked for earlier and is done by now could not be planned again."""


def all_calls(
    store: Store,
    registry: Registry,
    verifier: Verifier,
    *,
    offer: Offer = ALL_TOOLS,
    outside: Offer = ALL_TOOLS,
    further: Iterable[Served] = (),
    unapproved: Unapproved | None = None,
) -> Calls:
    """The door of one ERP.

    Args:
        store: its database.
        registry: its tools.
        verifier: checks the grants that hosts send in ``_meta``.
        offer: which tools there are.
        outside: which of them those get who are not inside the process.
        further: tools of the host beside the ERP's own.
        unapproved: what becomes of a write without a grant by somebody outside; None leaves it at the preview.

    Raises:
        SkillError: an internal skill that there is no work for.
    """
    served = list(further)
    for tool in registry:
        if offer.has(tool.risk, tool.skill.exposure):
            reads = tool.risk == "read"
            handler = (
                _read_handler(store, tool) if reads else _write_handler(store, registry, verifier, tool, unapproved)
            )
            served.append(_served(tool, handler))
    for skill in registry.internal.values():
        if skill.name != BATCH:
            raise skill.error("name", f"there is no internal tool {skill.name}")
        if offer.has(skill.risk, skill.exposure):
            served.append(_batch(skill, store, registry, verifier))
    _refuse_taken(served, registry)
    return Calls(served, outside)


def _refuse_taken(served: Sequence[Served], registry: Registry) -> None:
    """A name or an address that the host has for a tool of its own is not given to a skill's."""
    names: set[str] = set()
    shapes: set[tuple[str, str]] = set()
    for tool in served:  # the host's come first
        shape = None if tool.route is None else tool.route.shape
        if tool.name in names or shape in shapes:
            key = "name" if tool.name in names else "rest"
            raise registry.tool(tool.name).skill.error(key, f"{key} is that of a tool of the host")
        names.add(tool.name)
        shapes |= set() if shape is None else {shape}


class BatchArguments(BaseModel):
    """The arguments of ``batch``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    calls: list[BatchCall] = Field(min_length=1, max_length=MAX_LINES, description="the calls, in order")


def _served(tool: Tool, handler: Handler) -> Served:
    skill = tool.skill
    return Served(
        name=tool.name,
        description=skill.description,
        risk=tool.risk,
        scopes=frozenset(skill.scopes),
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        handler=handler,
        exposure=skill.exposure,
        hidden=hidden(skill.personal),
        bindable=skill.belongs_to is not None,
        route=skill.route,
        body=skill.body,
    )


def _batch(skill: Skill, store: Store, registry: Registry, verifier: Verifier) -> Served:
    def handle(principal: Principal, raw: JsonObject, meta: JsonObject) -> BatchAnswer:
        arguments = parse_arguments(BatchArguments, raw)
        calls: list[BatchCall] = arguments.calls  # type: ignore[attr-defined]
        for call in calls if principal.scopes is not None else ():
            refuse_lacking(principal, call.tool, registry.tool(call.tool).skill.scopes)
        return BatchAnswer(answers=batch(store, verifier, registry, calls, _grants(meta)))

    ends = input_schema(BatchArguments), output_schema(BatchAnswer)
    return Served(skill.name, skill.description, skill.risk, frozenset(skill.scopes), *ends, handle)


def _read_handler(store: Store, tool: Tool) -> Handler:
    def handle(principal: Principal, raw: JsonObject, meta: JsonObject) -> BaseModel:
        if principal.customer is not None:
            raw = own_arguments(store, tool, principal.customer, raw)
        arguments = tool.parse(raw)
        with store.read() as tx:
            return tool.read(tx, arguments)

    return handle


def _write_handler(
    store: Store, registry: Registry, verifier: Verifier, tool: Tool, unapproved: Unapproved | None
) -> Handler:
    def handle(principal: Principal, raw: JsonObject, meta: JsonObject) -> WriteAnswer:
        if principal.customer is not None:
            raw = own_arguments(store, tool, principal.customer, raw)
        call, grant = BatchCall(tool=tool.name, arguments=raw), _grant(meta)
        if grant is None and unapproved is not None and not principal.inside:
            return unapproved(principal, call, meta)
        return batch(store, verifier, registry, [call], grant)[0]

    return handle


def _grant(meta: JsonObject) -> list[str] | None:
    if META_GRANTS in meta:
        raise _malformed(f"{META_GRANTS} belongs to {BATCH}; a single call takes {META_GRANT}")
    token = meta.get(META_GRANT)
    if token is not None and not isinstance(token, str):
        raise _malformed(f"{META_GRANT} is not text")
    return None if token is None else [token]


def _grants(meta: JsonObject) -> list[str] | None:
    if META_GRANT in meta:
        raise _malformed(f"{META_GRANT} belongs to a single call; {BATCH} takes {META_GRANTS}")
    tokens = meta.get(META_GRANTS)
    if tokens is not None and not (isinstance(tokens, list) and all(isinstance(token, str) for token in tokens)):
        raise _malformed(f"{META_GRANTS} is not a list of texts")
    return tokens


def _malformed(why: str) -> ErpError:
    return ErpError("grant_invalid", f"The grant was not accepted: {why}.", "Send the grant that the host signed.")
