"""What the planner makes of one sentence: a table of sentences and the calls that they lead to."""

from typing import Any

import pytest

from tests.unit.planner.conversation import talk

Calls = list[tuple[str, dict[str, Any]]]


def _look(*orders: str) -> Calls:
    return [("get_order", {"order_id": order}) for order in orders]


def _cancel(reason: str, *orders: str) -> Calls:
    return [*_look(*orders), *[("cancel_order", {"order_id": o, "reason": reason}) for o in orders]]


def _adjust(sku: str, delta: int | str, reason: str, **more: str) -> Calls:
    return [("adjust_stock", {"sku": sku, "delta": delta, "reason": reason, **more})]


def _order(customer: str, *lines: tuple[str, int | str], **more: str) -> Calls:
    wanted = [{"sku": sku, "quantity": quantity} for sku, quantity in lines]
    return [("create_order", {"customer": customer, "lines": wanted, **more})]


def _list(**filters: Any) -> Calls:
    return [("list_orders", filters)]


def _open(**filters: Any) -> Calls:
    return [("list_orders", filters | {"status": status}) for status in ("pending", "confirmed")]


def _search(query: str) -> Calls:
    return [("search_products", {"query": query})]


def _stock(*skus: str, **more: str) -> Calls:
    return [("get_stock", {"sku": sku, **more}) for sku in skus]


def _product(sku: str) -> Calls:
    return [("get_product", {"sku": sku})]


NO_REASON = "requested by the user"
FULL = "SO19980506-11074"

CANCEL: list[tuple[str, Calls]] = [
    (f"Cancel order {FULL}, ordered by mistake", _cancel("ordered by mistake", FULL)),
    ("please cancel order 11074", _cancel(NO_REASON, "11074")),
    ("PLEASE CANCEL ORDER 11074!!", _cancel(NO_REASON, "11074")),
    ("Can you cancel order #11074? It was ordered by mistake.", _cancel("It was ordered by mistake", "11074")),
    ("cancel orders 11074 and 11075, duplicates", _cancel("duplicates", "11074", "11075")),
    ("cancel orders 11074, 11075 and 11076: duplicates", _cancel("duplicates", "11074", "11075", "11076")),
    (
        "Cancel SO 19980506 - 11074 because the customer changed his mind",
        _cancel("the customer changed his mind", FULL),
    ),
    ("so19980506-11074 cancel please", _cancel(NO_REASON, FULL)),
    ("I'd like to cancel order number 11074 – wrong address", _cancel("wrong address", "11074")),
    ("The customer changed her mind. Cancel order 11074.", _cancel("The customer changed her mind", "11074")),
    ("void order 11074: fraud", _cancel("fraud", "11074")),
    ("Please have order 11074 cancelled, it is a duplicate", _cancel("it is a duplicate", "11074")),
    ("I want order 11074 canceled", _cancel(NO_REASON, "11074")),
    ("Cancel order 11074, customer asked to cancel", _cancel("customer asked to cancel", "11074")),
    (
        "Cancel order 11074, customer will order 12 NW-011 later",
        _cancel("customer will order 12 NW-011 later", "11074"),
    ),
    ("Cancel #W2378156, no longer needed", _cancel("no longer needed", "#W2378156")),
    ("Cancel order 11074 “ordered by mistake”", _cancel("ordered by mistake", "11074")),
    ("Cancel order 11075, duplicate of 11074", _cancel("duplicate of 11074", "11075")),
    ("取消订单SO19980506-11074，重复下单", _cancel("重复下单", FULL)),
    ("请帮我取消订单 11074", _cancel("用户要求", "11074")),
    ("把订单11074取消掉，客户不要了", _cancel("客户不要了", "11074")),
    ("把订单11074取消了", _cancel("用户要求", "11074")),
    ("订单11074取消", _cancel("用户要求", "11074")),
    ("麻烦取消一下 11074 和 11075，因为客户改主意了", _cancel("客户改主意了", "11074", "11075")),
    ("取消订单１１０７４，原因：下错单", _cancel("下错单", "11074")),
    ("请取消订单：ＳＯ１９９８０５０６－１１０７４。客户不要了。", _cancel("客户不要了", FULL)),
    ("客户不要了，取消订单11074", _cancel("客户不要了", "11074")),
    ("能不能帮我取消订单11074？", _cancel("用户要求", "11074")),
    ("作废11074", _cancel("用户要求", "11074")),
    ("撤销订单11074 重复", _cancel("重复", "11074")),
    ("cancel 订单 11074，重复下单", _cancel("重复下单", "11074")),
]

ADJUST: list[tuple[str, Calls]] = [
    ("Take 5 of NW-011 out of stock, broken", _adjust("NW-011", -5, "broken")),
    ("Take 5 of NW-011 out of stock because they are broken", _adjust("NW-011", -5, "they are broken")),
    ("add 20 to NW-011, recount", _adjust("NW-011", 20, "recount")),
    ("add 20 units to NW-011: delivery", _adjust("NW-011", 20, "delivery")),
    ("write off 2 NW-011, damaged", _adjust("NW-011", -2, "damaged")),
    ("reduce stock of NW-011 by 5, damaged", _adjust("NW-011", -5, "damaged")),
    ("reduce NW-011 by a dozen, broken", _adjust("NW-011", -12, "broken")),
    ("increase NW-011 stock by 2.5, recount", _adjust("NW-011", "2.5", "recount")),
    ("adjust NW-011 by -5, broken", _adjust("NW-011", -5, "broken")),
    ("adjust stock of NW-011 +20 recount", _adjust("NW-011", 20, "recount")),
    ("put 3 NW-011 back into stock, returned", _adjust("NW-011", 3, "returned")),
    ("receive 100 NW-011 into stock", _adjust("NW-011", 100, NO_REASON)),
    ("take 2 nw-011 out of stock in warehouse MAIN, broken", _adjust("NW-011", -2, "broken", warehouse="MAIN")),
    ("remove 3 Chai from stock, expired", _search("Chai") + _adjust("NW-001", -3, "expired")),
    ("set stock of NW-011 to 40, recount", _stock("NW-011") + _adjust("NW-011", 18, "recount")),
    ("set NW-011 stock to 20, counted", _stock("NW-011") + _adjust("NW-011", -2, "counted")),
    ("NW-011 库存减少5个，破损", _adjust("NW-011", -5, "破损")),
    ("NW-011库存增加20个，盘点", _adjust("NW-011", 20, "盘点")),
    ("把NW-011的库存减5", _adjust("NW-011", -5, "用户要求")),
    ("NW-011减少三个半库存", _adjust("NW-011", "-3.5", "用户要求")),
    ("给NW-011加20个库存，盘点", _adjust("NW-011", 20, "盘点")),
    ("ＮＷ－０１１入库２０件", _adjust("NW-011", 20, "用户要求")),
    ("报废5个NW-011，破损", _adjust("NW-011", -5, "破损")),
    ("从库存中扣除5个NW-011，破损", _adjust("NW-011", -5, "破损")),
    ("NW-011库存调整为40，盘点", _stock("NW-011") + _adjust("NW-011", 18, "盘点")),
    ("NW-011库存调整-5", _adjust("NW-011", -5, "用户要求")),
    ("把NW-011库存设为四十", _stock("NW-011") + _adjust("NW-011", 18, "用户要求")),
    ("扣减NW-011库存一打，破损", _adjust("NW-011", -12, "破损")),
    ("把 Queso Cabrales 的库存减少两打，过期", _search("Queso Cabrales") + _adjust("NW-011", -24, "过期")),
    ("请将仓库MAIN的NW-011库存减少2个，破损", _adjust("NW-011", -2, "破损", warehouse="MAIN")),
]

CREATE: list[tuple[str, Calls]] = [
    (
        "Order 12 Queso Cabrales and 3 x NW-042 for ALFKI",
        _search("Queso Cabrales") + _order("ALFKI", ("NW-011", 12), ("NW-042", 3)),
    ),
    ("Create an order for Alfreds Futterkiste: NW-011 x 10", _order("Alfreds Futterkiste", ("NW-011", 10))),
    ("order NW-011 x 10 for ALFKI", _order("ALFKI", ("NW-011", 10))),
    ("Please order a dozen NW-011 and half a dozen NW-042 for ALFKI", _order("ALFKI", ("NW-011", 12), ("NW-042", 6))),
    ("create a new order of 10x NW-011 for Around the Horn", _order("Around the Horn", ("NW-011", 10))),
    ("I want to order twenty-five NW-011 for ALFKI", _order("ALFKI", ("NW-011", 25))),
    ("order 5 NW-011 for ALFKI from warehouse MAIN", _order("ALFKI", ("NW-011", 5), warehouse="MAIN")),
    ("order 5 each of NW-011 and NW-042 for ALFKI", _order("ALFKI", ("NW-011", 5), ("NW-042", 5))),
    ("sell 3 boxes of NW-011 to BERGS", _order("BERGS", ("NW-011", 3))),
    ("new order for ALFKI: NW-011*10, NW-042*3", _order("ALFKI", ("NW-011", 10), ("NW-042", 3))),
    ("Order 1,200 NW-011 for ALFKI", _order("ALFKI", ("NW-011", 1200))),
    ("Order 2.5 NW-011 for ALFKI", _order("ALFKI", ("NW-011", "2.5"))),
    ("Order 12 nw 011 for alfki", _order("alfki", ("NW-011", 12))),
    (
        'place an order for ALFKI: 12 x "Queso Cabrales", 3 NW-042',
        _search("Queso Cabrales") + _order("ALFKI", ("NW-011", 12), ("NW-042", 3)),
    ),
    (
        "Create order for customer ALFKI with 5 NW-011, note: leave at the door",
        _order("ALFKI", ("NW-011", 5), note="leave at the door"),
    ),
    ("给 ALFKI 下单 NW-011 12 个", _order("ALFKI", ("NW-011", 12))),
    ("帮客户ALFKI订购十二件NW-011", _order("ALFKI", ("NW-011", 12))),
    ("为客户ALFKI创建订单：NW-011 x 10，NW-042 x 3", _order("ALFKI", ("NW-011", 10), ("NW-042", 3))),
    ("给ALFKI下单：NW-011一打，NW-042半打", _order("ALFKI", ("NW-011", 12), ("NW-042", 6))),
    ("ALFKI要订12个NW-011和3个NW-042", _order("ALFKI", ("NW-011", 12), ("NW-042", 3))),
    ("请给客户 Alfreds Futterkiste 下一个订单，两打 NW-011", _order("Alfreds Futterkiste", ("NW-011", 24))),
    ("帮ALFKI买五个ＮＷ－０１１", _order("ALFKI", ("NW-011", 5))),
    ("新建订单 客户ALFKI NW-011 12个 NW-042 3个", _order("ALFKI", ("NW-011", 12), ("NW-042", 3))),
    ("给ALFKI下单NW-011 12个，备注：放门口", _order("ALFKI", ("NW-011", 12), note="放门口")),
    ("给ALFKI下单 NW-011 和 NW-042 各5个", _order("ALFKI", ("NW-011", 5), ("NW-042", 5))),
]

READ: list[tuple[str, Calls]] = [
    ("What is in order 11074?", _look("11074")),
    ("what's in SO19980506-11074", _look(FULL)),
    ("11074", _look("11074")),
    ("status of order 10248?", _look("10248")),
    ("show order 10248 and 10249", _look("10248", "10249")),
    ("查询订单 10248", _look("10248")),
    ("订单 １０２４８", _look("10248")),
    ("10248里有什么", _look("10248")),
    ("show open orders of ALFKI", _open(customer="ALFKI")),
    ("列出 ALFKI 的未完成订单", _open(customer="ALFKI")),
    ("show Alfreds Futterkiste's open orders", _open(customer="Alfreds Futterkiste")),
    ("list pending orders", _list(status="pending")),
    ("show cancelled orders of customer ALFKI", _list(customer="ALFKI", status="cancelled")),
    ("显示已取消的订单", _list(status="cancelled")),
    ("orders from 1998-05-01 to 1998-05-06", _list(date_from="1998-05-01", date_to="1998-05-06")),
    ("orders from 1 May 1998 to 6 May 1998", _list(date_from="1998-05-01", date_to="1998-05-06")),
    ("1998年5月1日至1998年5月6日的订单", _list(date_from="1998-05-01", date_to="1998-05-06")),
    ("orders before May 1998", _list(date_to="1998-04-30")),
    ("what orders did ALFKI place in 1997?", _list(customer="ALFKI", date_from="1997-01-01", date_to="1997-12-31")),
    ("查询ALFKI在1998年5月的订单", _list(customer="ALFKI", date_from="1998-05-01", date_to="1998-05-31")),
    ("昨天的订单", _list(date_from="2026-11-30", date_to="2026-11-30")),
    ("上个月的订单", _list(date_from="2026-11-01", date_to="2026-11-30")),
    ("本周的订单", _list(date_from="2026-11-30", date_to="2026-12-06")),
    ("2026年11月30日的订单", _list(date_from="2026-11-30", date_to="2026-11-30")),
    ("12月2日的订单", _list(date_from="2025-12-02", date_to="2025-12-02")),
    ("which orders contain NW-011?", _list(sku="NW-011")),
    ("show the last 5 orders of ALFKI in detail", _list(customer="ALFKI", limit=5, detail=True)),
    ("how much Queso Cabrales is in stock?", _search("Queso Cabrales") + _stock("NW-011")),
    ("Queso Cabrales 还有多少库存？", _search("Queso Cabrales") + _stock("NW-011")),
    ("NW-011还有多少库存", _stock("NW-011")),
    ("NW - 011 的库存", _stock("NW-011")),
    ("is NW-011 in stock?", _stock("NW-011")),
    ("check stock for NW-011 and NW-042", _stock("NW-011", "NW-042")),
    ("do we have NW-011 in warehouse MAIN?", _stock("NW-011", warehouse="MAIN")),
    ("how many 85123A are left?", _stock("85123A")),
    ("price of NW-011", _product("NW-011")),
    ("NW-011多少钱", _product("NW-011")),
    ("how much does Queso Cabrales cost?", _search("Queso Cabrales") + _product("NW-011")),
    ("tell me about product 1151293680", _product("1151293680")),
]

SEVERAL: list[tuple[str, Calls]] = [
    (
        "cancel 11074 and take 2 of NW-011 out of stock, damaged",
        [*_cancel(NO_REASON, "11074"), *_adjust("NW-011", -2, "damaged")],
    ),
    (
        "取消订单11074并把NW-011库存减少2个，破损",
        [*_cancel("用户要求", "11074"), *_adjust("NW-011", -2, "破损")],
    ),
    ("what is in order 11074 and how much NW-011 is in stock?", [*_look("11074"), *_stock("NW-011")]),
    (
        "Cancel order 11074, duplicate. Also order 3 NW-042 for ALFKI",
        [*_cancel("duplicate", "11074"), *_order("ALFKI", ("NW-042", 3))],
    ),
    (
        "cancel order 11074 and show the stock of NW-011",
        [*_look("11074"), *_stock("NW-011"), *_cancel(NO_REASON, "11074")[1:]],
    ),
    ("Don't cancel 11074, cancel 11075 instead, wrong item", [*_look("11074"), *_cancel("wrong item", "11075")]),
]


@pytest.mark.parametrize(("sentence", "calls"), [*CANCEL, *ADJUST, *CREATE, *READ, *SEVERAL])
def test_a_sentence_leads_to_its_calls(sentence: str, calls: Calls) -> None:
    """Every sentence of the table leads to exactly these calls, reads before writes."""
    assert talk(sentence).calls == calls
