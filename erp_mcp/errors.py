"""The ERP's errors: one shape for the model (code, message, hint) and for the person (one line)."""

from collections.abc import Collection
from typing import Any, Final

from erp_mcp.contract import JsonObject

RETRYABLE: Final = frozenset({"stale_version", "database_busy"})
"""Codes after which the same call may succeed; every other code is final for these arguments."""


class ErpError(Exception):
    """A refusal that the caller can act on.

    Args:
        code: what programs branch on, for example ``order_not_found``.
        message: what is wrong, with the actual value in it.
        hint: the next step: which tool to call, or what to ask the user.
        personal: names of the details that hold personal data, which not everybody is shown.
        details: further JSON values that belong to the error (candidates, shortages, a fresh preview).
    """

    def __init__(
        self, code: str, message: str, hint: str = "", *, personal: Collection[str] = (), **details: Any
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.personal = frozenset(personal)
        self.details = details

    def as_json(self, *, people: bool = True) -> JsonObject:
        """The error as every tool answers it: ``{"error": {"code", "message", "hint", "retryable", …}}``.

        Args:
            people: with the details that hold personal data.
        """
        body = {"code": self.code, "message": self.message, "hint": self.hint, "retryable": self.code in RETRYABLE}
        details = self.details if people else {k: v for k, v in self.details.items() if k not in self.personal}
        return {"error": body | details}
