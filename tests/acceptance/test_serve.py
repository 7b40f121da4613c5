"""``countersign serve``: raw MCP hosts ask, people decide by token, and nothing but a plain decision counts."""

from collections.abc import Callable

import httpx
import pytest

from erp_mcp.contract import META_GRANT, META_KEY
from tests.acceptance.serve_fixtures import SKU, Json, Served, served, shared
from tests.integration.agent_fixtures import OPEN, adjust, moves, northwind_home

__all__ = ["northwind_home", "served", "shared"]

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(300)]


@pytest.mark.guarantee("signed-only", "accountable")
async def test_a_host_asks_a_person_decides_by_token_and_the_host_sees_the_receipt(served: Served) -> None:
    mine = await served.ask("desktop", -2)
    assert (await served.progress("desktop", mine))["status"] == "pending"
    assert served.effects() == []

    decided = served.decide("andrew", mine)

    assert (decided.status_code, decided.json()["outcome"]) == (200, "executed")
    seen = await served.progress("desktop", mine)
    assert seen["status"] == "executed"
    assert (seen["receipt"]["approver"], seen["receipt"]["requested_by"]) == ("andrew", "desktop")
    assert moves(served.settings, SKU)[-1] == (SKU, "adjustment", -2, 0)
    assert len(served.effects()) == 1
    (row,) = served.rows()
    assert (row.decided_by, row.assurance) == ("andrew", "token")


async def test_over_rest_a_write_waits_in_the_same_way(served: Served) -> None:
    with served.http("desktop") as http:
        asked = http.post(f"/api/orders/{OPEN}/cancellation", json={"reason": "ordered by mistake"})
        assert (asked.status_code, asked.json()["status"]) == (200, "approval_required"), asked.text
        mine = asked.json()["approval_id"]
        assert http.get(f"/api/requests/{mine}").json()["status"] == "pending"
        assert served.decide("andrew", mine, "reject", reason="no").json()["outcome"] == "rejected"
        assert http.get(f"/api/requests/{mine}").json()["reason"] == "no"
    assert served.effects() == []


async def test_an_edit_makes_a_fresh_approval(served: Served) -> None:
    mine = await served.ask("desktop", -2)

    edited = served.decide("andrew", mine, "edit", args=adjust(SKU, -1)[1])

    assert (edited.status_code, edited.json()["outcome"]) == (200, "superseded")
    fresh = (await served.progress("desktop", mine))["superseded_by"]
    with served.http("andrew") as http:
        (listed,), whole = http.get("/api/approvals").json()["approvals"], http.get(f"/api/approvals/{fresh}").json()
    assert listed["difference"] == whole["difference"] == edited.json()["pending"][0]["difference"]
    assert any("-2 → -1" in line for line in whole["difference"])
    assert served.decide("andrew", fresh).json()["outcome"] == "executed"
    assert moves(served.settings, SKU)[-1] == (SKU, "adjustment", -1, 0)
    assert len(served.effects()) == 1


@pytest.mark.guarantee("A17")
async def test_a_host_neither_decides_its_own_request_nor_sees_anothers(served: Served) -> None:
    mine, boths = await served.ask("desktop", -2), await served.ask("both", -3)

    for who in ("desktop", "reader"):
        assert served.decide(who, mine).status_code == 403
        with served.http(who) as http:
            assert http.get("/api/approvals").status_code == 403
    own = served.decide("both", boths)
    assert (own.status_code, own.json()["error"]["code"]) == (403, "forbidden")
    is_error, answer = await served.call("laptop", "get_approval", {"approval_id": mine})
    assert is_error
    assert answer["error"]["code"] == "approval_not_found"
    assert {row.status for row in served.rows()} == {"pending"}
    assert served.decide("both", mine).json()["outcome"] == "executed"


async def test_a_host_is_offered_what_its_token_may_call_and_get_approval(served: Served) -> None:
    async with served.mcp("desktop") as client:
        writer = {tool.name for tool in await client.list_tools()}
    async with served.mcp("reader") as client:
        reader = {tool.name for tool in await client.list_tools()}

    assert {"cancel_order", "adjust_stock", "get_approval"} <= writer
    assert reader == {"get_approval", "search_products", "get_product", "compute_quote", "compare_quotes"}
    assert "batch" not in writer  # it is for those who hold grants


async def test_who_may_not_write_opens_no_approval(served: Served) -> None:
    is_error, answer = await served.call("reader", *adjust(SKU, -2))

    assert is_error
    assert answer["error"]["code"] in {"forbidden", "unknown_tool"}
    assert served.rows() == []


@pytest.mark.guarantee("once")
async def test_the_same_key_is_the_same_request_for_good(served: Served) -> None:
    key = {META_KEY: "b7f8"}
    mine = await served.ask("desktop", -2, key)
    assert await served.ask("desktop", -2, key) == mine
    served.decide("andrew", mine)

    is_error, again = await served.call("desktop", *adjust(SKU, -2), key)

    assert (is_error, again["status"], again["receipt"]["approval_id"]) == (False, "executed", mine)
    assert len(served.effects()) == 1


@pytest.mark.guarantee("B1")
async def test_get_and_head_decide_nothing(served: Served) -> None:
    mine = await served.ask("desktop", -2)
    before = served.rows()
    with served.http("both") as http:
        (row,) = before
        paths = [
            path.replace("{approval_id}", mine).replace("{order_id}", OPEN).replace("{sku}", SKU)
            for path in http.get("/api/openapi.json").json()["paths"]
        ]
        assert f"/api/approvals/{mine}/approve" in paths
        queries = [None, {"digest": row.digest}, {"digest": row.digest, "by": "andrew", "decision": "approve"}]
        for path in [*paths, "/", "/mcp", "/mcp/", "/approve", f"/api/approvals/{mine}/approve/"]:
            for number in range(100):
                method = ("GET", "HEAD")[number % 2]
                http.request(method, path, params=queries[number % 3])

    assert served.rows() == before
    assert served.effects() == []


async def test_only_whole_and_plain_decisions_count(served: Served) -> None:
    mine = await served.ask("desktop", -2)
    (row,) = served.rows()
    where, good = f"/api/approvals/{mine}/approve", {"digest": row.digest}
    refused: list[tuple[int, Callable[[httpx.Client], httpx.Response]]] = [
        (400, lambda http: http.post(where, json={})),
        (400, lambda http: http.post(where, json=[good])),
        (400, lambda http: http.post(where, json=good | {"by": "laura"})),
        (400, lambda http: http.post(where, json={"digest": 7})),
        (400, lambda http: http.post(where, content=b"{")),
        (409, lambda http: http.post(where, json={"digest": "0" * 64})),
        (404, lambda http: http.post("/api/approvals/apr_nothing/approve", json=good)),
        (400, lambda http: http.post(where.replace("/approve", "/edit"), json=good)),
        (422, lambda http: http.post(where.replace("/approve", "/edit"), json=good | {"args": {"sku": "no such"}})),
        (404, lambda http: http.post(where.replace("/approve", "/execute"), json=good)),
        (405, lambda http: http.put(where, json=good)),
        (413, lambda http: http.post(where, content=b" " * 3_000_000)),
    ]
    with served.http("andrew") as http:
        for status, send in refused:
            answer = send(http)
            assert answer.status_code == status, (answer.status_code, answer.text)
            assert "Traceback" not in answer.text
            body = answer.json()
            assert {"code", "message", "hint"} <= body["error"].keys() if "error" in body else body["outcome"]
    with served.http("nobody") as nobody:
        for url in ("/api/approvals", f"/api/approvals/{mine}"):
            assert nobody.get(url).status_code == 401
        assert nobody.post(where, json=good).status_code == 401
    (row,) = served.rows()
    assert row.status == "pending"

    assert served.decide("andrew", mine).json()["outcome"] == "executed"


async def test_only_plain_requests_are_taken_over_mcp(served: Served) -> None:
    refused: list[tuple[str, Json, Json | None]] = [
        ("get_approval", {}, None),
        ("get_approval", {"approval_id": 7}, None),
        ("get_approval", {"approval_id": "x" * 41}, None),
        ("get_approval", {"approval_id": "apr_x", "by": "andrew"}, None),
        (*adjust(SKU, -2), {META_KEY: 7}),
        (*adjust(SKU, -2), {META_KEY: "k" * 201}),
        ("adjust_stock", {"sku": SKU, "delta": "many", "reason": "x"}, None),
        ("adjust_stock", {"sku": SKU, "delta": -1, "reason": "x", "approved": True}, None),
    ]
    for tool, arguments, meta in refused:
        is_error, answer = await served.call("desktop", tool, arguments, meta)
        assert is_error, (tool, arguments, answer)
        assert answer["error"]["code"] == "invalid_argument", answer
    forged = {META_GRANT: "e30.e30.e30", "countersign/approved_by": "andrew"}
    is_error, answer = await served.call("desktop", *adjust(SKU, -2), forged)
    assert answer["error"]["code"] == "grant_invalid"
    assert served.rows() == []


async def test_the_list_has_pages_and_filters(served: Served) -> None:
    ids = [await served.ask("desktop", -1 - number) for number in range(3)]
    other = await served.ask("laptop", -9)
    with served.http("andrew") as http:
        first = http.get("/api/approvals", params={"limit": 2}).json()
        rest = http.get("/api/approvals", params={"limit": 2, "after": first["next"]}).json()
        theirs = http.get("/api/approvals", params={"requested_by": "laptop"}).json()

    assert [one["approval_id"] for one in first["approvals"] + rest["approvals"]] == [*ids, other]
    assert rest["next"] is None
    assert [one["approval_id"] for one in theirs["approvals"]] == [other]
