"""The ERP's refusals for the user: its message, candidates to choose from, and what the user can do next.

The ERP's own hint speaks to a model ("call list_orders …"). For the usual codes the user hears the same in words that
work here; the hint of any other code is passed on as it is.
"""

from typing import Any, Final

from erp_mcp.contract import JsonObject
from graph.planner.answers.plain import row_text
from graph.planner.phrase import Language

_NEXT: Final[dict[str, tuple[str, str]]] = {
    "order_not_found": (
        "Check the number, or ask me to list the orders of a customer.",
        "请核对订单号，或让我列出某个客户的订单。",
    ),
    "product_not_found": ("Give me the exact SKU.", "请给出准确的货号（SKU）。"),
    "customer_not_found": ("Give me the customer's id or exact name.", "请给出客户编号或全名。"),
    "product_discontinued": ("Order another product instead.", "请换一种商品。"),
    "insufficient_stock": ("Ask for less, or for another product.", "请减少数量，或换一种商品。"),
    "warehouse_not_found": ("Leave the warehouse out, or name one that exists.", "请不要写仓库，或写一个存在的仓库。"),
    "not_cancellable": ("It is too late to cancel; goods can be returned.", "已不能取消；收到货后可以退货。"),
    "already_cancelled": ("There is nothing left to do.", "无需再做什么。"),
    "not_updatable": ("It is too late to change it.", "已不能修改。"),
    "not_returnable": ("Only goods that were shipped can come back.", "只有已发货的商品才能退。"),
    "return_exceeds_order": ("Ask for less to be returned.", "请减少退货数量。"),
    "nothing_to_change": ("It is already as you want it.", "已经是您要的样子。"),
    "mixed_currencies": ("Make one order per currency.", "请按币种分别下单。"),
    "ambiguous": ("Name one of them by its id.", "请用编号指明其中一个。"),
    "stale_version": ("It changed in the meantime. Ask me again.", "数据在此期间已变化，请重新提出。"),
    "database_busy": ("Ask me again in a moment.", "请稍后再试。"),
    "tool_not_offered": ("Ask for something else.", "请换一个请求。"),
    "schema_changed": ("The tool changed; ask for it in another way.", "该工具已变化，请换一种方式提出。"),
}
_LISTS: Final = ("candidates", "suggestions", "shortages", "warehouses", "allowed")


def explain(error: JsonObject, language: Language) -> str:
    """Message and next step; candidates with a question; shortages line by line."""
    zh = language == "zh"
    while isinstance(error.get("error"), dict):
        error = error["error"]
    message = str(error.get("message") or error.get("code") or "")
    lines = [("没有完成：" if zh else "Not done: ") + message]
    for name in _LISTS:
        values = error.get(name)
        if isinstance(values, list) and values:
            lines += [f"- {_one(value)}" for value in values[:10]]
            if name in {"candidates", "suggestions"}:
                lines.append("您指的是哪一个？" if zh else "Which one do you mean?")
    known = _NEXT.get(str(error.get("code")))
    step = known[zh] if known else error.get("hint")
    if step:
        lines.append(f"{'下一步：' if zh else 'Next: '}{step}")
    return "\n".join(lines)


def _one(value: Any) -> str:
    return row_text(value) if isinstance(value, dict) else str(value)
