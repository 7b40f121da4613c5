"""Who gets what: every token × every tool × every field, from the registry, over a real MCP client and over REST."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import httpx
import jsonschema_rs
import pytest

from erp_mcp.auth.doorkeeper import Doorkeeper
from erp_mcp.auth.tokens import TokenFile
from erp_mcp.contract import JsonObject
from erp_mcp.principal import TRUSTED
from erp_mcp.registry import load_registry
from erp_mcp.skill import BelongsTo
from erp_mcp.web.app import build_app
from tests.integration.access_erp import (
    CALLS,
    CANCELLED,
    NO_FURTHER_PAGES,
    PEOPLE,
    THEIRS,
    TOKENS,
    Token,
    field_paths,
    make_access_erp,
    schema_paths,
)
from tests.integration.http_fixtures import bearer, error_of, mcp_client, rest_client, serving
from tests.integration.small_erp import OPEN, SHIPPED, Host, everything, open_host, preview_of, send

REGISTRY: Final = load_registry()
SKILLS: Final = {tool.name: tool.skill for tool in REGISTRY} | REGISTRY.internal
HELD: Final = [name for name in TOKENS if name != "none"]


@dataclass(frozen=True)
class Place:
    """The served ERP and a token of each kind."""

    host: Host
    address: str
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One for all cells: nothing here is ever executed."""
    home = tmp_path_factory.mktemp("access")
    url = f"sqlite:///{home / 'erp.db'}"
    make_access_erp(url)
    host = open_host(url, home)
    kept = TokenFile(home / "tokens.json")
    made = {name: kept.add(name, token.scopes or (), customer=token.customer) for name, token in TOKENS.items()}
    with serving(build_app(host.erp, Doorkeeper(kept))) as address:
        yield Place(host, address, made)
    host.erp.close()


def trusted(host: Host, tool: str, arguments: JsonObject) -> JsonObject:
    """The whole answer, as the agent gets it in its own process."""
    body, is_error = host.erp.calls.answer(TRUSTED, tool, arguments, {})
    answer: JsonObject = json.loads(body)
    assert not is_error, answer
    return answer


def refused(token: Token, tool: str) -> bool:
    """Whether the table says that this token may not call this tool at all."""
    bound = token.customer is not None and SKILLS[tool].belongs_to is None
    return token.lacks(SKILLS[tool].scopes) or bound


def shown(token: Token, tool: str, field: str) -> bool:
    """Whether the table says that this token is shown this field."""
    personal = SKILLS[tool].personal
    return token.sees_people or not any(
        field == path or field.startswith((f"{path}.", f"{path}[")) for path in personal
    )


def test_the_calls_show_every_field_of_every_tool(place: Place) -> None:
    """Else a field that is left out could be one that is never there."""
    assert set(CALLS) == set(SKILLS)
    for tool in REGISTRY:
        if tool.risk == "read":
            seen = set().union(*(field_paths(trusted(place.host, tool.name, call)) for call in CALLS[tool.name]))
            unseen = {
                path for path in schema_paths(tool.output_schema) - seen if (tool.name, path) not in NO_FURTHER_PAGES
            }
            assert not unseen, (tool.name, unseen)


@pytest.mark.parametrize("kind", HELD)
async def test_a_token_sees_the_tools_that_it_may_call(place: Place, kind: str) -> None:
    """``tools/list`` by who asks, and the same resources."""
    async with mcp_client(place.address, place.tokens[kind]) as client:
        listed = {tool.name for tool in await client.list_tools()}
    assert listed == {tool for tool in SKILLS if not refused(TOKENS[kind], tool)}


@pytest.mark.guarantee("D1")
@pytest.mark.parametrize("tool", sorted(CALLS))
@pytest.mark.parametrize("kind", HELD)
async def test_every_cell(place: Place, kind: str, tool: str) -> None:
    """Refused, or answered with exactly the fields that this token is shown, by the tool's schema; REST the same."""
    token = TOKENS[kind]
    async with mcp_client(place.address, place.tokens[kind]) as client:
        schemas = {known.name: known.outputSchema for known in await client.list_tools()}
        for arguments in CALLS[tool]:
            is_error, answer = await send(client, tool, arguments, {})
            if refused(token, tool):
                assert is_error
                assert answer["error"]["code"] == "forbidden"
            else:
                assert not is_error, answer
                whole = trusted(place.host, tool, arguments)
                assert field_paths(answer) == {path for path in field_paths(whole) if shown(token, tool, path)}
                assert values(answer) <= values(whole)
                jsonschema_rs.validator_for(schemas[tool]).validate(answer)
            await same_over_rest(place, kind, tool, arguments, answer, is_error=is_error)


@pytest.mark.parametrize("tool", sorted(CALLS))
async def test_nobody_is_refused_everywhere(place: Place, tool: str) -> None:
    """The column without a token."""
    async with rest_client(place.address) as client:
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": CALLS[tool][0]},
        }
        answers = [await client.post("/mcp", json=call)]
        if SKILLS[tool].route is not None:
            answers.append(await rest(client, tool, CALLS[tool][0]))
    for answer in answers:
        assert answer.status_code == 401
        assert error_of(answer)["code"] == "unauthorized"


def values(answer: Any, path: str = "") -> set[str]:
    """Every value with the place where it stands."""
    if isinstance(answer, dict):
        return set().union(*(values(child, f"{path}.{name}") for name, child in answer.items()))
    if isinstance(answer, list):
        return set().union(*(values(child, f"{path}.{n}") for n, child in enumerate(answer)))
    return {f"{path}={answer!r}"}


async def rest(client: httpx.AsyncClient, tool: str, arguments: JsonObject) -> httpx.Response:
    """A call by its route."""
    route = SKILLS[tool].route
    assert route is not None
    path = f"/api{route.path}".format(**arguments)
    rest = {name: value for name, value in arguments.items() if name not in route.parameters}
    if route.method == "GET":
        plain = {name: str(value).lower() if isinstance(value, bool) else value for name, value in rest.items()}
        return await client.get(path, params=plain)
    return await client.request(route.method, path, json=rest)


async def same_over_rest(
    place: Place, kind: str, tool: str, arguments: JsonObject, answer: JsonObject, *, is_error: bool
) -> None:
    """REST is another way to the same answer."""
    if SKILLS[tool].route is None:
        assert tool == "batch"
        return
    async with rest_client(place.address, place.tokens[kind]) as client:
        response = await rest(client, tool, arguments)
    assert response.json() == answer
    assert (response.status_code == 200) != is_error
    if is_error:
        assert response.status_code == 403


@pytest.mark.guarantee("D1")
@pytest.mark.parametrize("kind", [name for name in HELD if not TOKENS[name].sees_people])
async def test_personal_data_leaks_by_no_answer_and_no_error(place: Place, kind: str) -> None:
    """Not in a field, a message, a suggestion or a candidate, whatever is asked."""
    near: list[tuple[str, JsonObject]] = [
        ("list_orders", {"customer": "Acme Limited"}), ("list_orders", {"customer": "Zwei Gmbh."}),
        ("compute_quote", {"lines": [{"sku": "A-1", "quantity": 1}], "customer": "Akme Ltd"}),
        ("get_customer", {"customer": "Euro Korp"}), ("get_customer_purchases", {"customer": "acm"}),
        ("find_customers", {"query": "wanda@"}), ("get_order", {"order_id": "100"}),
        ("adjust_stock", {"sku": "A-1", "delta": -10**6, "reason": "x"}),
        *((tool, call) for tool, calls in CALLS.items() for call in calls),
    ]  # fmt: skip
    async with mcp_client(place.address, place.tokens[kind]) as client:
        for tool, arguments in near:
            asked = json.dumps(arguments)
            _, answer = await send(client, tool, arguments, {})
            said = json.dumps(answer)
            assert not [text for text in PEOPLE if text in said and text not in asked], (tool, arguments, said)


OWNED: Final = [
    (kind, tool)
    for kind, token in TOKENS.items()
    for tool, skill in SKILLS.items()
    if token.customer and isinstance(skill.belongs_to, BelongsTo) and not refused(token, tool)
]


@pytest.mark.guarantee("D2")
@pytest.mark.parametrize(("kind", "tool"), OWNED)
async def test_what_is_another_customers_is_not_there(place: Place, kind: str, tool: str) -> None:
    """The same words for somebody else's order as for one that does not exist, for every tool that names one."""
    owner = SKILLS[tool].belongs_to
    assert isinstance(owner, BelongsTo)
    theirs, nowhere = ("2001", "2999") if owner.kind == "order" else ("Zwei GmbH", "Nowhere GmbH")
    async with mcp_client(place.address, place.tokens[kind]) as client:
        said = []
        for name in (theirs, nowhere):
            is_error, answer = await send(client, tool, CALLS[tool][0] | {owner.argument: name}, {})
            assert is_error
            assert answer["error"]["code"] == f"{owner.kind}_not_found"
            said.append(json.dumps(answer).replace(name, "…"))
    assert said[0] == said[1]


@pytest.mark.guarantee("D2")
async def test_lists_and_totals_are_the_customers_own(place: Place) -> None:
    """Without a filter, with another's, page by page: total and cursor count their orders, never all there are."""
    async with mcp_client(place.address, place.tokens["bound"]) as client:
        _, page = await send(client, "list_orders", {"limit": 2}, {})
        assert (page["total"], page["returned"]) == (3, 2)
        _, rest_of_it = await send(client, "list_orders", {"limit": 2, "cursor": page["next_cursor"]}, {})
        assert (rest_of_it["total"], rest_of_it["returned"]) == (3, 1)
        assert "next_cursor" not in rest_of_it
        found = [order["order_id"] for order in [*page["items"], *rest_of_it["items"]]]
        assert set(found) == {OPEN, SHIPPED, CANCELLED}
        _, by_status = await send(client, "list_orders", {"status": "confirmed"}, {})
        assert [order["order_id"] for order in by_status["items"]] == [OPEN]
        assert by_status["total"] == 1
        _, of_all = await send(client, "get_order", {"order_id": THEIRS}, {})
        assert of_all["error"]["code"] == "order_not_found"
    async with mcp_client(place.address, place.tokens["full"]) as client:
        _, everybody = await send(client, "list_orders", {}, {})
    assert everybody["total"] == 4


async def test_calls_side_by_side_are_each_answered_for_their_own_token(place: Place) -> None:
    """Whoever else asks at the same moment, in the same worker threads."""
    call: JsonObject = {"order_id": SHIPPED}
    expected = {
        kind: {path for path in field_paths(trusted(place.host, "get_order", call)) if shown(token, "get_order", path)}
        for kind, token in TOKENS.items()
        if kind in HELD
    }
    answers: list[tuple[str, JsonObject]] = []

    async def over_mcp(kind: str) -> None:
        async with mcp_client(place.address, place.tokens[kind]) as client:
            answers.extend([(kind, (await send(client, "get_order", call, {}))[1]) for _ in range(8)])

    async def over_rest(kind: str) -> None:
        async with rest_client(place.address, place.tokens[kind]) as client:
            answers.extend([(kind, (await rest(client, "get_order", call)).json()) for _ in range(8)])

    async with anyio.create_task_group() as together:
        for kind in HELD:
            together.start_soon(over_mcp, kind)
            together.start_soon(over_rest, kind)
    assert len(answers) == 16 * len(HELD)
    for kind, answer in answers:
        assert field_paths(answer) == expected[kind], kind


async def test_a_bound_token_needs_not_say_who_it_is(place: Place) -> None:
    """Left out, their own id and their own name in other letters are the same customer."""
    async with mcp_client(place.address, place.tokens["bound"]) as client:
        for named in ({}, {"customer": "ACME"}, {"customer": " acme ltd"}):
            is_error, answer = await send(client, "get_customer", named, {})
            assert not is_error
            assert answer["customer_id"] == "ACME"


@pytest.mark.guarantee("signed-only")
async def test_a_write_needs_the_scope_and_the_grant(tmp_path: Path) -> None:
    """Neither alone does anything: a signed grant in the hands of a token without the scope is refused."""
    url = f"sqlite:///{tmp_path / 'erp.db'}"
    make_access_erp(url)
    host = open_host(url, tmp_path)
    kept = TokenFile(tmp_path / "tokens.json")
    reader, writer = kept.add("reader", ["orders:read"]), kept.add("writer", ["orders:write", "personal:read"])
    arguments: JsonObject = {"order_id": OPEN, "reason": "x"}
    with serving(build_app(host.erp, Doorkeeper(kept))) as address:
        async with mcp_client(address, reader) as reads, mcp_client(address, writer) as writes:
            grant = host.grant(await preview_of(writes, "cancel_order", **arguments))
            before = everything(host.erp.store)
            is_error, answer = await send(reads, "cancel_order", arguments, {"countersign/grant": grant})
            assert (is_error, answer["error"]["code"]) == (True, "forbidden")
            assert (await send(writes, "cancel_order", arguments, {}))[1]["status"] == "approval_required"
            assert everything(host.erp.store) == before
            _, done = await send(writes, "cancel_order", arguments, {"countersign/grant": grant})
            assert done["status"] == "executed"
        again = await _rest_cancel(address, writer, grant)
    host.erp.close()
    assert again.json()["status"] == "already_executed"


async def _rest_cancel(address: str, token: str, grant: str) -> httpx.Response:
    async with rest_client(address) as client:
        return await client.post(
            f"/api/orders/{OPEN}/cancellation",
            json={"reason": "x"},
            headers=bearer(token) | {"Countersign-Grant": grant},
        )
