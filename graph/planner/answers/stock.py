"""Products and stock in words."""

from erp_mcp.contract import JsonObject
from graph.planner.answers.shapes import first, money, rows, stock_rows
from graph.planner.phrase import Language
from graph.planner.steps import Call


def stock(call: Call, body: JsonObject, language: Language) -> str:
    """On hand, reserved and available, for each warehouse."""
    found = stock_rows(body)
    if not found:
        return ""
    zh = language == "zh"
    head = f"{first(body, 'sku')} {first(body, 'name', 'product_name', 'product')}".strip()
    lines = [_level(row, zh=zh) for row in found]
    totals = body.get("totals") or body.get("total")
    if len(found) > 1 and isinstance(totals, dict):
        lines.append(("合计" if zh else "In all") + _level(totals, zh=zh)[1:])
    if len(lines) == 1:
        return f"{head}{'：' if zh else ': '}{lines[0][2:]}"
    return "\n".join([f"{head}{'：' if zh else ':'}", *lines])


def product(call: Call, body: JsonObject, language: Language) -> str:
    """Name, price, and the rest as the ERP names it."""
    sku = first(body, "sku")
    if not sku:
        return ""
    zh = language == "zh"
    head = f"{sku} {first(body, 'name')}".strip()
    price = money(body, "list_price", "price", "unit_price")
    lines = [f"{head}: {('单价 ' if zh else 'price ')}{price}" if price else head]
    for name, label_zh in (("category", "类别"), ("description", "说明"), ("available", "可用"), ("status", "状态")):
        if value := first(body, name):
            lines.append(f"{label_zh if zh else name.capitalize()}: {value}")
    if body.get("discontinued") is True:
        lines.append("已停产，不能再订购。" if zh else "Discontinued: it cannot be ordered.")
    lines += [_tier(tier, first(body, "currency"), zh=zh) for tier in rows(body, "tiers", "price_tiers")]
    return "\n".join(lines)


def _level(row: JsonObject, *, zh: bool) -> str:
    labels = (("on_hand", "on hand", "在库"), ("reserved", "reserved", "已预留"), ("available", "available", "可用"))
    parts = [f"{label_zh if zh else label} {row[key]}" for key, label, label_zh in labels if row.get(key) is not None]
    place = first(row, "warehouse", "code")
    return f"- {place + ': ' if place else ''}{', '.join(parts)}"


def _tier(tier: JsonObject, currency: str, *, zh: bool) -> str:
    least = first(tier, "min_quantity", "from_quantity", "quantity")
    price = " ".join(filter(None, (first(tier, "unit_price", "net_unit_price", "price"), currency)))
    return f"- 满 {least}：{price}" if zh else f"- from {least}: {price}"
