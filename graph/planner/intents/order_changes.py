"""Changing an order. Lines are sent whole, so where single ones change they are read from the order first."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from erp_mcp.contract import JsonObject
from graph.planner.answers.shapes import decimal, rows
from graph.planner.intents.order_lines import Line
from graph.planner.intents.product_reference import resolve
from graph.planner.knowledge import Intent, Known
from graph.planner.numerals import as_argument
from graph.planner.steps import Call, Step

Kind = Literal["set", "add", "drop"]


@dataclass(frozen=True)
class Edit:
    """One change to the lines: set to, add, or drop (all of it where ``line.quantity`` is None)."""

    kind: Kind
    line: Line


@dataclass(frozen=True)
class UpdateOrder:
    """Changes to one order, together: two edits of its lines must not undo each other."""

    order_id: str
    edits: tuple[Edit, ...] = ()
    whole: tuple[Line, ...] = ()
    ship_to: tuple[tuple[str, str], ...] = ()
    note: str = ""

    def next(self, known: Known) -> Step:
        """Where lines change, the order first; then the change."""
        found: JsonObject = {"order_id": self.order_id}
        if self.edits or self.whole:
            lines = self._lines(known)
            if not isinstance(lines, list):
                return lines
            found["lines"] = lines
        if self.ship_to:
            found["ship_to"] = dict(self.ship_to)
        if self.note:
            found["note"] = self.note
        return Call("update_order", found)

    def _lines(self, known: Known) -> list[JsonObject] | Step:
        if self.whole:
            return _merged({}, [Edit("add", line) for line in self.whole], known)
        look = Call("get_order", {"order_id": self.order_id})
        order = known.result(look)
        if order is None or order.error:
            return look
        present = present_lines(order.body)
        if not present:
            return known.say(
                f"I could not read the lines of order {self.order_id}.", f"读不到订单 {self.order_id} 的明细。"
            )
        return _merged(present, list(self.edits), known)


def present_lines(body: JsonObject, *, less_returned: bool = False) -> dict[str, Decimal]:
    """SKU and quantity of an order's lines, lines of one SKU together; ``less_returned``: what can still come back."""
    found: dict[str, Decimal] = {}
    for row in rows(body, "lines", "items"):
        amount, sku = decimal(row.get("quantity")), row.get("sku")
        if amount is not None and isinstance(sku, str):
            amount -= (less_returned and decimal(row.get("returned"))) or Decimal(0)
            found[sku] = found.get(sku, Decimal(0)) + amount
    return found


def _merged(present: dict[str, Decimal], edits: list[Edit], known: Known) -> list[JsonObject] | Step:
    lines = dict(present)
    for edit in edits:
        sku = resolve(edit.line.product, known)
        if not isinstance(sku, str):
            return sku
        sku = next((have for have in lines if have.casefold() == sku.casefold()), sku)
        amount = decimal(edit.line.quantity)
        if edit.kind != "add" and sku not in lines:
            return known.say(f"The order has no line of {sku}.", f"订单里没有 {sku}。")
        if edit.kind != "drop" and amount is None:
            return known.say(f"How many of {sku}?", f"请问 {sku} 要多少？")
        _apply(lines, sku, edit.kind, amount)
    kept = {sku: amount for sku, amount in lines.items() if amount > 0}
    if not kept:
        return known.say(
            "That would leave no line. Do you want to cancel the order?", "这样订单就没有商品了。要取消整个订单吗？"
        )
    return [{"sku": sku, "quantity": as_argument(amount)} for sku, amount in kept.items()]


def _apply(lines: dict[str, Decimal], sku: str, kind: Kind, amount: Decimal | None) -> None:
    """``amount`` is None only where all of a line is dropped."""
    if amount is None:
        lines[sku] = Decimal(0)
    elif kind == "set":
        lines[sku] = amount
    else:
        lines[sku] = lines.get(sku, Decimal(0)) + (amount if kind == "add" else -amount)


def joined(intents: list[Intent]) -> list[Intent]:
    """Several changes to one order as one, in the place of the first."""
    found: list[Intent] = []
    for intent in intents:
        if isinstance(intent, UpdateOrder):
            place = next(
                (n for n, i in enumerate(found) if isinstance(i, UpdateOrder) and i.order_id == intent.order_id), None
            )
            if place is not None:
                found[place] = _together(found[place], intent)
                continue
        found.append(intent)
    return found


def _together(first: Intent, second: UpdateOrder) -> Intent:
    if not isinstance(first, UpdateOrder):
        return second
    return replace(
        first,
        edits=first.edits + second.edits,
        whole=second.whole or first.whole,
        ship_to=second.ship_to or first.ship_to,
        note=second.note or first.note,
    )
