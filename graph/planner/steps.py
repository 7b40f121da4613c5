"""What an intent can want next, a call or a sentence, and what a call answered."""

from dataclasses import dataclass
from typing import Final

from erp_mcp.contract import JsonObject, canonical_json

GATED: Final = frozenset(
    {
        "check_balance",
        "create_order",
        "update_order",
        "cancel_order",
        "adjust_stock",
        "request_return",
        "update_customer",
    }
)
"""Tools that a person signs (DESIGN section 7): called after the reads, together in one message."""


@dataclass(frozen=True)
class Call:
    """One tool call, with the argument names of DESIGN section 7; the bound schema may rename them later."""

    tool: str
    arguments: JsonObject

    @property
    def key(self) -> str:
        """The same for equal calls, whatever the order of their arguments."""
        try:
            return self.tool + canonical_json(self.arguments).decode()
        except ValueError:
            return self.tool + repr(self.arguments)


@dataclass(frozen=True)
class Say:
    """Something to tell or ask the user instead of a call."""

    text: str


Step = Call | Say


@dataclass(frozen=True)
class Result:
    """What a tool answered: ``data`` parsed (None where it was no JSON), ``text`` as it came."""

    data: object
    text: str

    @property
    def body(self) -> JsonObject:
        """The answer as an object; empty where it is none."""
        return self.data if isinstance(self.data, dict) else {}

    @property
    def error(self) -> JsonObject | None:
        """The ERP's refusal (code, message, hint), or None where it is no refusal."""
        error = self.body.get("error")
        if isinstance(error, dict):
            return error
        return {"message": error} if isinstance(error, str) and error else None
