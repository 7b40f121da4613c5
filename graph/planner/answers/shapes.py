"""Reading results whose exact shape is the ERP's business: the values by any of their usual names.

The planner must go on answering when a result gains, loses or renames a field, so nothing here raises.
"""

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from erp_mcp.contract import JsonObject


def first(body: JsonObject, *names: str) -> str:
    """The first of these values that is there, as text; an object gives its name or id."""
    for name in names:
        value = body.get(name)
        if isinstance(value, dict):
            value = value.get("name") or value.get("id") or value.get("customer_id")
        if value not in (None, "", [], {}) and not isinstance(value, list):
            return str(value)
    return ""


def inner(body: JsonObject, name: str) -> JsonObject:
    """The object under this name; empty where there is none."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def moment(text: str) -> str:
    """An ISO time as people read it: the minute, and for midnight (imported orders) the day alone."""
    found = re.fullmatch(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2})\S*", text)
    if not found:
        return text
    return found[1] if found[2] == "00:00" else f"{found[1]} {found[2]}"


def rows(body: JsonObject, *names: str) -> list[JsonObject]:
    """The first of these values that is a list, its objects only."""
    for name in names:
        value = body.get(name)
        if isinstance(value, list):
            return [row for row in value if isinstance(row, dict)]
    return []


def money(body: JsonObject, *names: str) -> str:
    """An amount with its currency beside it, as the ERP wrote it."""
    for name in names:
        value = body.get(name)
        if isinstance(value, dict):
            return f"{value.get('amount', '')} {value.get('currency', '')}".strip()
        if value not in (None, "", []) and not isinstance(value, list):
            return f"{value} {body.get('currency', '')}".strip()
    return ""


def stock_rows(body: JsonObject) -> list[JsonObject]:
    """The stock per warehouse; a flat answer counts as one row."""
    found = rows(body, "warehouses", "stock", "items", "rows", "levels", "result")
    return found or ([body] if "on_hand" in body else [])


def on_hand(body: JsonObject, warehouse: str) -> Decimal | None:
    """What is on hand in the one warehouse meant; None where that is not clear."""
    found = stock_rows(body)
    if warehouse:
        found = [row for row in found if str(row.get("warehouse") or row.get("code") or warehouse) == warehouse]
    return decimal(found[0].get("on_hand")) if len(found) == 1 else None


def decimal(value: Any) -> Decimal | None:
    """A quantity from JSON, exactly; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
