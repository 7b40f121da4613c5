"""What each of Online Retail's rows is: a sale, a return, or neither. Every rule is in one place, and in the report."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from erp_mcp.domain.money import money_string
from erp_mcp.domain.orders import return_number
from erp_mcp.importers.books import SourceReturn, Values
from erp_mcp.importers.online_retail_source import Invoice, Line
from erp_mcp.importers.report import RowNotes

CURRENCY: Final = "GBP"
GUEST: Final = "GUEST"
"""The customer of the invoices that name none."""

_Key = tuple[str, str, int]
"""Customer, code and price: what a credit note's line and the sale that it credits have in common."""


@dataclass
class Sales:
    """What the invoices come to.

    Args:
        invoices: with the lines that are sales only; each becomes an order.
        returns: what credit notes took back of them.
        returned: how much of a line came back, in whole units, by invoice and place of the line (from 0).
    """

    invoices: list[Invoice] = field(default_factory=list)
    returns: list[SourceReturn] = field(default_factory=list)
    returned: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))


def sort_out(invoices: Sequence[Invoice], notes: RowNotes) -> Sales:
    """Tell sales, returns and the rest apart.

    Args:
        invoices: by time, so that a credit note comes after what it credits. Their lines are changed to what was taken.
        notes: told of every row that is refused.
    """
    sales = Sales()
    # Only lines that some credit note may take back are looked up later; the others need no place in memory.
    credited = {key for note in invoices if _is_credit(note) for key in _keys(note)}
    sold: dict[_Key, list[_Sold]] = defaultdict(list)
    for invoice in invoices:
        if _is_credit(invoice):
            _take_back(invoice, sold, sales, notes)
            continue
        invoice.lines = list(_sold_lines(invoice, notes))
        if invoice.lines:
            sales.invoices.append(invoice)
            if not invoice.customer:
                what = f"invoice {invoice.number} names no customer"
                notes.mend(invoice.file, invoice.row, f"no customer: booked on {GUEST}", what)
        for place, (key, line) in enumerate(zip(_keys(invoice), invoice.lines, strict=True)):
            if key in credited:
                sold[key].append(_Sold(invoice, place, line.quantity))
    return sales


@dataclass(slots=True)
class _Sold:
    """A line that a credit note may take back: what of it has not come back yet."""

    invoice: Invoice
    place: int
    left: int


def _is_credit(invoice: Invoice) -> bool:
    return invoice.number[:1] == "C" and invoice.number[1:].isdecimal()


def _keys(invoice: Invoice) -> Iterator[_Key]:
    return ((invoice.customer, line.sku, line.price_minor) for line in invoice.lines)


def _sold_lines(invoice: Invoice, notes: RowNotes) -> Iterator[Line]:
    """The lines that are sales; the others are refused."""
    is_count = not invoice.customer and all(line.price_minor <= 0 for line in invoice.lines)
    for line in invoice.lines:
        if not invoice.number.isdecimal():
            reason = "a bookkeeping entry, not a sale: its number is neither an invoice's nor a credit note's"
        elif is_count:
            reason = "a stock correction, not a sale: its invoice has no customer and no price"
        elif line.quantity <= 0 or line.price_minor < 0:
            reason = "a negative line on an invoice"
        else:
            yield line
            continue
        what = f"{line.quantity} of {line.sku} at {_pounds(line.price_minor)} ({line.description or 'no description'})"
        notes.refuse(invoice.file, line.row, reason, f"{invoice.number}: {what}")


def _take_back(credit: Invoice, sold: dict[_Key, list[_Sold]], sales: Sales, notes: RowNotes) -> None:
    """Match a credit note's lines to the customer's latest earlier lines of the same code and price."""
    parts: dict[str, list[tuple[_Sold, Line, int]]] = defaultdict(list)
    for key, line in zip(_keys(credit), credit.lines, strict=True):
        open_quantity = -line.quantity
        lines = sold[key] if credit.customer and key in sold else []
        while open_quantity > 0 and lines:
            latest = lines[-1]
            taken = min(open_quantity, latest.left)
            parts[latest.invoice.number].append((latest, line, taken))
            latest.left -= taken
            open_quantity -= taken
            if not latest.left:
                lines.pop()
        if open_quantity or line.quantity >= 0:
            _refuse_credit(credit, line, open_quantity, notes)
    for n, (order, found) in enumerate(parts.items(), start=1):
        sales.returns.append(_return(credit, n, order, found, sales))


def _refuse_credit(credit: Invoice, line: Line, left: int, notes: RowNotes) -> None:
    price = _pounds(line.price_minor)
    if line.quantity >= 0:
        reason, what = "a credit note's line that takes nothing back", f"quantity {line.quantity} of {line.sku}"
    elif not credit.customer:
        reason, what = "a credit note without customer: nobody knows which sale it credits", f"{left} of {line.sku}"
    elif left < -line.quantity:
        reason = "a credit note's line of which only a part was sold before: that part is taken"
        what = f"{left} of {-line.quantity} of {line.sku} at {price} to {credit.customer}"
    else:
        reason = "a credit note's line without its sale: this customer bought none of it at this price before"
        what = f"{left} of {line.sku} at {price} to {credit.customer}"
    notes.refuse(credit.file, line.row, reason, f"{credit.number}: {what}")


def _return(credit: Invoice, n: int, order: str, parts: list[tuple[_Sold, Line, int]], sales: Sales) -> SourceReturn:
    merged: dict[int, Values] = {}
    for sold, line, quantity in parts:
        sales.returned[order, sold.place] += quantity
        kept = merged.setdefault(
            sold.place, {"line_no": sold.place + 1, "sku": line.sku, "quantity_milli": 0, "amount_minor": 0}
        )
        kept["quantity_milli"] += quantity * 1000
        kept["amount_minor"] += quantity * line.price_minor
    values = {
        "id": return_number(credit.at.date(), int(credit.number[1:])) + (f"-{n}" if n > 1 else ""),
        "reason": f"credit note {credit.number}", "refund_minor": sum(line["amount_minor"] for line in merged.values()),
        "currency": CURRENCY, "created_at": credit.at,
    }  # fmt: skip
    return SourceReturn(credit.file, credit.row, order, values, list(merged.values()))


def _pounds(minor: int) -> str:
    return money_string(minor, CURRENCY)
