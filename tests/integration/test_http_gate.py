"""The gate before MCP and REST on one port: tokens, hosts, origins, sizes, and one shape for every refusal."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from fastmcp.exceptions import ToolError
from openapi_pydantic import OpenAPI

from erp_mcp.auth.doorkeeper import Doorkeeper
from erp_mcp.auth.tokens import TokenFile
from erp_mcp.commands import open_reader
from erp_mcp.web import gate
from erp_mcp.web.app import build_app
from erp_mcp.web.gate import MAX_BODY_BYTES
from tests.integration.http_fixtures import bearer, error_of, mcp_client, rest_client, serving
from tests.integration.small_erp import OPEN, make_small_erp, open_host

INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    },
}  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream"}


PRIVATE = {
    "cancel_order": {"order_id": OPEN, "reason": "x"}, "sales_summary": {"group_by": "month"},
    "get_customer_purchases": {"customer": "ACME"}, "check_balance": {"customer": "ACME"},
}  # fmt: skip


@dataclass(frozen=True)
class Door:
    """A served ERP with one token in its file."""

    address: str
    tokens: TokenFile
    token: str


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    """The small ERP over HTTP."""
    url = f"sqlite:///{tmp_path / 'erp.db'}"
    make_small_erp(url)
    host = open_host(url, tmp_path)
    tokens = TokenFile(tmp_path / "tokens.json")
    token = tokens.add("desk", ["orders:read", "products:read"])
    with serving(build_app(host.erp, Doorkeeper(tokens))) as address:
        yield Door(address, tokens, token)
    host.erp.close()


async def test_no_token_a_wrong_one_and_the_right_one(door: Door) -> None:
    """401 that says what to send, 401 that says it is no good, 200: over REST and over MCP."""
    for presented, status, challenge in (
        (None, 401, "Bearer"),
        (door.token[:-1] + ("A" if door.token[-1] != "A" else "B"), 401, 'Bearer error="invalid_token"'),
        ("nonsense", 401, 'Bearer error="invalid_token"'),
        (door.token, 200, None),
    ):
        async with rest_client(door.address, presented) as client:
            answers = [
                await client.get(f"/api/orders/{OPEN}"),
                await client.post("/mcp", json=INITIALIZE, headers=ACCEPT),
                await client.post("/mcp/", json=INITIALIZE, headers=ACCEPT),
            ]
        for answer in answers:
            assert answer.status_code == status, answer.text
            assert answer.headers.get("www-authenticate") == challenge
            if status == 401:
                assert error_of(answer)["code"] == "unauthorized"


async def test_a_token_in_another_scheme_or_twice_is_no_token(door: Door) -> None:
    """Only ``Bearer``, and only what stands in the header."""
    async with rest_client(door.address) as client:
        for header in (f"Basic {door.token}", door.token, "Bearer", f"Bearer {door.token} x"):
            answer = await client.get(f"/api/orders/{OPEN}", headers={"Authorization": header})
            assert answer.status_code == 401
        in_query = await client.get(f"/api/orders/{OPEN}", params={"access_token": door.token})
        assert in_query.status_code == 401


@pytest.mark.guarantee("D3")
async def test_a_revoked_token_stops_at_once_also_in_a_session_that_is_open(door: Door) -> None:
    """The file is looked at for each request."""
    async with rest_client(door.address, door.token) as client:
        opened = await client.post("/mcp", json=INITIALIZE, headers=ACCEPT)
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await client.post("/mcp", json=ping, headers=ACCEPT | session)).status_code == 200
        door.tokens.revoke("desk")
        assert (await client.post("/mcp", json=ping, headers=ACCEPT | session)).status_code == 401
        assert (await client.get(f"/api/orders/{OPEN}")).status_code == 401


async def test_a_session_is_its_openers_alone(door: Door) -> None:
    """Somebody else's token with a known session id: as if there were no such session."""
    other = door.tokens.add("other", ["orders:read"])
    async with rest_client(door.address) as client:
        opened = await client.post("/mcp", json=INITIALIZE, headers=ACCEPT | bearer(door.token))
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        own = await client.post("/mcp", json=ping, headers=ACCEPT | bearer(door.token) | session)
        theirs = await client.post("/mcp", json=ping, headers=ACCEPT | bearer(other) | session)
    assert (own.status_code, theirs.status_code) == (200, 404)


async def test_each_request_counts_by_its_own_token(door: Door) -> None:
    """A session's first token says nothing about a later one of the same name with fewer scopes."""
    async with rest_client(door.address) as client:
        opened = await client.post("/mcp", json=INITIALIZE, headers=ACCEPT | bearer(door.token))
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}
        door.tokens.revoke("desk")
        lesser = door.tokens.add("desk", ["products:read"])
        call = {
            "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "get_order", "arguments": {"order_id": OPEN}},
        }  # fmt: skip
        answer = await client.post("/mcp", json=call, headers=ACCEPT | bearer(lesser) | session)
    assert answer.json()["result"]["isError"]
    assert '"forbidden"' in answer.json()["result"]["content"][0]["text"]


@pytest.mark.guarantee("D5")
@pytest.mark.parametrize("path", ["/mcp", "/mcp/", f"/api/orders/{OPEN}"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:80"}, 421),
        ({"Host": "localhost.evil.example"}, 421),
        ({"Host": "127.0.0.1@evil.example"}, 421),
        ({"Host": ""}, 421),
        ({"Host": "[::"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
async def test_a_foreign_page_cannot_call(door: Door, path: str, headers: dict[str, str], status: int) -> None:
    """DNS rebinding and cross-site requests are refused before anything else, token or not."""
    async with rest_client(door.address, door.token) as client:
        method = "GET" if path.startswith("/api") else "POST"
        answer = await client.request(method, path, headers=ACCEPT | headers, json=INITIALIZE)
    assert answer.status_code == status
    assert error_of(answer)["code"] == ("forbidden" if status == 403 else "misdirected")


async def test_its_own_names_and_pages_can(door: Door) -> None:
    """localhost is the same server, and a page that it served itself is no stranger."""
    port = door.address.rsplit(":", 1)[1]
    async with rest_client(door.address, door.token) as client:
        for headers in ({"Host": f"localhost:{port}"}, {"Origin": door.address}, {"Host": f"[::1]:{port}"}):
            assert (await client.get(f"/api/orders/{OPEN}", headers=headers)).status_code == 200


async def test_a_page_that_the_operator_allowed_can_call_and_read(door: Door, tmp_path: Path) -> None:
    """The browser's own question before it (preflight) is answered for that origin and for no other."""
    host = open_host(f"sqlite:///{tmp_path / 'erp.db'}", tmp_path)
    friend = {"Origin": "https://desk.example"}
    asks = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
    with serving(build_app(host.erp, Doorkeeper(door.tokens), origins=["https://desk.example"])) as address:
        async with rest_client(address, door.token) as client:
            order = f"/api/orders/{OPEN}"
            before = await client.options(order, headers=friend | asks)
            answer = await client.get(order, headers=friend)
            stranger = await client.options(order, headers=asks | {"Origin": "https://evil.example"})
            refused = await client.get(order, headers={"Origin": "https://evil.example"})
    host.erp.close()
    assert (before.status_code, answer.status_code, refused.status_code) == (200, 200, 403)
    assert before.headers["access-control-allow-origin"] == friend["Origin"]
    assert answer.headers["access-control-allow-origin"] == friend["Origin"]
    assert answer.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in stranger.headers


async def test_a_request_is_bounded_in_size_with_and_without_a_declared_length(door: Door) -> None:
    """413, whichever way it comes; and just below it is read."""

    async def chunks(size: int) -> object:
        for _ in range(size // 1024 + 1):
            yield b"x" * 1024

    quote = {"lines": [{"sku": "A-1", "quantity": 1}], "customer": "x" * (MAX_BODY_BYTES - 200)}
    async with rest_client(door.address, door.token) as client:
        json_type = {"Content-Type": "application/json"}
        for path in ("/api/quotes", "/mcp"):
            declared = await client.post(path, content=b"x" * (MAX_BODY_BYTES + 1), headers=json_type)
            chunked = await client.post(path, content=chunks(MAX_BODY_BYTES + 1), headers=json_type)  # type: ignore[arg-type]
            for answer in (declared, chunked):
                assert answer.status_code == 413
                assert error_of(answer)["code"] == "request_too_large"
        assert (await client.post("/api/quotes", json=quote)).status_code == 400


async def test_a_request_that_never_ends_is_answered(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends a body drop by drop does not hold a place for ever."""
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.2)
    port = int(door.address.rsplit(":", 1)[1])
    stream = await anyio.connect_tcp("127.0.0.1", port)
    async with stream:
        head = f"POST /api/quotes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {door.token}\r\n"
        await stream.send(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
        answer = (await stream.receive()).decode()
    assert answer.startswith("HTTP/1.1 408 ")


@pytest.mark.parametrize(
    ("method", "path", "content", "kind", "status", "code"),
    [
        ("GET", "/api/nothing", None, None, 404, "unknown_route"),
        ("GET", "/", None, None, 404, "unknown_route"),
        ("DELETE", "/api/orders/1001", None, None, 405, "method_not_allowed"),
        ("POST", "/api/quotes", b"{", "application/json", 400, "invalid_json"),
        ("POST", "/api/quotes", b"[" * 100_000, "application/json", 400, "invalid_json"),
        ("POST", "/api/quotes", b"\xff\xfe", "application/json", 400, "invalid_json"),
        ("POST", "/api/quotes", b"[]", "application/json", 400, "invalid_json"),
        ("POST", "/api/quotes", b"{}", "text/plain", 415, "unsupported_media_type"),
        ("POST", "/api/quotes", b"{}", None, 415, "unsupported_media_type"),
        ("POST", "/api/quotes", b"{}", "application/json", 400, "invalid_argument"),
        ("POST", "/api/quotes", b'{"lines":[{"sku":"A-1","quantity":NaN}]}', "application/json", 400,
         "invalid_argument"),
        ("GET", "/api/orders?limit=nine", None, None, 400, "invalid_argument"),
        ("GET", "/api/orders?limit=1&limit=2", None, None, 400, "invalid_argument"),
        ("GET", "/api/orders?colour=red", None, None, 400, "invalid_argument"),
        ("GET", "/api/orders/999", None, None, 404, "order_not_found"),
        ("GET", "/api/orders/%00", None, None, 400, "invalid_argument"),
        ("GET", "/api/orders/1001?order_id=1002", None, None, 400, "invalid_argument"),
        ("GET", "/api/products/A-1/stock", None, None, 403, "forbidden"),
    ],
)  # fmt: skip
async def test_whatever_is_wrong_is_told_in_one_shape(
    door: Door, method: str, path: str, content: bytes | None, kind: str | None, status: int, code: str
) -> None:
    """``{"error": {code, message, hint}}`` with the status that fits, and nothing of the inside."""
    async with rest_client(door.address, door.token) as client:
        headers = {} if kind is None else {"Content-Type": kind}
        answer = await client.request(method, path, content=content, headers=headers)
    assert answer.status_code == status, answer.text
    assert error_of(answer)["code"] == code


@pytest.mark.parametrize("content", [b"{", b"[]", b'"x"', b"\xff", b"[" * 100_000, b""])
async def test_bad_input_to_mcp_is_an_error_of_the_protocol(door: Door, content: bytes) -> None:
    """JSON-RPC has a shape of its own; the server lives on."""
    async with rest_client(door.address, door.token) as client:
        headers = ACCEPT | {"Content-Type": "application/json"}
        answer = await client.post("/mcp", content=content, headers=headers)
        assert answer.status_code == 400
        assert "Traceback" not in answer.text
        assert (await client.post("/mcp", json=INITIALIZE, headers=headers)).status_code == 200


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("POST", {"Content-Type": "text/plain"}, 400),
        ("POST", {"Content-Type": "application/json", "Accept": "text/html"}, 406),
        ("POST", {"Content-Type": "application/json", "mcp-session-id": "made up"}, 404),
        ("PUT", {"Content-Type": "application/json"}, 405),
        ("GET", {"Accept": "text/event-stream"}, 400),
        ("DELETE", {"mcp-session-id": "made up"}, 404),
    ],
)
async def test_requests_that_mcp_does_not_know(door: Door, method: str, headers: dict[str, str], status: int) -> None:
    """A status that says what is wrong, never a failure."""
    async with rest_client(door.address, door.token) as client:
        answer = await client.request(method, "/mcp", headers=ACCEPT | headers, json=INITIALIZE)
    assert answer.status_code == status, answer.text
    assert "Traceback" not in answer.text


async def test_the_api_describes_itself_and_names_no_other_site(door: Door) -> None:
    """OpenAPI needs no token, and there is no page that loads scripts from elsewhere."""
    async with rest_client(door.address) as client:
        described = (await client.get("/api/openapi.json")).json()
        assert (await client.get("/docs")).status_code == 401
    whole = OpenAPI.model_validate(described)
    assert whole.paths is not None
    for path in whole.paths.values():
        for found in (path.get, path.post, path.put, path.patch, path.delete):
            assert found is None or (found.security == [{"bearer": []}] and found.responses)
    assert described["components"]["securitySchemes"] == {"bearer": {"type": "http", "scheme": "bearer"}}
    operation = described["paths"]["/api/orders/{order_id}"]["get"]
    assert operation["operationId"] == "get_order"
    assert [p["in"] for p in operation["parameters"] if p["name"] == "order_id"] == ["path"]
    assert operation["responses"]["200"]["content"]["application/json"]["schema"]["properties"]["order_id"]


async def test_without_a_token_public_reads_where_the_operator_says_so(tmp_path: Path) -> None:
    """``--open``: what is public, no personal data; a bad token is still refused."""
    url = f"sqlite:///{tmp_path / 'erp.db'}"
    make_small_erp(url)
    host = open_host(url, tmp_path)
    doorkeeper = Doorkeeper(TokenFile(tmp_path / "tokens.json"), stranger=open_reader(host.erp.calls))
    with serving(build_app(host.erp, doorkeeper)) as address:
        async with mcp_client(address) as client:
            order = (await client.call_tool("get_order", {"order_id": OPEN})).structured_content
            assert order is not None
            assert order["order_id"] == OPEN
            assert "customer_name" not in order
            names = {tool.name for tool in await client.list_tools()}
            for tool, arguments in PRIVATE.items():
                assert tool not in names
                with pytest.raises(ToolError, match="unknown_tool"):
                    await client.call_tool(tool, arguments)
        async with rest_client(address, "wrong") as client:
            answer = await client.get(f"/api/orders/{OPEN}")
    host.erp.close()
    assert answer.status_code == 401
