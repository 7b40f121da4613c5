"""Whose tool an approval is about: the ERP's, or another MCP server's. Pure."""

from typing import Any


def is_external(preview: dict[str, Any]) -> bool:
    """Whether an approval's preview is of another server's tool, whose effects the ERP does not know."""
    facts = preview.get("facts", {})
    return "server" in facts and "definition" in facts
