"""The four first reads: complete, bounded, and with filters that are never ignored."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import jsonschema_rs
import pytest
import sqlalchemy as sa

from erp_mcp.contract import JsonObject
from erp_mcp.errors import ErpError
from erp_mcp.importers.northwind import load_northwind
from erp_mcp.queries.operations import list_operations
from erp_mcp.queries.order_models import OrderPage
from erp_mcp.queries.orders import DETAIL_LINES, DETAIL_ORDERS
from erp_mcp.registry import load_registry
from erp_mcp.store.chain import append_operation
from erp_mcp.store.engine import Store, create_database, open_store
from erp_mcp.store.tables import order_lines, orders, products, stock, warehouses
from erp_mcp.store.transaction import Tx
from erp_mcp.tools.orders_read import get_order, list_orders
from erp_mcp.tools.products_read import get_product, get_stock

REGISTRY = load_registry()


@pytest.fixture
def tx(northwind: Store) -> Iterator[Tx]:
    """A writing transaction on Northwind, so that a test may change what it then reads."""
    with northwind.dry_run() as opened:
        yield opened


def call(tx: Tx, name: str, **arguments: Any) -> JsonObject:
    """A tool as the server calls it: arguments parsed, the result dumped and checked against the tool's own schema."""
    tool = REGISTRY.tool(name)
    result: JsonObject = tool.read(tx, tool.parse(arguments)).model_dump(mode="json", exclude_none=True)
    jsonschema_rs.validate(tool.output_schema, result)
    return result


def refusal(tx: Tx, name: str, **arguments: Any) -> ErpError:
    with pytest.raises(ErpError) as refused:
        call(tx, name, **arguments)
    assert refused.value.hint
    return refused.value


def pages(tx: Tx, **filters: Any) -> list[OrderPage]:
    found = [list_orders(tx, **filters)]
    while found[-1].next_cursor:
        found.append(list_orders(tx, cursor=found[-1].next_cursor, **filters))
    return found


def test_an_order_comes_whole(tx: Tx) -> None:
    """Customer, lines at the prices of the day, total, address, carrier, version; nothing empty stands as null."""
    order = call(tx, "get_order", order_id="10248")
    assert {key: order[key] for key in ("order_id", "customer_id", "status", "total", "currency", "version")} == {
        "order_id": "SO19960704-10248", "customer_id": "VINET", "status": "completed",
        "total": "440.00", "currency": "USD", "version": 1,
    }  # fmt: skip
    assert [(line["sku"], line["quantity"], line["unit_price"], line["amount"]) for line in order["lines"]] == [
        ("NW-011", "12", "14.00", "168.00"), ("NW-042", "10", "9.80", "98.00"), ("NW-072", "5", "34.80", "174.00"),
    ]  # fmt: skip
    assert order["ship_to"]["country"] == "France"
    assert order["shipped_at"].startswith("1996-07-16")
    assert "tracking_number" not in order


def test_an_order_keeps_its_prices_when_the_product_changes(tx: Tx) -> None:
    """Lines are snapshots: a new price, a new name, and the order is what it was."""
    before = get_order(tx, "10248")
    tx.connection.execute(sa.update(products).values(unit_price_minor=1, name="Renamed"))
    assert get_order(tx, "10248") == before


def test_a_product_shows_todays_price_and_tiers(tx: Tx) -> None:
    """Tiers as unit prices, rounded half up, and what is available in all."""
    product = call(tx, "get_product", sku="nw-011")
    assert (product["unit_price"], product["currency"], product["available"]) == ("21.00", "USD", "22")
    assert [tuple(tier.values()) for tier in product["price_tiers"]] == [
        ("11", "2", "20.58"), ("15", "5", "19.95"), ("25", "10", "18.90"), ("41", "15", "17.85"), ("61", "20", "16.80"),
    ]  # fmt: skip


def test_stock_is_shown_per_warehouse_and_in_all(tx: Tx) -> None:
    """The sums cover the warehouses shown; an unknown one is an error."""
    tx.connection.execute(sa.insert(warehouses).values(code="EAST", name="East"))
    tx.connection.execute(sa.insert(stock).values(sku="NW-011", warehouse="EAST", on_hand_milli=2500))
    everywhere = call(tx, "get_stock", sku="NW-011")
    assert (everywhere["on_hand"], everywhere["reserved"], everywhere["available"]) == ("34.5", "10", "24.5")
    assert [level["warehouse"] for level in everywhere["warehouses"]] == ["EAST", "MAIN"]
    east = call(tx, "get_stock", sku="NW-011", warehouse="east")
    assert (east["on_hand"], len(east["warehouses"])) == ("2.5", 1)
    assert refusal(tx, "get_stock", sku="NW-011", warehouse="NORTH").code == "warehouse_not_found"


def test_low_stock_is_at_the_reorder_level_or_below(tx: Tx) -> None:
    """At the level it is time to order; without a level it never is."""
    here = sa.update(stock).where(stock.c.sku == "NW-001")
    low = []
    for available, level in ((11, 10), (10, 10), (9, 10), (0, 0)):
        values = {"on_hand_milli": stock.c.reserved_milli + available * 1000, "reorder_level_milli": level * 1000}
        tx.connection.execute(here.values(values))
        low.append(get_stock(tx, "NW-001").warehouses[0].low)
    assert low == [False, True, True, False]


@pytest.mark.guarantee("E15")
def test_a_read_after_a_change_shows_the_new_value(northwind: Store) -> None:
    """Nothing is remembered between two reads."""
    with northwind.read() as tx:
        before = get_stock(tx, "NW-001").warehouses[0]
    with northwind.write() as tx:
        values = {"on_hand_milli": stock.c.on_hand_milli + 1000, "version": stock.c.version + 1}
        tx.connection.execute(sa.update(stock).where(stock.c.sku == "NW-001").values(values))
    with northwind.read() as tx:
        after = get_stock(tx, "NW-001").warehouses[0]
    assert (int(after.on_hand), after.version) == (int(before.on_hand) + 1, before.version + 1)


@pytest.mark.guarantee("E10")
@pytest.mark.parametrize("status", ["shippd", "open", "confirmed,completed", "*"])
def test_an_unknown_status_is_an_error_with_the_allowed_ones(tx: Tx, status: str) -> None:
    """It is not "no filter"."""
    error = refusal(tx, "list_orders", status=status)
    assert error.code == "invalid_filter"
    assert status in error.message
    assert error.details["allowed"] == ["pending", "confirmed", "shipped", "completed", "cancelled"]


def test_every_filter_filters(tx: Tx) -> None:
    """Each alone and together, compared with what the tables say."""
    assert call(tx, "list_orders")["total"] == 830
    assert call(tx, "list_orders", status=" Confirmed ")["total"] == 21
    assert call(tx, "list_orders", customer="Alfreds Futterkiste")["total"] == 6
    assert call(tx, "list_orders", sku="nw-011")["total"] == 38
    assert call(tx, "list_orders", date_from="1998-05-01")["total"] == 14
    assert call(tx, "list_orders", date_to="1996-07-05")["total"] == 2
    assert call(tx, "list_orders", date_from="1996-07-05", date_to="1996-07-05")["total"] == 1
    both = call(tx, "list_orders", customer="RATTC", status="confirmed", sku="NW-077", date_from="1998-05-06")
    assert [order["order_id"] for order in both["items"]] == ["SO19980506-11077"]
    nothing = call(tx, "list_orders", customer="Paris spécialités", status="confirmed")
    assert (nothing["items"], nothing["total"], nothing["note"]) == ([], 0, "No order fits these filters.")


def test_a_filter_that_names_nothing_is_an_error(tx: Tx) -> None:
    """Rather than an empty list that looks like an answer."""
    assert refusal(tx, "list_orders", customer="Nobody").code == "customer_not_found"
    assert refusal(tx, "list_orders", sku="NW-999").code == "product_not_found"
    assert refusal(tx, "list_orders", customer="IT").code == "ambiguous"
    assert refusal(tx, "list_orders", date_from="1998-05-02", date_to="1998-05-01").code == "invalid_filter"


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/Los_Angeles", "UTC"])
def test_days_at_the_end_of_the_calendar_are_days_too(northwind: Store, zone: str) -> None:
    """Whatever day a client sends, it is compared and never fails."""
    with northwind.read() as opened:
        tx = replace(opened, zone=ZoneInfo(zone))
        assert list_orders(tx, date_from=date.min, date_to=date.max).total == 830
        assert list_orders(tx, date_from=date.max).total == list_orders(tx, date_to=date.min).total == 0


def test_days_follow_the_business_time_zone(erp_url: str) -> None:
    """17:00 UTC is the next day in Shanghai."""
    create_database(erp_url)
    store = open_store(erp_url, zone=ZoneInfo("Asia/Shanghai"))
    load_northwind(store)
    with store.dry_run() as tx:
        moved = sa.update(orders).where(orders.c.source_id == "10248")
        tx.connection.execute(moved.values(placed_at=datetime(2026, 1, 1, 17, tzinfo=UTC)))
        assert list_orders(tx, date_from=date(2026, 1, 2), date_to=date(2026, 1, 2)).total == 1
        assert list_orders(tx, date_from=date(2026, 1, 1), date_to=date(2026, 1, 1)).total == 0
        assert get_order(tx, "10248").placed_at == "2026-01-02T01:00:00+08:00"
    store.close()


@pytest.mark.parametrize("limit", [7, 100])
def test_pages_cover_everything_once_newest_first(tx: Tx, limit: int) -> None:
    """However the pages are cut: no order twice, none left out, one stable order."""
    found = [order for page in pages(tx, limit=limit) for order in page.items]
    wanted = tx.connection.execute(sa.select(orders.c.id).order_by(orders.c.placed_at.desc(), orders.c.id.desc()))
    assert [order["order_id"] for order in found] == list(wanted.scalars())


def test_a_page_stays_where_it_was_when_new_orders_come(tx: Tx) -> None:
    """A keyset cursor names a row and not a count, so nothing is shown twice."""
    first = list_orders(tx, limit=5)
    newest = sa.update(orders).where(orders.c.source_id == "10248")
    tx.connection.execute(newest.values(placed_at=datetime(2026, 1, 1, tzinfo=UTC)))
    second = list_orders(tx, limit=5, cursor=first.next_cursor)
    assert not {order["order_id"] for order in first.items} & {order["order_id"] for order in second.items}


@pytest.mark.guarantee("E11")
def test_a_list_of_very_many_orders_is_one_bounded_page(tx: Tx) -> None:
    """100,000 orders, no filter: twenty of them, how many there are, and where to go on."""
    numbers = sa.select(sa.literal(1).label("n")).cte("numbers", recursive=True)
    numbers = numbers.union_all(sa.select(numbers.c.n + 1).where(numbers.c.n < 120))
    copied = [column for column in orders.c if column.name not in ("id", "source_id", "source_key")]
    number = orders.c.id + "-" + sa.cast(numbers.c.n, sa.String)
    copies = sa.select(number, *copied).join_from(orders, numbers, sa.true())
    tx.connection.execute(sa.insert(orders).from_select(["id", *(column.name for column in copied)], copies))
    page = call(tx, "list_orders")
    assert (page["returned"], len(page["items"]), page["total"]) == (20, 20, 830 * 121)
    assert page["next_cursor"]
    assert len(json.dumps(page)) < 10_000
    assert all("lines" not in order for order in page["items"])


def test_detail_shrinks_the_page_and_cuts_no_order(tx: Tx) -> None:
    """Few orders with all their lines, rather than many without."""
    page = call(tx, "list_orders", detail=True, limit=100)
    assert (page["returned"], page["total"]) == (DETAIL_ORDERS, 830)
    assert all(len(order["lines"]) == order["line_count"] for order in page["items"])
    walked = [order for part in pages(tx, customer="ERNSH", detail=True) for order in part.items]
    assert len(walked) == list_orders(tx, customer="ERNSH").total


def test_a_huge_order_is_shown_whole_and_alone(tx: Tx) -> None:
    """The bound on lines shortens the page by whole orders, and never to nothing."""
    for source_id in ("11077", "11076"):
        order = get_order(tx, source_id)
        line = {"quantity_milli": 1000, "unit_price_minor": 1, "net_unit_price_minor": 1, "amount_minor": 1}
        more = [{"order_id": order.order_id, "line_no": 100 + n, "sku": "X", "name": "X", **line} for n in range(400)]
        tx.connection.execute(sa.insert(order_lines), more)
        count = order.line_count + 400
        tx.connection.execute(sa.update(orders).where(orders.c.id == order.order_id).values(line_count=count))
    first, second, third = pages(tx, detail=True, date_from=date(1998, 5, 6))
    assert [page.returned for page in (first, second, third)] == [1, 1, 2]
    assert "lines" in first.items[0]
    assert len(first.items[0]["lines"]) == first.items[0]["line_count"] > DETAIL_LINES


def test_a_cursor_belongs_to_its_filters(tx: Tx) -> None:
    """With other filters it would lead somewhere else, so it is refused; limit and detail may change."""
    cursor = list_orders(tx, limit=5, status="completed").next_cursor
    assert list_orders(tx, limit=9, status="completed", detail=True, cursor=cursor).returned == 9
    assert refusal(tx, "list_orders", status="confirmed", cursor=cursor).code == "invalid_cursor"
    assert refusal(tx, "list_orders", cursor=cursor).code == "invalid_cursor"


@pytest.mark.parametrize(
    "spoilt",
    ["x", "%%%", "AAAA", "é", "W10", base64.urlsafe_b64encode(b'["a"]').decode(), "[" * 900,
     base64.urlsafe_b64encode(b"[" * 700).decode(), base64.urlsafe_b64encode(b"9" * 700).decode()],
)  # fmt: skip
def test_what_is_no_cursor_is_refused(tx: Tx, spoilt: str) -> None:
    """Typed, and with what to do."""
    assert refusal(tx, "list_orders", cursor=spoilt).code == "invalid_cursor"


@pytest.mark.parametrize(
    "position",
    [["never", "SO1"], ["0001-01-01T00:00:00+14:00", "SO1"], ["2026-01-01T00:00:00+00:00", "\0"], [1, 2], [], ["a"],
     ["2026-01-01T00:00:00+00:00", "\ud800"]],
)  # fmt: skip
def test_a_forged_cursor_is_refused(tx: Tx, position: list[Any]) -> None:
    """Even one with the right mark: no value of it reaches the database unchecked."""
    cursor = list_orders(tx, limit=1).next_cursor
    assert cursor is not None
    mark = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))[0]
    forged = base64.urlsafe_b64encode(json.dumps([mark, *position]).encode()).decode().rstrip("=")
    assert refusal(tx, "list_orders", cursor=forged).code == "invalid_cursor"


@pytest.mark.guarantee("E16")
def test_money_and_quantities_are_plain_decimal_strings(tx: Tx) -> None:
    """With the currency beside them, and without an exponent, for every order of a long page."""
    for order in call(tx, "list_orders", limit=100)["items"]:
        assert order["currency"] == "USD"
        whole, _, cents = order["total"].partition(".")
        assert (whole.isdigit(), len(cents)) == (True, 2)
    assert get_product(tx, "NW-038").unit_price == "263.50"


def test_operations_are_listed_by_approval_order_and_time(tx: Tx) -> None:
    """Oldest first; an order's own ones only, not those of a longer number or of a note that names it."""
    common = {"tool": "cancel_order", "arguments": {}, "approver": "andrew", "requested_by": "nancy"}
    target = {"kind": "order", "id": "SO19980506-11074", "version": 1}
    seen = [
        ("a", 3, {"targets": [target]}, {"result": {}}),
        ("b", 1, {"targets": []}, {"result": {"order_id": "SO19980506-11074"}}),
        ("c", 2, {"targets": [], "summary": "unlike SO19980506-11074"}, {"result": {"order_id": "SO19980506-110745"}}),
    ]
    for approval_id, day, preview, receipt in seen:
        row = {"approval_id": approval_id, "call": approval_id, "digest": "", "preview": preview, "receipt": receipt}
        at = datetime(2026, 1, day, tzinfo=UTC)
        append_operation(tx, row | common | {"executed_at": at})
    assert [row.approval_id for row in list_operations(tx)] == ["b", "c", "a"]
    assert [row.approval_id for row in list_operations(tx, order_id="11074")] == ["b", "a"]
    assert [row.approval_id for row in list_operations(tx, approval_ids=["a", "c", "z"])] == ["c", "a"]
    assert [row.approval_id for row in list_operations(tx, since=datetime(2026, 1, 2, tzinfo=UTC))] == ["c", "a"]
    assert list_operations(tx, approval_ids=[]) == []
    with pytest.raises(ErpError):
        list_operations(tx, order_id="nothing")


@pytest.mark.parametrize("name", ["get_order", "list_orders", "get_product", "get_stock"])
def test_a_description_says_when_to_take_its_neighbour(name: str) -> None:
    """The contract that the model reads names another tool that exists."""
    words = REGISTRY.tool(name).skill.description.replace(";", " ").replace(",", " ").split()
    assert (set(words) & set(REGISTRY.tools)) - {name}
