"""What became of a write: executed, rejected, expired, stale, or not known."""

from typing import Final

from erp_mcp.contract import JsonObject
from graph.planner.answers.shapes import first, inner, moment, money, rows
from graph.planner.phrase import Language
from graph.planner.steps import Call

_DONE: Final = frozenset({"executed", "already_executed"})
_OUTCOMES: Final[dict[str, tuple[str, str]]] = {
    "rejected": ("Not done: the approver rejected it", "未执行：审批人已拒绝"),
    "expired": (
        "Not done: nobody answered in time, and nothing was changed",
        "未执行：审批超时，无人答复，没有做任何更改",
    ),
    "stale": ("Not done: the data changed since the preview", "未执行：预览之后数据已变化"),
    "superseded": ("Not done: a newer request took its place", "未执行：已被新的请求取代"),
    "failed": ("Not done: the ERP refused it", "未执行：ERP 拒绝了该操作"),
    "unknown": (
        "It is not known whether this was done; it was not tried again",
        "结果未知：尚不确定是否已执行，没有重试",
    ),
    "schema_changed": ("Not done: the tool changed while this waited", "未执行：等待期间工具定义已变化"),
    "forbidden": ("Not done: the approver may not decide this", "未执行：审批人无权决定"),
    "paused": ("Not done: approvals are paused", "未执行：审批已暂停"),
    "approval_required": ("Waiting for approval; nothing was changed yet", "等待审批，尚未做任何更改"),
    "pending": ("Waiting for approval; nothing was changed yet", "等待审批，尚未做任何更改"),
    "recorded": ("The decision is recorded; other calls are still open", "决定已记录，其他操作仍待审批"),
}


def describe_write(call: Call, body: JsonObject, language: Language) -> str:
    """The outcome with its reason; for what was done, what it was and who approved it.

    ``arguments`` in the answer are those that the approver changed the call to.
    """
    changed = body.get("arguments")
    call = Call(call.tool, changed) if isinstance(changed, dict) else call
    outcome = first(body, "outcome", "status")
    zh = language == "zh"
    if outcome in _DONE:
        return _done(call, body, outcome, zh=zh)
    known = _OUTCOMES.get(outcome)
    text = known[zh] if known else (f"未执行（{outcome}）" if zh else f"Not done ({outcome})")
    why = first(body, "reason", "decision_reason") or ("" if known else first(body, "message"))
    parts = (f"{_what(call, zh=zh)}：{text}", "：", "。") if zh else (f"{_what(call, zh=zh)}. {text}", ": ", ".")
    return (parts[0] + (parts[1] + why if why else "")).rstrip(".。") + parts[2]


def _done(call: Call, body: JsonObject, outcome: str, *, zh: bool) -> str:
    receipt = inner(body, "receipt") or body
    lines = [_sentence(call, inner(receipt, "result"), zh=zh)]
    if outcome == "already_executed":
        lines.append("（此前已执行过，没有重复执行。）" if zh else "(It had been done before, and was not done twice.)")
    approver, when, number = (first(receipt, name) for name in ("approver", "executed_at", "approval_id"))
    if approver or number:
        parts = [
            (f"审批人 {approver}" if zh else f"Approved by {approver}") if approver else "",
            (f"执行时间 {moment(when)}" if zh else f"executed {moment(when)}") if when else "",
            (f"审批编号 {number}" if zh else f"approval {number}") if number else "",
        ]
        lines.append(("，" if zh else ", ").join(filter(None, parts)) + ("。" if zh else "."))
    return "\n".join(lines)


def _sentence(call: Call, result: JsonObject, *, zh: bool) -> str:
    number = first(result, "order_id", "id", "order_number") or str(call.arguments.get("order_id", ""))
    total = money(result, "total", "total_amount")
    if call.tool == "cancel_order":
        return f"已取消订单 {number}。" if zh else f"Done: order {number} is cancelled."
    if call.tool == "create_order":
        worth = (f"，合计 {total}" if zh else f", total {total}") if total else ""
        return f"已创建订单 {number}{worth}。" if zh else f"Done: order {number} is placed{worth}."
    if call.tool == "adjust_stock":
        sku, delta = first(result, "sku") or call.arguments.get("sku", ""), call.arguments.get("delta", "")
        signed = f"+{delta}" if not str(delta).startswith("-") else str(delta)
        after = first(result, "on_hand", "on_hand_after", "after")
        now = (f"，现有库存 {after}" if zh else f"; on hand now {after}") if after else ""
        return f"已调整 {sku} 库存 {signed}{now}。" if zh else f"Done: stock of {sku} changed by {signed}{now}."
    if call.tool == "check_balance":
        return _balance(call, result, zh=zh)
    more = (
        [(f"退货单 {first(result, 'return_id')}" if zh else f"return {first(result, 'return_id')}")]
        if first(result, "return_id")
        else []
    )
    sent = first(result, "exchange_order_id")
    more += [f"换货订单 {sent}" if zh else f"exchange order {sent}"] if sent else []
    for name, en, label_zh in (("refund", "refund", "退款"), ("total", "total", "合计")):
        more += [f"{label_zh if zh else en} {money(result, name)}"] if first(result, name) else []
    tail = ("，" if zh else ", ").join(more)
    what = _what(call, zh=zh)
    return f"已完成：{what}{'，' if tail else ''}{tail}。" if zh else f"Done: {what}{', ' if tail else ''}{tail}."


def _balance(call: Call, result: JsonObject, *, zh: bool) -> str:
    who = first(result, "customer") or str(call.arguments.get("customer", ""))
    amounts = ", ".join(money(row, "amount") for row in rows(result, "open_amounts")) or "0"
    limit = first(result, "credit_limit")
    limit = money(result, "credit_limit") if limit not in {"", "none"} else ("无" if zh else "none")
    if zh:
        return f"{who}：未结金额 {amounts}，信用额度 {limit}。"
    return f"{who}: open amount {amounts}, credit limit {limit}."


def _what(call: Call, *, zh: bool) -> str:
    """The call in a few words."""
    order, sku = call.arguments.get("order_id", ""), call.arguments.get("sku", "")
    customer = call.arguments.get("customer", "")
    words = {
        "cancel_order": (f"Cancel order {order}", f"取消订单 {order}"),
        "create_order": (f"Order for {customer}", f"为 {customer} 下单"),
        "adjust_stock": (
            f"Adjust stock of {sku} by {call.arguments.get('delta', '')}",
            f"调整 {sku} 库存 {call.arguments.get('delta', '')}",
        ),
        "update_order": (f"Change order {order}", f"修改订单 {order}"),
        "request_return": (f"Return for order {order}", f"订单 {order} 退货"),
        "update_customer": (f"Change customer {customer}", f"修改客户 {customer}"),
        "check_balance": (f"Balance of {customer}", f"{customer} 的余额"),
    }
    return words.get(call.tool, (call.tool, call.tool))[zh]
