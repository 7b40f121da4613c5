"""Grants as MCP clients send them: whatever is not exactly what a person signed is refused, and changes nothing."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
import time_machine
from fastmcp import Client

from erp_mcp.app import build_erp
from erp_mcp.calls import READS
from erp_mcp.contract import META_GRANT, META_GRANTS, JsonObject, Preview
from erp_mcp.grants import LIFETIME_SECONDS, Grant, load_or_create_key
from tests.integration.small_erp import OPEN, Host, ask, everything, make_small_erp, open_host, preview_of, send

CANCEL: JsonObject = {"order_id": OPEN, "reason": "ordered by mistake"}


@pytest.fixture
def host(erp_url: str, tmp_path: Path) -> Iterator[Host]:
    """The small ERP and a host that may sign for it."""
    make_small_erp(erp_url)
    opened = open_host(erp_url, tmp_path)
    yield opened
    opened.erp.close()


def forged(host: Host, home: Path, shown: Preview, *, kid: str = "local", **changes: Any) -> str:
    """A token with the right key and one thing wrong, or with another key or algorithm."""
    now = int(time.time())
    key = changes.pop("key", load_or_create_key(home / "approval.key"))
    algorithm = changes.pop("algorithm", "HS256")
    claims = {
        "jti": "a", "iss": "countersign", "aud": host.erp.instance_id, "call": "c", "tool": "cancel_order",
        "digest": shown.digest, "sub": "andrew", "req": "nancy", "iat": now, "exp": now + LIFETIME_SECONDS,
    }  # fmt: skip
    claims = {name: value for name, value in (claims | changes).items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": kid})


FORGERIES: dict[str, tuple[JsonObject, str]] = {
    "another key": ({"key": b"x" * 64}, "grant_invalid"),
    "a key id that is not known": ({"kid": "other"}, "grant_invalid"),
    "no algorithm": ({"algorithm": "none", "key": None}, "grant_invalid"),
    "another algorithm": ({"algorithm": "HS512"}, "grant_invalid"),
    "another audience": ({"aud": "another-erp"}, "grant_invalid"),
    "two audiences": ({"aud": ["another-erp"]}, "grant_invalid"),
    "another issuer": ({"iss": "somebody"}, "grant_invalid"),
    "expired": ({"iat": 1, "exp": 1 + LIFETIME_SECONDS}, "grant_expired"),
    "from the future": ({"iat": 1 << 40, "exp": (1 << 40) + 5}, "grant_invalid"),
    "for ever": ({"exp": 1 << 40}, "grant_invalid"),
    "for another tool": ({"tool": "create_order"}, "grant_mismatch"),
    "for another digest": ({"digest": "0" * 64}, "stale_version"),
    **{
        f"no {claim}": ({claim: None}, "grant_invalid")
        for claim in ("jti", "iss", "aud", "call", "tool", "digest", "sub", "req", "iat", "exp")
    },
}


@pytest.mark.guarantee("A17", "signed-only")
@pytest.mark.parametrize("forgery", FORGERIES)
async def test_a_forged_grant_executes_nothing(host: Host, tmp_path: Path, forgery: str) -> None:
    """Each forgery has its code, leaves every table as it was, and does not spoil the good grant after it."""
    changes, code = FORGERIES[forgery]
    async with Client(host.erp.server) as client:
        shown = await preview_of(client, "cancel_order", **CANCEL)
        before = everything(host.erp.store)
        refused, answer = await ask(client, "cancel_order", forged(host, tmp_path, shown, **changes), **CANCEL)
        assert (refused, answer["error"]["code"]) == (True, code)
        assert everything(host.erp.store) == before
        assert (await ask(client, "cancel_order", forged(host, tmp_path, shown), **CANCEL))[1]["status"] == "executed"


@pytest.mark.guarantee("A17", "A11", "what-you-saw")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("cancel_order", CANCEL | {"reason": "ordered by mistake."}),
        ("cancel_order", CANCEL | {"order_id": "1001"}),
        ("create_order", {"customer": "ACME", "lines": [{"sku": "A-1", "quantity": 1}]}),
        ("adjust_stock", {"sku": "A-1", "delta": -5, "reason": "count"}),
    ],
)
async def test_a_grant_is_good_for_one_call_with_one_set_of_arguments(
    host: Host, tool: str, arguments: JsonObject
) -> None:
    """One byte of difference and nothing happens, before the grant was used and after."""
    async with Client(host.erp.server) as client:
        token = host.grant(await preview_of(client, "cancel_order", **CANCEL))
        before = everything(host.erp.store)
        refused, answer = await ask(client, tool, token, **arguments)
        assert (refused, answer["error"]["code"]) == (
            True,
            "stale_version" if tool == "cancel_order" else "grant_mismatch",
        )
        assert everything(host.erp.store) == before
        assert (await ask(client, "cancel_order", token, **CANCEL))[1]["status"] == "executed"
        after = everything(host.erp.store)
        refused, answer = await ask(client, tool, token, **arguments)
        assert (refused, answer["error"]["code"]) == (True, "grant_mismatch")
        assert everything(host.erp.store) == after


@pytest.mark.guarantee("A17")
async def test_two_erps_that_share_a_key_do_not_accept_each_others_grants(host: Host, tmp_path: Path) -> None:
    """The audience is the instance, made with its database; both previews are the same, byte by byte."""
    url = f"sqlite:///{tmp_path / 'twin.db'}"
    make_small_erp(url)
    twin = open_host(url, tmp_path)
    async with Client(host.erp.server) as ours, Client(twin.erp.server) as theirs:
        shown = await preview_of(ours, "cancel_order", **CANCEL)
        assert shown == await preview_of(theirs, "cancel_order", **CANCEL)
        refused, answer = await ask(theirs, "cancel_order", host.grant(shown), **CANCEL)
        assert (refused, answer["error"]["code"]) == (True, "grant_invalid")
        assert (await ask(theirs, "cancel_order", twin.grant(shown), **CANCEL))[1]["status"] == "executed"
    twin.erp.close()


@pytest.mark.guarantee("A17")
@pytest.mark.parametrize("name", ["countersign/grant", "grant", "_meta", "approval_id", "tx"])
async def test_a_grant_among_the_arguments_is_an_unknown_argument(host: Host, name: str) -> None:
    """A model can only write arguments, so an approval that it writes itself is worth nothing."""
    async with Client(host.erp.server) as client:
        token = host.grant(await preview_of(client, "cancel_order", **CANCEL))
        before = everything(host.erp.store)
        refused, answer = await send(client, "cancel_order", CANCEL | {name: token}, {})
    assert (refused, answer["error"]["code"]) == (True, "invalid_argument")
    assert everything(host.erp.store) == before


Meta = Callable[[str], JsonObject]


@pytest.mark.parametrize(
    "meta",
    [
        lambda token: {META_GRANT: [token]},
        lambda token: {META_GRANT: {"token": token}},
        lambda token: {META_GRANT: 5},
        lambda token: {META_GRANT: ""},
        lambda token: {META_GRANT: True},
        lambda token: {META_GRANTS: [token]},
        lambda token: {META_GRANT: token, META_GRANTS: [token]},
    ],
)
async def test_a_grant_of_a_wrong_form_is_refused_and_not_ignored(host: Host, meta: Meta) -> None:
    """A host that sends a grant means to execute: it never gets a preview back as if it had sent none."""
    async with Client(host.erp.server) as client:
        token = host.grant(await preview_of(client, "cancel_order", **CANCEL))
        refused, answer = await send(client, "cancel_order", CANCEL, meta(token))
    assert (refused, answer["error"]["code"]) == (True, "grant_invalid")


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        (lambda token: {META_GRANT: token}, "grant_invalid"),
        (lambda token: {META_GRANTS: token}, "grant_invalid"),
        (lambda token: {META_GRANTS: [token, None]}, "grant_invalid"),
        (lambda token: {META_GRANTS: []}, "grant_mismatch"),
        (lambda token: {META_GRANTS: [token, token]}, "grant_mismatch"),
    ],
)
async def test_a_batch_takes_one_grant_per_call(host: Host, meta: Meta, code: str) -> None:
    """Too few, too many, or in the wrong place: nothing is executed."""
    async with Client(host.erp.server) as client:
        token = host.grant(await preview_of(client, "cancel_order", **CANCEL))
        before = everything(host.erp.store)
        calls = {"calls": [{"tool": "cancel_order", "arguments": CANCEL}]}
        refused, answer = await send(client, "batch", calls, meta(token))
    assert (refused, answer["error"]["code"]) == (True, code)
    assert everything(host.erp.store) == before


@pytest.mark.guarantee("A12", "what-you-saw")
async def test_the_same_call_written_otherwise_is_the_call_that_was_signed(host: Host) -> None:
    """Previewed with 1, executed with 1.0, fetched again with "1": one digest, one effect."""

    def call(quantity: object) -> JsonObject:
        return {"customer": "ACME", "lines": [{"quantity": quantity, "sku": "A-1"}]}

    async with Client(host.erp.server) as client:
        shown = await preview_of(client, "create_order", **call(1))
        token = host.grant(shown)
        assert (await ask(client, "create_order", token, **call(1.0)))[1]["status"] == "executed"
        assert (await ask(client, "create_order", token, **call("1")))[1]["status"] == "already_executed"
        assert (await ask(client, "create_order", token, **shown.arguments))[1]["status"] == "already_executed"


async def test_an_expired_grant_for_something_else_fetches_nothing(host: Host) -> None:
    """Expired grants fetch receipts only: a used approval's id under another tool call is a mismatch."""
    async with Client(host.erp.server) as client:
        shown = await preview_of(client, "cancel_order", **CANCEL)
        await ask(client, "cancel_order", host.grant(shown, approval="one"), **CANCEL)
        with time_machine.travel(time.time() - 3600):
            other_call = host.grant(shown, approval="one", call="other")
            other_digest = host.signer.sign(
                Grant("one", "call-of-one", "cancel_order", "0" * 64, "andrew", "nancy"), host.erp.instance_id
            )
        for token in (other_call, other_digest):
            refused, answer = await ask(client, "cancel_order", token, **CANCEL)
            assert (refused, answer["error"]["code"]) == (True, "grant_mismatch")


async def test_a_server_without_writes_has_no_key_that_fits(erp_url: str, tmp_path: Path) -> None:
    """Nothing signs for it, and it makes no key file."""
    make_small_erp(erp_url)
    host = open_host(erp_url, tmp_path / "host")
    reader = build_erp(erp_url, key_path=tmp_path / "reader" / "approval.key", offer=READS)
    async with Client(host.erp.server) as client, Client(reader.server) as reading:
        token = host.grant(await preview_of(client, "cancel_order", **CANCEL))
        refused, answer = await ask(reading, "cancel_order", token, **CANCEL)
        assert (refused, answer["error"]["code"]) == (True, "unknown_tool")
        assert (await ask(client, "get_order", order_id=OPEN))[1]["status"] == "confirmed"
    assert not (tmp_path / "reader").exists()
    reader.close()
    host.erp.close()
