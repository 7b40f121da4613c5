"""Any JSON as short lines, for results that have no words of their own."""

from collections.abc import Iterator
from typing import Any, Final

from graph.planner.steps import Result

MAX_LINES: Final = 40


def plain(answer: Result) -> str:
    """The result as ``name: value`` lines; at most MAX_LINES, and then it says how many more there are."""
    if not isinstance(answer.data, dict | list):
        return answer.text.strip()
    lines = list(_lines(answer.data, ""))
    more = [f"… (+{len(lines) - MAX_LINES})"] if len(lines) > MAX_LINES else []
    return "\n".join(lines[:MAX_LINES] + more)


def row_text(row: dict[str, Any]) -> str:
    """One object on one line."""
    return ", ".join(f"{k}: {v}" for k, v in row.items() if not isinstance(v, dict | list) and v not in (None, ""))


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield f"{indent}- {row_text(item) if isinstance(item, dict) else item}"
        return
    for name, inner in value.items():
        if isinstance(inner, list):
            yield f"{indent}{name}:"
            yield from _lines(inner, indent + "  ")
        elif isinstance(inner, dict):
            yield f"{indent}{name}: {row_text(inner)}"
        elif inner not in (None, ""):
            yield f"{indent}{name}: {inner}"
