"""A shop in plain Python: what every write of the ERP should do, told a second time and without a database.

Quantities are Decimals and money is in Decimals of the currency, so not even the arithmetic is shared with the ERP.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final, NamedTuple

from erp_mcp.contract import JsonObject

CENT: Final = Decimal("0.01")
TIERS: Final = {"A": [(10, 10), (20, 25)]}
"""Per SKU: from which quantity on, how many percent."""
CUSTOMERS: Final = ("ANNA", "BERT")
STOCK: Final = {("A", "MAIN"): 60, ("B", "MAIN"): 30, ("C", "MAIN"): 4, ("A", "EAST"): 9, ("B", "EAST"): 2}
PRICES: Final = {"A": Decimal("10.00"), "B": Decimal("3.33"), "C": Decimal("0.07")}
"""Of B there are parts, down to a thousandth."""


class Refused(Exception):  # noqa: N818 - the ERP calls it a refusal
    """The ERP should answer this code."""


class Priced(NamedTuple):
    """A line as it is kept."""

    sku: str
    quantity: Decimal
    list_price: Decimal
    percent: int
    net: Decimal
    amount: Decimal


@dataclass
class Order:
    """One order; what came back is counted per line."""

    customer: str
    warehouse: str
    lines: list[Priced]
    address: JsonObject
    note: str
    placed_at: datetime
    status: str = "confirmed"
    version: int = 1
    returned: list[Decimal] = field(default_factory=list)
    refunded: list[Decimal] = field(default_factory=list)

    def quantities(self) -> dict[str, Decimal]:
        """Per SKU."""
        return {line.sku: line.quantity for line in self.lines}


@dataclass
class Spot:
    """One product in one warehouse."""

    on_hand: Decimal
    reserved: Decimal = Decimal(0)
    version: int = 1

    def change(self, on_hand: Decimal = Decimal(0), reserved: Decimal = Decimal(0)) -> None:
        """Move stock; each move raises the version."""
        self.on_hand += on_hand
        self.reserved += reserved
        self.version += 1


class Planned(NamedTuple):
    """What a write would do: all that an approver relies on, and how to do it; the doing gives the numbers."""

    facts: Any
    money: list[Decimal]
    do: Callable[[], JsonObject]


class Shop:
    """The model: the same tools by the same names."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
        self.prices = dict(PRICES)
        self.retired: set[str] = set()
        self.stock = {place: Spot(Decimal(amount)) for place, amount in STOCK.items()}
        self.orders: dict[str, Order] = {}
        self.people: dict[str, JsonObject] = {
            name: {"address": address_of(name), "phone": "", "version": 1} for name in CUSTOMERS
        }
        self.numbers: dict[str, int] = {}

    def plan(self, tool: str, arguments: JsonObject) -> Planned:
        """What a call would do now; raises :class:`Refused`."""
        planned: Planned = getattr(self, f"_{tool}")(**arguments)
        return planned

    def ship(self, number: str, status: str) -> None:
        """The goods leave."""
        order = self.orders[number]
        for line in order.lines:
            self.stock[line.sku, order.warehouse].change(-line.quantity, -line.quantity)
        order.status, order.version = status, order.version + 1

    def _create_order(self, customer: str, lines: Sequence[JsonObject], warehouse: str = "MAIN") -> Planned:
        priced, total = self._sale(lines, warehouse)
        address = dict(self.people[customer]["address"])
        wanted = _merged(lines)
        twins = [
            number
            for number, order in sorted(self.orders.items(), key=lambda item: (item[1].placed_at, item[0]))
            if order.customer == customer
            and order.quantities() == wanted
            and order.status != "cancelled"
            and order.placed_at >= self.now - timedelta(hours=24)
        ]
        return Planned(
            (priced, address, twins), [total], lambda: {"order_id": self._place(customer, warehouse, priced, address)}
        )

    def _update_order(
        self, order_id: str, lines: Sequence[JsonObject] | None = None, note: str | None = None
    ) -> Planned:
        order = self._order(order_id)
        if order.status != "confirmed":
            raise Refused("not_updatable")
        had = order.quantities()
        wanted = had if lines is None else _merged(lines)
        moved = {sku: wanted.get(sku, Decimal(0)) - had.get(sku, Decimal(0)) for sku in (*had, *wanted)}
        moved = {sku: difference for sku, difference in moved.items() if difference}
        if not moved and note in (None, order.note):
            raise Refused("nothing_to_change")
        self._refuse({sku: more for sku, more in moved.items() if more > 0}, order.warehouse)
        kept = {line.sku: line for line in order.lines}
        after = [self._priced(sku, quantity) if sku in moved else kept[sku] for sku, quantity in wanted.items()]
        gone = [line for line in order.lines if line.sku in moved]
        restorable = all(self._priced(*line[:2]) == line and line.sku not in self.retired for line in gone)

        def do() -> JsonObject:
            for sku, difference in moved.items():
                self.stock[sku, order.warehouse].change(reserved=difference)
            if moved:
                self._set_lines(order, after)
            order.note = order.note if note is None else note
            order.version += 1
            return {}

        before, total = _total(order.lines), _total(after)
        money = [before, total, total - before] if moved else [before]
        return Planned((order.version, after if moved else None, restorable), money, do)

    def _cancel_order(self, order_id: str, reason: str) -> Planned:
        order = self._order(order_id)
        if order.status != "confirmed":
            raise Refused("already_cancelled" if order.status == "cancelled" else "not_cancellable")

        def do() -> JsonObject:
            for line in order.lines:
                self.stock[line.sku, order.warehouse].change(reserved=-line.quantity)
            order.status, order.version = "cancelled", order.version + 1
            return {}

        return Planned(order.version, [_total(order.lines)], do)

    def _adjust_stock(self, sku: str, delta: str, reason: str, warehouse: str = "MAIN") -> Planned:
        if (sku, warehouse) not in self.stock:
            raise Refused("stock_not_found")
        spot = self.stock[sku, warehouse]
        if spot.on_hand + Decimal(delta) < spot.reserved:
            raise Refused("insufficient_stock")

        def do() -> JsonObject:
            spot.change(on_hand=Decimal(delta))
            return {}

        return Planned((spot.version, spot.on_hand), [], do)

    def _request_return(
        self, order_id: str, lines: Sequence[JsonObject], reason: str, exchange_for: Sequence[JsonObject] | None = None
    ) -> Planned:
        order = self._order(order_id)
        if order.status not in ("shipped", "completed"):
            raise Refused("not_returnable")
        back = _merged(lines)
        at = {line.sku: place for place, line in enumerate(order.lines)}
        for sku, quantity in back.items():
            if sku not in at or quantity > order.lines[at[sku]].quantity - order.returned[at[sku]]:
                raise Refused("return_exceeds_order")
        refunds = {sku: self._refund(order, at[sku], quantity) for sku, quantity in back.items()}
        refund = sum(refunds.values(), Decimal(0))
        money, sale = [refund], None
        if exchange_for is not None:
            sale, total = self._sale(exchange_for, order.warehouse)
            money += [total, abs(total - refund)]

        def do() -> JsonObject:
            order.version += 1
            numbers = {}
            if sale is not None:
                note = f"Exchange for goods of order {order_id}"
                numbers["exchange_order_id"] = self._place(order.customer, order.warehouse, sale, order.address, note)
            for sku, quantity in back.items():
                self.stock[sku, order.warehouse].change(on_hand=quantity)
                order.returned[at[sku]] += quantity
                order.refunded[at[sku]] += refunds[sku]
            return numbers | {"return_id": self._number("RT")}

        return Planned((order.version, sale), money, do)

    def _update_customer(self, customer: str, phone: str, address: JsonObject | None = None) -> Planned:
        person = self.people[customer]
        new = {"phone": phone} | ({} if address is None else {"address": address})
        if all(person[name] == value for name, value in new.items()):
            raise Refused("nothing_to_change")

        def do() -> JsonObject:
            person.update(new, version=person["version"] + 1)
            return {}

        return Planned(person["version"], [], do)

    def _order(self, number: str) -> Order:
        if number not in self.orders:
            raise Refused("order_not_found")
        return self.orders[number]

    def _sale(self, lines: Sequence[JsonObject], warehouse: str) -> tuple[list[Priced], Decimal]:
        wanted = _merged(lines)
        self._refuse(wanted, warehouse)
        priced = [self._priced(sku, quantity) for sku, quantity in wanted.items()]
        return priced, _total(priced)

    def _refuse(self, more: dict[str, Decimal], warehouse: str) -> None:
        if self.retired & more.keys():
            raise Refused("product_discontinued")
        for sku, quantity in more.items():
            spot = self.stock.get((sku, warehouse), Spot(Decimal(0)))
            if quantity > spot.on_hand - spot.reserved:
                raise Refused("insufficient_stock")

    def _priced(self, sku: str, quantity: Decimal) -> Priced:
        percent = max([percent for start, percent in TIERS.get(sku, []) if quantity >= start], default=0)
        net = _cents(self.prices[sku] * (100 - percent) / 100)
        return Priced(sku, quantity, self.prices[sku], percent, net, _cents(net * quantity))

    def _refund(self, order: Order, place: int, quantity: Decimal) -> Decimal:
        line = order.lines[place]
        left = line.amount - order.refunded[place]
        whole = quantity == line.quantity - order.returned[place]
        return left if whole else min(_cents(line.net * quantity), left)

    def _place(self, customer: str, warehouse: str, priced: list[Priced], address: JsonObject, note: str = "") -> str:
        number = self._number("SO")
        order = Order(customer, warehouse, [], address, note, self.now)
        self._set_lines(order, priced)
        self.orders[number] = order
        for line in priced:
            self.stock[line.sku, warehouse].change(reserved=line.quantity)
        return number

    def _set_lines(self, order: Order, priced: list[Priced]) -> None:
        order.lines = list(priced)
        order.returned, order.refunded = ([Decimal(0)] * len(priced) for _ in range(2))

    def _number(self, kind: str) -> str:
        name = f"{kind}{self.now:%Y%m%d}"
        self.numbers[name] = self.numbers.get(name, 0) + 1
        return f"{name}-{self.numbers[name]:04d}"


def address_of(name: str) -> JsonObject:
    """An address that can be told apart."""
    return {"line1": f"1 {name} Street", "city": "Town", "country": "UK"}


def _merged(lines: Sequence[JsonObject]) -> dict[str, Decimal]:
    wanted: dict[str, Decimal] = {}
    for line in lines:
        wanted[line["sku"]] = wanted.get(line["sku"], Decimal(0)) + Decimal(line["quantity"])
    return wanted


def _total(lines: Sequence[Priced]) -> Decimal:
    return sum((line.amount for line in lines), Decimal(0))


def _cents(amount: Decimal) -> Decimal:
    return amount.quantize(CENT, ROUND_HALF_UP)
