"""Effects: what a plan would do to the tables, as pure data, and the one function that does it.

Each aggregate has its own file of effects (``order_effects``, ``stock_effects``), which registers how each is applied.
"""

from functools import singledispatch

from erp_mcp.contract import JsonObject
from erp_mcp.errors import ErpError
from erp_mcp.store.transaction import Tx


class Effect:
    """Base of all effects: frozen dataclasses that name rows, the versions they were seen at, and new values."""


@singledispatch
def apply(effect: Effect, tx: Tx, approval_id: str) -> JsonObject:
    """Do it, with compare-and-set on every version that the effect names.

    Args:
        effect: what to do.
        tx: the write's own transaction.
        approval_id: written beside everything that changes, so that each change leads back to a person.

    Returns:
        What only execution could allocate (an order's number, new versions), for the receipt.

    Raises:
        ErpError: ``stale_version`` or ``insufficient_stock``; the caller rolls back.
    """
    raise TypeError(f"no way to apply {type(effect).__name__}")


def stale(what: str, version: int) -> ErpError:
    """The refusal of a compare-and-set: somebody else was faster."""
    return ErpError(
        "stale_version",
        f"{what} is no longer at version {version}.",
        "Nothing was done. Call the tool again without a grant for a fresh preview, and ask for approval again.",
    )
