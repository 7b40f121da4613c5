"""A conversation with the planner, tool by tool, with answers shaped like the ERP's."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from graph.planner import PlannerModel

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
"""A Tuesday."""

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
LINES = {
    "type": "array",
    "items": {"type": "object", "properties": {"sku": TEXT, "quantity": NUMBER}, "required": ["sku", "quantity"]},
}
ADDRESS = {
    "type": "object",
    "properties": dict.fromkeys(("line1", "line2", "city", "region", "postal_code", "country"), TEXT),
}

ARGUMENTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "search_products": (
        {"query": TEXT, "category": TEXT, "in_stock_only": {"type": "boolean"}, "limit": NUMBER, "cursor": TEXT},
        ["query"],
    ),
    "get_product": ({"sku": TEXT}, ["sku"]),
    "get_stock": ({"sku": TEXT, "warehouse": TEXT}, ["sku"]),
    "list_low_stock": ({"warehouse": TEXT, "limit": NUMBER, "cursor": TEXT}, []),
    "stock_history": ({"sku": TEXT, "warehouse": TEXT, "date_from": TEXT, "limit": NUMBER, "cursor": TEXT}, ["sku"]),
    "find_customers": ({"query": TEXT, "limit": NUMBER}, ["query"]),
    "get_customer": ({"customer": TEXT}, ["customer"]),
    "get_order": ({"order_id": TEXT}, ["order_id"]),
    "list_orders": (
        {
            **dict.fromkeys(("customer", "status", "sku", "date_from", "date_to", "cursor"), TEXT),
            "detail": {"type": "boolean"},
            "limit": NUMBER,
        },
        [],
    ),
    "get_customer_purchases": ({"customer": TEXT, "date_from": TEXT, "date_to": TEXT}, ["customer"]),
    "sales_summary": ({"group_by": TEXT, "date_from": TEXT, "date_to": TEXT, "limit": NUMBER}, ["group_by"]),
    "compute_quote": ({"lines": LINES, "customer": TEXT}, ["lines"]),
    "compare_quotes": ({"skus": {"type": "array", "items": TEXT}, "quantity": NUMBER}, ["skus", "quantity"]),
    "check_shipping": ({"order_id": TEXT}, ["order_id"]),
    "check_balance": ({"customer": TEXT}, ["customer"]),
    "create_order": (
        {"customer": TEXT, "lines": LINES, "warehouse": TEXT, "ship_to": ADDRESS, "note": TEXT},
        ["customer", "lines"],
    ),
    "update_order": ({"order_id": TEXT, "lines": LINES, "ship_to": ADDRESS, "note": TEXT}, ["order_id"]),
    "cancel_order": ({"order_id": TEXT, "reason": TEXT}, ["order_id", "reason"]),
    "adjust_stock": ({"sku": TEXT, "delta": NUMBER, "reason": TEXT, "warehouse": TEXT}, ["sku", "delta", "reason"]),
    "request_return": (
        {"order_id": TEXT, "lines": LINES, "reason": TEXT, "exchange_for": LINES},
        ["order_id", "lines", "reason"],
    ),
    "update_customer": ({"customer": TEXT, "address": ADDRESS, "phone": TEXT, "email": TEXT}, ["customer"]),
}
"""The arguments of DESIGN section 7, as a live schema says them."""

WRITES = frozenset(
    {
        "check_balance",
        "create_order",
        "update_order",
        "cancel_order",
        "adjust_stock",
        "request_return",
        "update_customer",
    }
)

PRODUCTS = {"NW-001": "Chai", "NW-002": "Chang", "NW-011": "Queso Cabrales", "NW-012": "Queso Manchego La Pastora"}


def tool(name: str, arguments: tuple[dict[str, Any], list[str]] | None = None) -> dict[str, Any]:
    """One tool in OpenAI's format."""
    properties, required = arguments or ARGUMENTS[name]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}


def order(order_id: str) -> dict[str, Any]:
    """An order as get_order answers it."""
    return {
        "order_id": order_id,
        "status": "confirmed",
        "customer_id": "RATTC",
        "customer_name": "Rattlesnake Canyon Grocery",
        "lines": [{"sku": "NW-011", "name": "Queso Cabrales", "quantity": "3", "amount": "63.00"}],
        "total": "63.00",
        "currency": "USD",
    }


def erp(name: str, args: dict[str, Any]) -> Any:
    """What an ERP with everything in order answers."""
    if name == "get_order":
        return order(args["order_id"])
    if name == "get_stock":
        return {
            "sku": args["sku"],
            "name": PRODUCTS.get(args["sku"], "?"),
            "warehouses": [{"warehouse": "MAIN", "on_hand": "22", "reserved": "3", "available": "19"}],
        }
    if name == "search_products":
        hits = [s for s, n in PRODUCTS.items() if args["query"].casefold() in n.casefold()]
        return {"items": [{"sku": s, "name": PRODUCTS[s]} for s in hits], "total": len(hits)}
    if name in WRITES:
        result = {"order_id": args.get("order_id", "SO20261201-0001")}
        receipt = {
            "approval_id": "ap-1",
            "tool": name,
            "status": "executed",
            "result": result,
            "approver": "andrew",
            "requested_by": "nancy",
            "executed_at": "2026-12-01T09:00:00Z",
        }
        return {"outcome": "executed", "receipt": receipt}
    return {"items": [], "total": 0}


@dataclass
class Talk:
    """What happened: every round of calls, and the final answer."""

    rounds: list[list[tuple[str, dict[str, Any]]]]
    answer: str
    messages: list[AnyMessage]

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """All calls in order."""
        return [call for calls in self.rounds for call in calls]

    @property
    def writes(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls that a person would have to sign."""
        return [call for call in self.calls if call[0] in WRITES]


def talk(
    text: str,
    answers: Callable[[str, dict[str, Any]], Any] = erp,
    *,
    tools: list[dict[str, Any]] | None = None,
    before: list[AnyMessage] | None = None,
) -> Talk:
    """One turn to its end: the user's ``text``, the planner's calls answered by ``answers``."""
    model = PlannerModel(clock=lambda: NOW).bind_tools(tools if tools is not None else [tool(n) for n in ARGUMENTS])
    messages: list[AnyMessage] = [*(before or []), HumanMessage(text)]
    rounds: list[list[tuple[str, dict[str, Any]]]] = []
    while True:
        said = model.invoke(messages)
        assert isinstance(said, AIMessage)
        messages.append(said)
        if not said.tool_calls:
            return Talk(rounds, said.text, messages)
        rounds.append([(call["name"], call["args"]) for call in said.tool_calls])
        assert len(rounds) < 8, rounds
        for call in said.tool_calls:
            answer = answers(call["name"], call["args"])
            content = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
            messages.append(ToolMessage(content, tool_call_id=call["id"]))
