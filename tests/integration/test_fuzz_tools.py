"""Anything that a client may send to any tool: an answer that fits its schema or a refusal with a code, never a crash,
never a part of an effect, never an answer that left a filter out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
import sqlalchemy as sa
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastmcp import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from erp_mcp.contract import META_GRANT, META_GRANTS, META_RISK, JsonObject, Preview
from erp_mcp.domain.lookup import match_key
from erp_mcp.store.tables import customers, order_lines, products, stock
from tests.integration.fuzzing import ODD, arguments_for
from tests.integration.small_erp import Host, balanced_host, everything, send

EXAMPLES: Final = {"sqlite": 80, "postgresql": 25}


@dataclass
class Bench:
    """A connected client behind a thread of its own, since Hypothesis calls plain functions."""

    host: Host
    portal: BlockingPortal
    client: Client[Any]
    tools: dict[str, Any]

    def send(self, name: str, arguments: JsonObject, meta: JsonObject) -> tuple[bool, JsonObject]:
        """One request: whether it was refused, and the answer."""
        refused, answer = self.portal.call(send, self.client, name, arguments, meta)
        return refused, answer

    def of_risk(self, *risks: str) -> list[str]:
        """The tools of these risks."""
        return [name for name, tool in self.tools.items() if (tool.meta or {}).get(META_RISK) in risks]

    def fuzz(self, check: Callable[..., None], *drawn: st.SearchStrategy[Any]) -> None:
        """Run a check on many drawn values, and see that no table has changed."""
        before = everything(self.host.erp.store)

        @settings(
            max_examples=EXAMPLES["sqlite" if "sqlite" in self.host.erp.store.url else "postgresql"],
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.tuples(*drawn))
        def holds(values: tuple[Any, ...]) -> None:
            check(*values)

        holds()
        assert everything(self.host.erp.store) == before


@pytest.fixture
def bench(erp_url: str, tmp_path: Path) -> Iterator[Bench]:
    """The small ERP with categories, reorder levels and a client."""
    with balanced_host(erp_url, tmp_path) as host:
        with host.erp.store.write() as tx:
            run = tx.connection.execute
            run(sa.update(products).values(category="Tools", search_key=products.c.search_key + "tools"))
            run(sa.update(products).where(products.c.sku.in_(["A-1", "B-2"])).values(category="Food"))
            run(sa.update(stock).values(reorder_level_milli=90_000))
            run(sa.update(customers).values(credit_limit_minor=500_000))
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(Client(host.erp.server)) as client,
        ):
            yield Bench(host, portal, client, {tool.name: tool for tool in portal.call(client.list_tools)})


@pytest.mark.guarantee("E6", "E10", "signed-only")
def test_no_arguments_break_a_tool_or_change_anything(bench: Bench) -> None:
    """Every tool, from its own schema and around it, as anybody may call it: without a grant."""
    for name, tool in bench.tools.items():
        fits = jsonschema_rs.validator_for(tool.outputSchema)

        def check(arguments: JsonObject, name: str = name, fits: Any = fits) -> None:
            refused, answer = bench.send(name, arguments, {})
            if refused:
                check_refusal(answer)
            else:
                fits.validate(answer)
                assert list(left_out(bench.host, arguments, answer)) == []

        bench.fuzz(check, arguments_for(tool.inputSchema))


@pytest.mark.guarantee("A17", "signed-only")
def test_no_made_up_grant_has_an_effect(bench: Bench) -> None:
    """Whatever stands where a grant belongs, it is refused, and no table changes."""
    made_up = st.sampled_from([value for value in ODD if not is_null(value)])
    for name in bench.of_risk("write", "sensitive", "internal"):
        key = META_GRANTS if name in bench.of_risk("internal") else META_GRANT

        def check(arguments: JsonObject, token: Any, listed: bool, name: str = name, key: str = key) -> None:
            refused, answer = bench.send(name, arguments, {key: [token] if listed else token})
            assert refused
            check_refusal(answer)

        bench.fuzz(check, arguments_for(bench.tools[name].inputSchema), made_up, st.booleans())


@pytest.mark.guarantee("what-you-saw")
def test_a_grant_for_one_call_never_executes_another(bench: Bench) -> None:
    """A preview of some arguments, signed, and sent with others: refused, and no table changes."""
    for name in bench.of_risk("write", "sensitive"):

        def check(seen: JsonObject, sent: JsonObject, name: str = name) -> None:
            refused, one = bench.send(name, seen, {})
            also_refused, other = bench.send(name, sent, {})
            if refused or (not also_refused and one["preview"]["arguments"] == other["preview"]["arguments"]):
                return
            token = bench.host.grant(Preview.model_validate(one["preview"]))
            refused, answer = bench.send(name, sent, {META_GRANT: token})
            assert refused, answer
            check_refusal(answer)

        drawn = arguments_for(bench.tools[name].inputSchema)
        bench.fuzz(check, drawn, drawn)


def check_refusal(answer: JsonObject) -> None:
    """A refusal is one that a client can act on."""
    error = answer["error"]
    assert error["code"] not in ("internal_error", "database_unusable", "database_busy", "database_read_only"), error
    assert error["message"]
    assert error["hint"]
    assert "Traceback" not in str(error)


def is_null(value: Any) -> bool:
    """Whether it goes over the wire as a null: the SDK's client sends what JSON has no number for as one."""
    return value is None or (isinstance(value, float) and not isfinite(value))


def left_out(host: Host, arguments: JsonObject, answer: JsonObject) -> Iterator[str]:
    """Filters that were given and that some row of the answer does not meet; a null is the same as none given."""
    given_ones = {name: value for name, value in arguments.items() if not is_null(value)}
    if "made_up" in given_ones:
        yield "made_up"
    found = answer.get("items", answer.get("warehouses", []))
    rows: list[JsonObject] = found if isinstance(found, list) else []
    if "limit" in given_ones and len(rows) > int(given_ones["limit"]):
        yield "limit"
    for row in rows:
        yield from (
            f"{name}={value!r}: {row}" for name, value in given_ones.items() if not meets(host, name, value, row)
        )


def meets(host: Host, name: str, value: Any, row: JsonObject) -> bool:
    """Whether a row of a list is one that the filter lets through; filters of other shapes of answers pass."""
    day = str(row.get("placed_at") or row.get("at") or "")[:10]
    match name:
        case "status" | "warehouse" | "category" if name in row:
            return match_key(row[name]) == match_key(value)
        case "customer" if "customer_id" in row:
            return match_key(value) in (match_key(row["customer_id"]), match_key(row["customer_name"]))
        case "sku" if "order_id" in row and "line_count" in row:
            return match_key(value) in {match_key(sku) for sku in skus_of(host, row["order_id"])}
        case "date_from":
            return (day or "2026-01-02") >= str(value)  # sums, which have no day, are over orders of that day
        case "date_to":
            return (day or "2026-01-02") <= str(value)
        case "in_stock_only":
            return value is False or Decimal(row["available"]) > 0
        case _:
            return True


def skus_of(host: Host, order_id: str) -> list[str]:
    """What an order has lines of."""
    with host.erp.store.read() as tx:
        return list(tx.connection.scalars(sa.select(order_lines.c.sku).where(order_lines.c.order_id == order_id)))
