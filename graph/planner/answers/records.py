"""One customer, and one order's whereabouts, in words."""

from typing import Final

from erp_mcp.contract import JsonObject
from graph.planner.answers.shapes import first, inner, moment
from graph.planner.phrase import Language
from graph.planner.steps import Call

_STATES: Final = {
    "not_shipped": ("not shipped yet", "尚未发货"),
    "in_transit": ("on its way", "运输中"),
    "delivered": ("delivered", "已送达"),
    "cancelled": ("cancelled, nothing is on its way", "已取消，没有发货"),
}
_CUSTOMER: Final = (
    ("contact", "Contact", "联系人"),
    ("phone", "Phone", "电话"),
    ("email", "E-mail", "邮箱"),
    ("open_orders", "Open orders", "未完成订单"),
    ("last_order_at", "Last order", "最近下单"),
)
_SHIPPING: Final = (
    ("carrier", "Carrier", "承运商"),
    ("tracking_number", "Tracking number", "运单号"),
    ("shipped_at", "Shipped", "发货时间"),
)


def customer(call: Call, body: JsonObject, language: Language) -> str:
    """A customer as filed; "" where the answer is none."""
    number = first(body, "customer_id", "id")
    if not number:
        return ""
    zh = language == "zh"
    where = ", ".join(str(value) for value in inner(body, "address").values() if value)
    address = [f"{'地址' if zh else 'Address'}: {where}"] if where else []
    return "\n".join([f"{first(body, 'name')} ({number})", *_labelled(body, _CUSTOMER, zh=zh), *address])


def shipping(call: Call, body: JsonObject, language: Language) -> str:
    """Where an order is; "" where the answer does not say."""
    state = first(body, "state")
    if not state:
        return ""
    zh = language == "zh"
    said = _STATES.get(state, (state, state))[zh]
    number = first(body, "order_id")
    head = f"订单 {number}：{said}" if zh else f"Order {number}: {said}"
    return "\n".join([head, *_labelled(body, _SHIPPING, zh=zh)])


def _labelled(body: JsonObject, labels: tuple[tuple[str, str, str], ...], *, zh: bool) -> list[str]:
    return [f"{name_zh if zh else en}: {moment(first(body, key))}" for key, en, name_zh in labels if first(body, key)]
