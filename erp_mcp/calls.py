"""What the ERP's door serves, whichever way in: one call by a principal in, the JSON of its answer out.

MCP and REST are two ways to the same :class:`Calls`. Arguments are checked and errors are written here, not by a
framework: a refusal is the JSON of an ``ErpError``. Nothing here logs arguments or grants.
"""

import logging
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from erp_mcp.contract import META_GRANT, META_GRANTS, BatchAnswer, BatchCall, JsonObject, Risk, WriteAnswer
from erp_mcp.errors import ErpError
from erp_mcp.grants import Verifier
from erp_mcp.operations.execute import batch
from erp_mcp.principal import Principal
from erp_mcp.registry import PLANNED, Registry, Tool
from erp_mcp.schema import input_schema, output_schema, parse_arguments, shown
from erp_mcp.skill import Skill, SkillError
from erp_mcp.store.engine import Store
from erp_mcp.tools.arguments import MAX_LINES

log = logging.getLogger(__name__)

BATCH: Final = "batch"

Handler = Callable[[Principal, JsonObject, JsonObject], BaseModel]
"""Who asks, arguments and the request's ``_meta`` in, answer out; runs in a worker thread and may raise ErpError."""


@dataclass(frozen=True)
class Served:
    """One tool at the door.

    Args:
        name: of the tool.
        description: the contract that a model reads.
        risk: read, sensitive, write or internal.
        scopes: all that a principal needs to call it.
        input_schema: JSON Schema of the arguments.
        output_schema: JSON Schema of the answer.
        handler: does the work.
    """

    name: str
    description: str
    risk: Risk
    scopes: frozenset[str]
    input_schema: JsonObject
    output_schema: JsonObject
    handler: Handler


class Calls:
    """All that is served.

    Args:
        served: the tools; names are unique.
    """

    def __init__(self, served: Iterable[Served]) -> None:
        self.served: Final = {tool.name: tool for tool in served}

    def offered(self, principal: Principal) -> list[Served]:
        """The tools that this principal may call."""
        return [tool for tool in self.served.values() if not principal.lacks(tool.scopes)]

    def answer(self, principal: Principal, name: str, arguments: JsonObject, meta: JsonObject) -> tuple[bytes, bool]:
        """Answer one call; blocks on the database.

        Args:
            principal: who asks.
            name: of the tool.
            arguments: as they came.
            meta: the request's ``_meta``: grants, which no schema shows and no model can write.

        Returns:
            The JSON of the answer or of the error, and whether it is an error. It never raises.
        """
        try:
            tool = self._permitted(principal, name)
            return to_json(tool.handler(principal, arguments, meta), exclude_none=True), False
        except ErpError as error:
            return to_json(error.as_json()), True
        except Exception as error:  # noqa: BLE001 - the last place where it can be told apart from an answer
            return to_json(_incident(name, error).as_json()), True

    def _permitted(self, principal: Principal, name: str) -> Served:
        tool = self.served.get(name)
        if tool is None:
            names = ", ".join(sorted(tool.name for tool in self.offered(principal)))
            raise ErpError("unknown_tool", f"There is no tool {shown(name)}.", f"Use one of: {names}.")
        lacking = principal.lacks(tool.scopes)
        if lacking:
            raise ErpError(
                "forbidden",
                f"{principal.name} may not call {name}: the token lacks {', '.join(lacking)}.",
                "Ask whoever runs the ERP for a token with these scopes.",
            )
        return tool


def all_calls(store: Store, registry: Registry, verifier: Verifier, *, writes: bool) -> Calls:
    """The door of one ERP.

    Args:
        store: its database.
        registry: its tools.
        verifier: checks the grants that hosts send in ``_meta``.
        writes: offer write tools, ``batch`` and reads that ask first; otherwise plain reads only.

    Raises:
        SkillError: an internal skill that there is no work for.
    """
    served = []
    for tool in registry:
        if tool.risk in PLANNED and writes:
            served.append(_served(tool, _write_handler(store, registry, verifier, tool)))
        elif tool.risk == "read":
            served.append(_served(tool, _read_handler(store, tool)))
    for skill in registry.internal.values():
        if skill.name != BATCH:
            raise SkillError(skill.path, f"there is no internal tool {skill.name}")
        if writes:
            served.append(_batch(skill, store, registry, verifier))
    return Calls(served)


class BatchArguments(BaseModel):
    """The arguments of ``batch``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    calls: list[BatchCall] = Field(min_length=1, max_length=MAX_LINES, description="the calls, in order")


def _served(tool: Tool, handler: Handler) -> Served:
    skill = tool.skill
    return Served(
        tool.name, skill.description, tool.risk, frozenset(skill.scopes), tool.input_schema, tool.output_schema, handler
    )


def _batch(skill: Skill, store: Store, registry: Registry, verifier: Verifier) -> Served:
    def handle(principal: Principal, raw: JsonObject, meta: JsonObject) -> BatchAnswer:
        arguments = parse_arguments(BatchArguments, raw)
        calls: list[BatchCall] = arguments.calls  # type: ignore[attr-defined]
        return BatchAnswer(answers=batch(store, verifier, registry, calls, _grants(meta)))

    ends = input_schema(BatchArguments), output_schema(BatchAnswer)
    return Served(skill.name, skill.description, skill.risk, frozenset(skill.scopes), *ends, handle)


def _read_handler(store: Store, tool: Tool) -> Handler:
    def handle(principal: Principal, raw: JsonObject, meta: JsonObject) -> BaseModel:
        arguments = tool.parse(raw)
        with store.read() as tx:
            return tool.read(tx, arguments)

    return handle


def _write_handler(store: Store, registry: Registry, verifier: Verifier, tool: Tool) -> Handler:
    def handle(principal: Principal, raw: JsonObject, meta: JsonObject) -> WriteAnswer:
        call = BatchCall(tool=tool.name, arguments=raw)
        return batch(store, verifier, registry, [call], _grant(meta))[0]

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


def _incident(name: str, error: Exception) -> ErpError:
    """An id that joins what the caller is told with the log. Exceptions' texts may repeat arguments: types only."""
    incident = secrets.token_hex(6)
    log.error("incident %s in %s: %s at %s", incident, name, type(error).__name__, _place(error))
    return ErpError(
        "internal_error",
        f"Something went wrong inside the ERP (incident {incident}).",
        "Tell the user the incident's id; the server's log has the rest. To send the same call again is safe: "
        "one grant has one effect.",
        incident=incident,
    )


def _place(error: Exception) -> str:
    trace = error.__traceback__
    steps = []
    while trace is not None:
        code = trace.tb_frame.f_code
        steps.append(f"{code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return " > ".join(steps)
