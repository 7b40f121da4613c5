"""The ERP's refusals for the user: its message, its hint, and candidates to choose from."""

from typing import Any

from erp_mcp.contract import JsonObject
from graph.planner.answers.plain import row_text
from graph.planner.phrase import Language


def explain(error: JsonObject, language: Language) -> str:
    """Message and hint; the candidates of an ``ambiguous`` with a question; shortages line by line."""
    message = str(error.get("message") or error.get("code") or "")
    lines = [("没有完成：" if language == "zh" else "Not done: ") + message]
    listed = [(name, error.get(name)) for name in ("candidates", "suggestions", "shortages", "warehouses", "allowed")]
    for name, values in listed:
        if isinstance(values, list) and values:
            lines += [f"- {_one(value)}" for value in values[:10]]
            if name in {"candidates", "suggestions"}:
                lines.append("您指的是哪一个？" if language == "zh" else "Which one do you mean?")
    hint = error.get("hint")
    if hint:
        lines.append(f"{'提示：' if language == 'zh' else 'Next: '}{hint}")
    return "\n".join(lines)


def _one(value: Any) -> str:
    return row_text(value) if isinstance(value, dict) else str(value)
