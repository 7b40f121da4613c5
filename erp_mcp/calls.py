"""What the ERP's door serves, whichever way in: one call by a principal in, the JSON of its answer out.

MCP and REST are two ways to the same :class:`Calls`. Errors are written here, not by a framework: a refusal is the JSON
of an ``ErpError``. Nothing here logs arguments or grants.
"""

import logging
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from pydantic import BaseModel
from pydantic_core import to_json

from erp_mcp.contract import JsonObject, Risk
from erp_mcp.errors import ErpError
from erp_mcp.fields import Hidden
from erp_mcp.principal import Principal
from erp_mcp.schema import shown
from erp_mcp.skill import Exposure, Route

log = logging.getLogger(__name__)

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
        exposure: whether hosts outside get it unasked.
        hidden: fields of the answer that are left out for those who are not shown personal data.
        bindable: whether a token that is bound to one customer may call it.
        route: where REST serves it.
        body: the business definition (Markdown), for those who ask for it.
    """

    name: str
    description: str
    risk: Risk
    scopes: frozenset[str]
    input_schema: JsonObject
    output_schema: JsonObject
    handler: Handler
    exposure: Exposure = "private"
    hidden: Hidden = field(default_factory=dict)
    bindable: bool = False
    route: Route | None = None
    body: str = ""


@dataclass(frozen=True)
class Offer:
    """Which tools a server offers: reads that are public, and what is added to them.

    Args:
        private: reads that are marked private too.
        writes: tools that write and reads that ask first, too. A write needs its scope and a grant besides.
        batch: with these, ``batch``, which is of use only to those who hold grants.
    """

    private: bool = False
    writes: bool = False
    batch: bool = True

    def has(self, risk: Risk, exposure: Exposure) -> bool:
        """Whether a tool is among them."""
        if risk == "read":
            return self.private or exposure == "public"
        return self.writes and (self.batch or risk != "internal")


PUBLIC: Final = Offer()
READS: Final = Offer(private=True)
ALL_TOOLS: Final = Offer(private=True, writes=True)


class Calls:
    """All that is served.

    Args:
        served: the tools; names are unique.
        outside: which of them those get who are not inside the process.
    """

    def __init__(self, served: Iterable[Served], outside: Offer = ALL_TOOLS) -> None:
        self.served: Final = {tool.name: tool for tool in served}
        self._outside: Final = frozenset(
            tool.name for tool in self.served.values() if outside.has(tool.risk, tool.exposure)
        )

    def offered(self, principal: Principal) -> list[Served]:
        """The tools that this principal may call."""
        return [tool for tool in self.served.values() if self._is_there(principal, tool) and may_call(principal, tool)]

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
            left_out = None if principal.sees_people else tool.hidden
            answer = tool.handler(principal, arguments, meta)
            return to_json(answer, exclude_none=True, exclude=left_out), False
        except ErpError as error:
            people = principal.sees_people and principal.customer is None
            return to_json(error.as_json(people=people)), True
        except Exception as error:  # noqa: BLE001 - the last place where it can be told apart from an answer
            return to_json(incident(name, error).as_json()), True

    def _is_there(self, principal: Principal, tool: Served) -> bool:
        if principal.stranger and not PUBLIC.has(tool.risk, tool.exposure):
            return False
        return principal.inside or tool.name in self._outside

    def _permitted(self, principal: Principal, name: str) -> Served:
        tool = self.served.get(name)
        if tool is None or not self._is_there(principal, tool):
            names = ", ".join(sorted(tool.name for tool in self.offered(principal)))
            raise ErpError("unknown_tool", f"There is no tool {shown(name)}.", f"Use one of: {names}.")
        if not principal.inside:
            refuse_lacking(principal, name, tool.scopes)
            if principal.customer is not None and not tool.bindable:
                raise ErpError(
                    "forbidden",
                    f"{principal.name} is bound to one customer, and {name} answers about all of them.",
                    "Use a tool that answers about one order or customer.",
                )
        return tool


def may_call(principal: Principal, tool: Served) -> bool:
    """Whether a principal may call a tool that is there for them."""
    return not principal.lacks(tool.scopes) and (principal.customer is None or tool.bindable)


def refuse_lacking(principal: Principal, name: str, scopes: Iterable[str]) -> None:
    """Refuse a call for which scopes are lacking.

    Raises:
        ErpError: ``forbidden``, with their names.
    """
    lacking = principal.lacks(scopes)
    if lacking:
        raise ErpError(
            "forbidden",
            f"{principal.name} may not call {name}: the token lacks {', '.join(lacking)}.",
            "Ask whoever runs the ERP for a token with these scopes.",
        )


def incident(name: str, error: Exception) -> ErpError:
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
