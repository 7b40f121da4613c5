"""A call's result in words, in the language of the question."""

from collections.abc import Callable
from typing import Final

from erp_mcp.contract import JsonObject
from graph.planner.answers import orders, records, stock, tables
from graph.planner.answers.errors import explain
from graph.planner.answers.plain import plain
from graph.planner.answers.writes import describe_write
from graph.planner.phrase import Language
from graph.planner.steps import GATED, Call, Result

_DESCRIBERS: Final[dict[str, Callable[[Call, JsonObject, Language], str]]] = {
    **dict.fromkeys(
        (
            "search_products",
            "list_low_stock",
            "stock_history",
            "find_customers",
            "sales_summary",
            "compare_quotes",
            "compute_quote",
            "get_customer_purchases",
        ),
        tables.table,
    ),
    "get_customer": records.customer,
    "check_shipping": records.shipping,
    "get_order": orders.order,
    "list_orders": orders.listed,
    "get_stock": stock.stock,
    "get_product": stock.product,
}


def describe(call: Call, answer: Result | None, language: Language) -> str:
    """What the user is told about this call.

    Args:
        call: with the argument names of DESIGN section 7.
        answer: what the tool said; None where there is no answer.
        language: of the text around the values.
    """
    said = "" if answer is None else _words(call, answer, language)
    if said.strip():
        return said
    return f"{call.tool} 没有返回结果。" if language == "zh" else f"{call.tool} gave no answer."


def _words(call: Call, answer: Result, language: Language) -> str:
    if answer.error is not None:
        return explain(answer.error, language)
    if call.tool in GATED and ("outcome" in answer.body or "status" in answer.body or "receipt" in answer.body):
        return describe_write(call, answer.body, language)
    describer = _DESCRIBERS.get(call.tool)
    if describer is None or not answer.body:
        return plain(answer)
    return describer(call, answer.body, language) or plain(answer)
