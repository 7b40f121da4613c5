"""Orders in words."""

from typing import Final

from erp_mcp.contract import JsonObject
from graph.planner.answers.shapes import first, moment, money, rows
from graph.planner.phrase import Language
from graph.planner.steps import Call

SHOWN: Final = 10
"""Rows of a list that an answer shows; the total is always said."""
_STATUS_ZH: Final = {
    "pending": "待确认",
    "confirmed": "已确认",
    "shipped": "已发货",
    "completed": "已完成",
    "cancelled": "已取消",
}


def status_text(status: str, language: Language) -> str:
    """An order status for people; as the ERP says it where it has no translation."""
    return _STATUS_ZH.get(status, status) if language == "zh" else status


def order(call: Call, body: JsonObject, language: Language) -> str:
    """One order with its lines."""
    number = first(body, "order_id", "id", "order_number")
    if not number:
        return ""
    zh = language == "zh"
    who, when = _customer(body), moment(first(body, "placed_at", "business_date", "order_date", "date", "created_at"))
    state = status_text(first(body, "status"), language)
    head = f"订单 {number}：{state}" if zh else f"Order {number}: {state}"
    if who:
        head += f"，客户 {who}" if zh else f", customer {who}"
    if when:
        head += f"，下单时间 {when}" if zh else f", placed {when}"
    lines = [_line(line) for line in rows(body, "lines", "items")]
    total = money(body, "total", "total_amount", "amount")
    return "\n".join([head, *lines, *([f"{'合计' if zh else 'Total'}: {total}"] if total else [])])


def listed(call: Call, body: JsonObject, language: Language) -> str:
    """A list of orders: the first rows, and how many there are of the status that was asked for."""
    found = rows(body, "items", "orders", "result")
    total = first(body, "total", "total_count") or str(len(found))
    status = str(call.arguments.get("status", ""))
    zh = language == "zh"
    kind = f"{status_text(status, language)}的" if zh and status else f"{status} " if status else ""
    if not found:
        return f"没有{kind}订单符合条件。" if zh else f"No {kind}orders match."
    lines = [_summary(row, language) for row in found[:SHOWN]]
    if len(found) > SHOWN or (total.isdigit() and int(total) > len(lines)):
        lines.append(f"（显示前 {len(lines)} 个，共 {total} 个）" if zh else f"(the first {len(lines)} of {total})")
    head = f"共 {total} 个{kind}订单：" if zh else f"{total} {kind}order{'s' if total != '1' else ''}:"
    return "\n".join([head, *lines])


def _customer(body: JsonObject) -> str:
    number, name = first(body, "customer_id", "customer"), first(body, "customer_name", "customer")
    return f"{name} ({number})" if name and number and name != number else name or number


def _line(line: JsonObject) -> str:
    text = f"- {first(line, 'quantity', 'qty')} × {first(line, 'sku')} {first(line, 'name', 'product_name')}".rstrip()
    amount = money(line, "amount", "total")
    return f"{text}: {amount}" if amount else text


def _summary(row: JsonObject, language: Language) -> str:
    when = first(row, "business_date", "placed_at", "order_date", "date")[:10]
    parts = (
        first(row, "order_id", "id", "order_number"),
        when,
        _customer(row),
        status_text(first(row, "status"), language),
        money(row, "total", "total_amount", "amount"),
    )
    return "- " + " · ".join(filter(None, parts))
