"""Lists, quotes and sums in words: which values of a row are shown, and in which order, as data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from erp_mcp.contract import JsonObject
from graph.planner.answers.orders import SHOWN, status_text
from graph.planner.answers.shapes import first, inner, moment, money, rows
from graph.planner.phrase import Language
from graph.planner.steps import Call


@dataclass(frozen=True)
class Column:
    """One value of a row, with a label in front where the bare value would say nothing."""

    name: str
    en: str = ""
    zh: str = ""
    kind: str = "text"

    def text(self, row: JsonObject, language: Language) -> str:
        """The value for people; empty where the row has none."""
        value = money(row, self.name) if self.kind == "money" else first(row, self.name)
        if self.kind == "moment":
            value = moment(value)
        if self.kind == "status":
            value = status_text(value, language)
        label = self.zh if language == "zh" else self.en
        return f"{label} {value}" if value and label else value


_PRODUCT: Final = (Column("sku"), Column("name"))
_QUOTED: Final = (
    Column("quantity", "quantity", "数量"),
    *_PRODUCT,
    Column("net_unit_price", "at", "单价"),
    Column("amount", "amount", "金额", "money"),
    Column("problem", "but", "注意"),
)
_COLUMNS: Final[dict[str, Sequence[Column]]] = {
    "search_products": (
        *_PRODUCT,
        Column("category"),
        Column("unit_price", kind="money"),
        Column("available", "available", "可用"),
    ),
    "list_low_stock": (
        *_PRODUCT,
        Column("warehouse"),
        Column("available", "available", "可用"),
        Column("reorder_level", "reorder level", "补货线"),
        Column("short_by", "short by", "缺"),
    ),
    "stock_history": (
        Column("at", kind="moment"),
        Column("warehouse"),
        Column("kind"),
        Column("on_hand_change", "on hand changed by", "库存变化"),
        Column("on_hand_after", "to", "变为"),
        Column("reserved_change", "reserved changed by", "预留变化"),
        Column("order_id"),
        Column("reason"),
    ),
    "find_customers": (
        Column("customer_id"),
        Column("name"),
        Column("contact", "contact", "联系人"),
        Column("city"),
        Column("country"),
    ),
    "sales_summary": (
        Column("key"),
        Column("name"),
        Column("amount", kind="money"),
        Column("quantity", "quantity", "数量"),
        Column("orders", "orders", "订单数"),
    ),
    "compare_quotes": _QUOTED,
    "compute_quote": _QUOTED,
    "get_customer_purchases": (
        *_PRODUCT,
        Column("status", kind="status"),
        Column("quantity", "quantity", "数量"),
        Column("amount", kind="money"),
    ),
}


def table(call: Call, body: JsonObject, language: Language) -> str:
    """The rows of a list, how many there are, its totals and its problems; "" where the answer is no list."""
    page = inner(body, "products") or body
    found = rows(page, "items", "lines")
    zh = language == "zh"
    if not found and "items" not in page and "lines" not in page:
        return ""
    columns = _COLUMNS[call.tool]
    lines = ["- " + " · ".join(filter(None, (c.text(row, language) for c in columns))) for row in found[:SHOWN]]
    total = first(page, "total") or str(len(found))
    if total.isdigit() and int(total) > len(lines):
        lines.append(f"（显示前 {len(lines)} 个，共 {total} 个）" if zh else f"(the first {len(lines)} of {total})")
    head = [_head(body)] if _head(body) else []
    nothing = [] if found else ["没有符合条件的结果。" if zh else "Nothing matches."]
    return "\n".join([*head, *lines, *nothing, *_sums(body, zh=zh), *_apart(body, zh=zh)])


def _head(body: JsonObject) -> str:
    name = first(body, "customer_name") or (first(body, "name") if "sku" in body else "")
    number = first(body, "customer_id", "sku")
    return f"{name} ({number})" if name and number else ""


def _sums(body: JsonObject, *, zh: bool) -> list[str]:
    """One total per currency; what was cancelled or paid back stands apart."""
    labels = (
        ("totals", "Total", "合计"),
        ("cancelled", "Cancelled, not in the total", "已取消（不计入合计）"),
        ("refunded", "Refunded", "已退款"),
    )
    lines: list[str] = []
    for name, en, label_zh in labels:
        for row in rows(body, name):
            count = first(row, "orders")
            many = (f"（{count} 个订单）" if zh else f" ({count} orders)") if count else ""
            lines.append(f"{label_zh}：{money(row, 'amount')}{many}" if zh else f"{en}: {money(row, 'amount')}{many}")
    return lines


def _apart(body: JsonObject, *, zh: bool) -> list[str]:
    """SKUs that could not be compared, and why an order like this would be refused."""
    missing = [str(sku) for sku in body.get("missing") or [] if isinstance(sku, str)]
    stopped = [first(row, "sku") for row in rows(body, "discontinued")]
    problems = [str(problem) for problem in body.get("problems") or [] if isinstance(problem, str)]
    lines = [f"{'找不到' if zh else 'Not found'}: {', '.join(missing)}"] if missing else []
    lines += [f"{'已停产' if zh else 'Discontinued'}: {', '.join(stopped)}"] if stopped else []
    return lines + [f"{'注意' if zh else 'Note'}: {problem}" for problem in problems]
