"""Sentences for the tools beyond the first seven: quotes, customers, sales, shipping, changes and returns."""

from typing import Any

import pytest

from tests.unit.planner.conversation import talk

Calls = list[tuple[str, dict[str, Any]]]

ADDRESS = {"line1": "Obere Str. 57", "city": "Berlin", "postal_code": "12209", "country": "Germany"}


def _look(order: str) -> Calls:
    return [("get_order", {"order_id": order})]


def _one(tool: str, **arguments: Any) -> Calls:
    return [(tool, arguments)]


def _lines(*lines: tuple[str, int | str]) -> list[dict[str, int | str]]:
    return [{"sku": sku, "quantity": quantity} for sku, quantity in lines]


def _changed(*lines: tuple[str, int | str]) -> Calls:
    """The order of the stand-in ERP has one line: 3 of NW-011."""
    return _look("11074") + _one("update_order", order_id="11074", lines=_lines(*lines))


def _returned(reason: str, *lines: tuple[str, int | str], **more: Any) -> Calls:
    return _look("10248") + _one("request_return", order_id="10248", lines=_lines(*lines), reason=reason, **more)


READS: list[tuple[str, Calls]] = [
    ("Find products with chocolate in the name", _one("search_products", query="chocolate")),
    ("Which cheeses do you have in stock?", _one("search_products", query="cheese", in_stock_only=True)),
    ("What is the SKU of Queso Cabrales?", _one("search_products", query="Queso Cabrales")),
    ("查找名字里有 chocolate 的商品", _one("search_products", query="chocolate")),
    ("有哪些有货的 Seafood？", _one("search_products", query="Seafood", in_stock_only=True)),
    ("What is running low?", _one("list_low_stock")),
    ("列出 MAIN 仓库的低库存商品", _one("list_low_stock", warehouse="MAIN")),
    ("哪些商品需要补货", _one("list_low_stock")),
    ("Why did the stock of NW-011 change?", _one("stock_history", sku="NW-011")),
    (
        "Show the stock movements of NW-042 since 2026-11-01",
        _one("stock_history", sku="NW-042", date_from="2026-11-01"),
    ),
    ("查看 NW-042 从2026-11-01以来的出入库记录", _one("stock_history", sku="NW-042", date_from="2026-11-01")),
    ("Find customers called Alfreds", _one("find_customers", query="Alfreds")),
    ("联系人是 Maria Anders 的是哪个客户？", _one("find_customers", query="Maria Anders")),
    ("Show me customer ALFKI", _one("get_customer", customer="ALFKI")),
    ("What is the address of Alfreds Futterkiste?", _one("get_customer", customer="Alfreds Futterkiste")),
    ("BONAP 的联系人是谁？", _one("get_customer", customer="BONAP")),
    ("How much has ALFKI spent?", _one("get_customer_purchases", customer="ALFKI")),
    (
        "What did Ernst Handel buy in 1997?",
        _one("get_customer_purchases", customer="Ernst Handel", date_from="1997-01-01", date_to="1997-12-31"),
    ),
    (
        "Ernst Handel 在1997年买了什么？",
        _one("get_customer_purchases", customer="Ernst Handel", date_from="1997-01-01", date_to="1997-12-31"),
    ),
    ("What are our best selling products?", _one("sales_summary", group_by="product")),
    (
        "Sales by country in 1997",
        _one("sales_summary", group_by="country", date_from="1997-01-01", date_to="1997-12-31"),
    ),
    ("按月统计销售额", _one("sales_summary", group_by="month")),
    (
        "top 5 customers this year",
        _one("sales_summary", group_by="customer", date_from="2026-01-01", date_to="2026-12-31", limit=5),
    ),
    ("What would 50 of NW-011 cost?", _one("compute_quote", lines=_lines(("NW-011", 50)))),
    (
        "Quote 10 NW-011 and 20 NW-042 for ALFKI",
        _one("compute_quote", lines=_lines(("NW-011", 10), ("NW-042", 20)), customer="ALFKI"),
    ),
    (
        "How much is a dozen Queso Cabrales?",
        _one("search_products", query="Queso Cabrales") + _one("compute_quote", lines=_lines(("NW-011", 12))),
    ),
    ("一打 NW-011 要多少钱？", _one("compute_quote", lines=_lines(("NW-011", 12)))),
    (
        "给 ALFKI 报价：NW-011 10个，NW-042 20个",
        _one("compute_quote", lines=_lines(("NW-011", 10), ("NW-042", 20)), customer="ALFKI"),
    ),
    ("Which is cheaper for 50, NW-011 or NW-012?", _one("compare_quotes", skus=["NW-011", "NW-012"], quantity=50)),
    (
        "比较 NW-011、NW-031、NW-060 各20个的价格",
        _one("compare_quotes", skus=["NW-011", "NW-031", "NW-060"], quantity=20),
    ),
    ("Where is order 11074?", _one("check_shipping", order_id="11074")),
    ("SO19960704-10248 发货了吗？", _one("check_shipping", order_id="SO19960704-10248")),
    ("What does ALFKI owe us?", _one("check_balance", customer="ALFKI")),
    ("查询 Ernst Handel 的余额", _one("check_balance", customer="Ernst Handel")),
]

WRITES: list[tuple[str, Calls]] = [
    ("change the quantity of NW-011 in order 11074 to 5", _changed(("NW-011", 5))),
    ("change order 11074: NW-011 to 5", _changed(("NW-011", 5))),
    ("add 3 NW-042 to order 11074", _changed(("NW-011", 3), ("NW-042", 3))),
    ("add 2 NW-011 to order 11074", _changed(("NW-011", 5))),
    (
        "add 3 NW-042 and 2 Chai to order 11074",
        [
            *_look("11074"),
            *_one("search_products", query="Chai"),
            *_changed(("NW-011", 3), ("NW-042", 3), ("NW-001", 2))[1:],
        ],
    ),
    ("remove 1 NW-011 from order 11074", _changed(("NW-011", 2))),
    (
        "add 3 NW-042 to order 11074 and remove NW-011 from order 11074",
        _changed(("NW-042", 3)),
    ),
    (
        "change the lines of order 11074 to 5 NW-001 and 3 NW-042",
        _one("update_order", order_id="11074", lines=_lines(("NW-001", 5), ("NW-042", 3))),
    ),
    ("add a note to order 11074: leave at the door", _one("update_order", order_id="11074", note="leave at the door")),
    (
        "change the shipping address of order 11074 to Obere Str. 57, 12209 Berlin, Germany",
        _one("update_order", order_id="11074", ship_to=ADDRESS),
    ),
    (
        "ship order 11074 to 120 Hanover Sq., London, WA1 1DP, UK",
        _one(
            "update_order",
            order_id="11074",
            ship_to={"line1": "120 Hanover Sq", "city": "London", "postal_code": "WA1 1DP", "country": "UK"},
        ),
    ),
    ("把订单11074里NW-011的数量改为5", _changed(("NW-011", 5))),
    ("订单11074加3个NW-042", _changed(("NW-011", 3), ("NW-042", 3))),
    ("给订单11074加备注：放门口", _one("update_order", order_id="11074", note="放门口")),
    (
        "把订单11074的收货地址改为 Obere Str. 57，12209 Berlin，Germany",
        _one("update_order", order_id="11074", ship_to=ADDRESS),
    ),
    ("return 2 NW-011 from order 10248, broken", _returned("broken", ("NW-011", 2))),
    ("return NW-011 from order 10248, broken", _returned("broken", ("NW-011", 3))),
    ("return everything from order 10248, wrong goods", _returned("wrong goods", ("NW-011", 3))),
    ("return 2 NW-011 and 1 NW-017 from order 10248, broken", _returned("broken", ("NW-011", 2), ("NW-017", 1))),
    (
        "exchange 2 NW-011 from order 10248 for 2 NW-017, wrong flavour",
        _returned("wrong flavour", ("NW-011", 2), exchange_for=_lines(("NW-017", 2))),
    ),
    (
        "exchange NW-011 for NW-017 in order 10248, wrong flavour",
        _returned("wrong flavour", ("NW-011", 3), exchange_for=_lines(("NW-017", 3))),
    ),
    ("订单10248退货 NW-011 2个，破损", _returned("破损", ("NW-011", 2))),
    ("把订单10248的2个NW-011退掉，破损", _returned("破损", ("NW-011", 2))),
    (
        "把订单10248里的NW-011换成NW-017，口味不对",
        _returned("口味不对", ("NW-011", 3), exchange_for=_lines(("NW-017", 3))),
    ),
    ("订单10248整单退货，发错货", _returned("发错货", ("NW-011", 3))),
    ("change the phone of ALFKI to +49 30 0074321", _one("update_customer", customer="ALFKI", phone="+49 30 0074321")),
    ("set email of ALFKI to maria@example.com.", _one("update_customer", customer="ALFKI", email="maria@example.com")),
    (
        "update Alfreds Futterkiste's address to Obere Str. 57, 12209 Berlin, Germany",
        _one("update_customer", customer="Alfreds Futterkiste", address=ADDRESS),
    ),
    ("把客户ALFKI的电话改为 030-0074321", _one("update_customer", customer="ALFKI", phone="030-0074321")),
    (
        "take 2 of NW-011 and 3 of NW-042 out of stock, broken",
        [
            *_one("adjust_stock", sku="NW-011", delta=-2, reason="broken"),
            *_one("adjust_stock", sku="NW-042", delta=-3, reason="broken"),
        ],
    ),
    (
        "把NW-011、NW-042的库存各减5个",
        [
            *_one("adjust_stock", sku="NW-011", delta=-5, reason="用户要求"),
            *_one("adjust_stock", sku="NW-042", delta=-5, reason="用户要求"),
        ],
    ),
]


@pytest.mark.parametrize(("sentence", "calls"), [*READS, *WRITES])
def test_a_sentence_leads_to_its_calls(sentence: str, calls: Calls) -> None:
    """Every sentence of the table leads to exactly these calls, reads before writes."""
    assert talk(sentence).calls == calls


@pytest.mark.parametrize(
    "sentence",
    [
        "don't add 3 NW-042 to order 11074",
        "should I add 3 NW-042 to order 11074?",
        "不要给订单11074加3个NW-042",
        "can order 10248 be returned?",
        "don't return order 10248",
        "订单10248能退货吗？",
        "don't change the phone of ALFKI to 123",
        "don't check the balance of ALFKI",
        "remove 3 NW-042 from order 11074",
        "remove NW-011 from order 11074",
        "change the address of ALFKI to Berlin",
        "把ALFKI的地址改为北京",
        "NW-011减2个 NW-042减3个",
        "set NW-011 to 40",
        "order 12 NW-011 with 10% discount for ALFKI",
        "ALFKI买了什么",
        "what is the order history of NW-011",
        "if ALFKI agrees, return 2 NW-011 from order 10248",
    ],
)
def test_what_is_no_command_or_incomplete_leads_to_no_write(sentence: str) -> None:
    """Negations, questions, conditions and what cannot be carried out lead to no write; something is said."""
    conversation = talk(sentence)
    assert conversation.writes == []
    assert conversation.answer


def test_what_was_not_understood_before_a_command_is_said() -> None:
    """Half of a message is never dropped in silence."""
    turn = talk("change the quantity of NW-016 to 5 and add 3 NW-042 to order 11074")
    assert [name for name, _ in turn.writes] == ["update_order"]
    assert "change the quantity of NW-016 to 5" in turn.answer
