"""Finding rows by what people type: as typed first, else exactly by key, never by guessing."""

import pytest
import sqlalchemy as sa

from erp_mcp.domain.lookup import match_key
from erp_mcp.errors import ErpError
from erp_mcp.queries.lookup import find_customer, find_order, find_product, find_stock, find_warehouse
from erp_mcp.store.engine import Store
from erp_mcp.store.tables import customers, orders, products, stock, warehouses
from erp_mcp.store.transaction import Tx


def add_products(tx: Tx, *skus: str) -> None:
    values = {"name": "A thing", "name_key": "a thing", "unit_price_minor": 1, "currency": "USD"}
    rows = [{"sku": sku, "sku_key": match_key(sku), **values} for sku in skus]
    tx.connection.execute(sa.insert(products), rows)


def add_customers(tx: Tx, *named: tuple[str, str]) -> None:
    common = {"address": {}, "currency": "USD"}
    keys = [{"id_key": match_key(key), "name_key": match_key(name)} for key, name in named]
    rows = [{"id": key, "name": name, **common, **found} for (key, name), found in zip(named, keys, strict=True)]
    tx.connection.execute(sa.insert(customers), rows)


@pytest.mark.guarantee("E13")
def test_skus_keep_their_zeros_and_forgive_width_case_and_space(store: Store) -> None:
    """ "01234" is not "1234"; "SKU123 " and "ＳＫＵ－１２３" find what they mean."""
    with store.write() as tx:
        add_products(tx, "01234", "1234", "SKU123", "SKU-123")
    with store.read() as tx:
        typed = ["01234", "1234", "SKU123 ", "ＳＫＵ－１２３", " sku123"]
        assert [find_product(tx, sku).sku for sku in typed] == ["01234", "1234", "SKU123", "SKU-123", "SKU123"]
        for part in ("SKU", "123", "012345", "%", "SKU_123", ""):
            with pytest.raises(ErpError) as refused:
                find_product(tx, part)
            assert refused.value.code == "product_not_found"


@pytest.mark.guarantee("E14")
def test_skus_that_differ_only_by_case_are_each_found(store: Store) -> None:
    """As typed comes first; what fits both and is neither is ambiguous."""
    with store.write() as tx:
        add_products(tx, "85123A", "85123a")
    with store.read() as tx:
        assert [find_product(tx, sku).sku for sku in ("85123A", "85123a")] == ["85123A", "85123a"]
        with pytest.raises(ErpError) as refused:
            find_product(tx, "８５１２３A")
    assert refused.value.code == "ambiguous"
    assert [c["sku"] for c in refused.value.details["candidates"]] == ["85123A", "85123a"]


@pytest.mark.guarantee("E12")
def test_a_name_of_two_customers_is_ambiguous(store: Store) -> None:
    """All candidates with what tells them apart, at most ten of them, and how many there are."""
    with store.write() as tx:
        add_customers(tx, ("A", "Acme"), ("B", "Acme"), ("C", "Bolt"), *((f"M{n:02}", "Many") for n in range(12)))
    with store.read() as tx:
        for typed in ("Acme", "ACME "):
            with pytest.raises(ErpError) as refused:
                find_customer(tx, typed)
            assert refused.value.code == "ambiguous"
            assert [c["customer_id"] for c in refused.value.details["candidates"]] == ["A", "B"]
        with pytest.raises(ErpError) as refused:
            find_customer(tx, "Many")
        assert (len(refused.value.details["candidates"]), refused.value.details["count"]) == (10, 12)
        assert find_customer(tx, "a").id == "A"
        assert find_customer(tx, "bolt").id == "C"


def test_a_name_that_is_somebody_elses_id_is_ambiguous(store: Store) -> None:
    """An id and a name are the same to the one who types, so neither wins in silence."""
    with store.write() as tx:
        add_customers(tx, ("BOLT", "Acme"), ("X", "BOLT"))
    with store.read() as tx, pytest.raises(ErpError) as refused:
        find_customer(tx, "BOLT")
    assert refused.value.code == "ambiguous"


@pytest.mark.parametrize(
    "typed", ["SO19980506-11074", "11074", " 11074 ", "so19980506-11074", "ＳＯ１９９８０５０６－１１０７４"]
)
def test_an_order_is_found_by_its_number_and_by_its_imported_one(northwind: Store, typed: str) -> None:
    """Northwind's own number is enough."""
    with northwind.read() as tx:
        assert find_order(tx, typed).id == "SO19980506-11074"


@pytest.mark.parametrize("typed", ["1107", "011074", "SO19980506", "#11074", "%", "11074-"])
def test_a_part_of_a_number_finds_nothing(northwind: Store, typed: str) -> None:
    """And the hint names a tool that helps."""
    with northwind.read() as tx, pytest.raises(ErpError) as refused:
        find_order(tx, typed)
    assert refused.value.code == "order_not_found"
    assert typed in refused.value.message
    assert "list_orders" in refused.value.hint


def test_signs_of_a_source_belong_to_its_numbers(northwind: Store) -> None:
    """A number such as #W2378156 is found as it is written, in either case."""
    with northwind.write() as tx:
        values = {"source_id": "#W2378156", "source_key": match_key("#W2378156")}
        tx.connection.execute(sa.update(orders).where(orders.c.source_id == "10248").values(**values))
    with northwind.read() as tx:
        assert find_order(tx, "#W2378156").id == find_order(tx, "#w2378156").id == "SO19960704-10248"


def test_suggestions_are_shown_and_never_taken(northwind: Store) -> None:
    """A near miss is an error that names what may be meant."""
    with northwind.read() as tx:
        with pytest.raises(ErpError) as product:
            find_product(tx, "Queso Cabrale")
        with pytest.raises(ErpError) as customer:
            find_customer(tx, "Alfred Futterkiste")
        with pytest.raises(ErpError) as nothing:
            find_customer(tx, "完全不同")
    assert product.value.details["suggestions"][0] == "NW-011 (Queso Cabrales)"
    assert customer.value.details["suggestions"] == ["ALFKI (Alfreds Futterkiste)"]
    assert nothing.value.details["suggestions"] == []


def test_the_main_warehouse_is_the_default(store: Store) -> None:
    """The only one, else MAIN; with several and no MAIN somebody has to choose."""
    with store.write() as tx:
        with pytest.raises(ErpError) as none:
            find_warehouse(tx, None)
        tx.connection.execute(sa.insert(warehouses).values(code="EAST", name="East"))
        assert find_warehouse(tx, None).code == "EAST"
        tx.connection.execute(sa.insert(warehouses).values(code="WEST", name="West"))
        with pytest.raises(ErpError) as several:
            find_warehouse(tx, None)
        tx.connection.execute(sa.insert(warehouses).values(code="MAIN", name="Main"))
        assert find_warehouse(tx, None).code == "MAIN"
        assert find_warehouse(tx, " west").code == "WEST"
        with pytest.raises(ErpError) as unknown:
            find_warehouse(tx, "NORTH")
    assert (none.value.code, several.value.code, unknown.value.code) == (
        "warehouse_not_found", "ambiguous", "warehouse_not_found",
    )  # fmt: skip
    assert unknown.value.details["warehouses"] == ["EAST", "MAIN", "WEST"]


def test_stock_is_found_where_it_is_kept(store: Store) -> None:
    """A product that a warehouse does not keep is not the same as one of which none is left."""
    with store.write() as tx:
        add_products(tx, "A")
        tx.connection.execute(sa.insert(warehouses), [{"code": "MAIN", "name": "M"}, {"code": "EAST", "name": "E"}])
        tx.connection.execute(sa.insert(stock).values(sku="A", warehouse="MAIN", on_hand_milli=0))
    with store.read() as tx:
        assert find_stock(tx, "a", None).warehouse == "MAIN"
        with pytest.raises(ErpError) as refused:
            find_stock(tx, "A", "EAST")
    assert refused.value.code == "stock_not_found"
