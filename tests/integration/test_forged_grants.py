"""A thousand forged grants over MCP: claim by claim, header by header, character by character, replayed, expired, and
signed with whatever else is at hand. None is accepted, and nothing is written."""

import base64
import hashlib
import hmac
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fastmcp import Client

from erp_mcp.contract import META_GRANT, META_GRANTS, JsonObject
from erp_mcp.grants import CLAIMS, LIFETIME_SECONDS, load_or_create_key
from tests.integration.small_erp import OPEN, Host, everything, make_small_erp, open_host, preview_of, send

CANCEL: Final[JsonObject] = {"order_id": OPEN, "reason": "ordered by mistake"}
REFUSALS: Final = {"grant_invalid", "grant_expired", "grant_mismatch", "stale_version", "invalid_argument"}
AT_LEAST: Final = 1000
MUTATIONS: Final = 800
"""Tokens with one character changed."""

ODD: Final[tuple[Any, ...]] = (
    None, "", " ", "0", "x", "x" * 4000, "\x00", "\ud7ff", 0, 1, -1, 1.5, 1 << 70, 1e308, True, False, [], {}, ["a"],
    {"a": "b"}, [None], "countersign ", "COUNTERSIGN", "' OR 1=1 --",
)  # fmt: skip
FREE: Final = ("jti", "call", "sub", "req")
"""Claims whose every text is a good one: they name an approval and two people, and whoever has the key may name any."""

ALGORITHMS: Final = (
    "none",
    "None",
    "NONE",
    "nOnE",
    "",
    "HS384",
    "HS512",
    "hs256",
    "RS256",
    "ES256",
    "PS256",
    "EdDSA",
    None,
)
HEADERS: Final[tuple[JsonObject, ...]] = (
    {"kid": None}, {"kid": ""}, {"kid": "other"}, {"kid": "../../dev/null"}, {"kid": 1}, {"kid": ["local"]},
    {"crit": ["x"], "x": 1}, {"crit": ["b64"], "b64": False},
)  # fmt: skip


@pytest.fixture
def host(erp_url: str, tmp_path: Path) -> Iterator[Host]:
    """The small ERP and a host that may sign for it."""
    make_small_erp(erp_url)
    opened = open_host(erp_url, tmp_path)
    yield opened
    opened.erp.close()


def b64(raw: bytes) -> str:
    """Base64 as tokens have it."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    """What a lenient reader makes of it."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def signed(header: JsonObject, claims: JsonObject, key: bytes, algorithm: str = "sha256") -> str:
    """A token put together by hand: a library would refuse to make most of these."""
    parts = f"{b64(json.dumps(header).encode())}.{b64(json.dumps(claims).encode())}"
    return f"{parts}.{b64(hmac.new(key, parts.encode(), algorithm).digest())}"


class Forger:
    """Makes forged tokens of one good one.

    Args:
        claims: good ones.
        key: the real one, which the forger of claims is supposed to have.
    """

    def __init__(self, claims: JsonObject, key: bytes) -> None:
        self.claims = claims
        self.key = key
        self.header: JsonObject = {"alg": "HS256", "typ": "JWT", "kid": "local"}
        self.good = signed(self.header, claims, key)

    def all(self) -> Iterator[tuple[str, str]]:
        """Every forgery, with what it is."""
        yield from self.claim_by_claim()
        yield from self.header_by_header()
        yield from self.by_other_keys()
        yield from self.put_together()
        yield from self.character_by_character()

    def claim_by_claim(self) -> Iterator[tuple[str, str]]:
        """Each claim is missing, odd, or another one's."""
        for claim in CLAIMS:
            without = {name: value for name, value in self.claims.items() if name != claim}
            yield f"no {claim}", signed(self.header, without, self.key)
            for value in ODD:
                if not (claim in FREE and isinstance(value, str) and value):
                    yield f"{claim}={value!r:.40}", signed(self.header, self.claims | {claim: value}, self.key)
        now = int(time.time())
        for issued, lasts in (
            (now - 3600, 60),
            (now - 61, 60),
            (now, 3600),
            (now, 0),
            (now, -5),
            (now + 90, 60),
            (0, 60),
        ):
            times = {"iat": issued, "exp": issued + lasts}
            yield f"{times}", signed(self.header, self.claims | times, self.key)

    def header_by_header(self) -> Iterator[tuple[str, str]]:
        """Algorithms that the token chooses, keys that it brings along, and key ids that lead elsewhere."""
        jwk = {"kty": "oct", "k": b64(b"my own key" * 4)}
        for algorithm in ALGORITHMS:
            header = self.header | {"alg": algorithm}
            for key in (self.key, b"", b"my own key" * 4):
                for digest in ("sha256", "sha512"):
                    if (algorithm, key, digest) != ("HS256", self.key, "sha256"):
                        yield f"alg={algorithm}", signed(header, self.claims, key, digest)
            yield f"alg={algorithm} unsigned", signed(header, self.claims, b"").rpartition(".")[0] + "."
        for extra in HEADERS:
            yield f"header {extra}", signed(self.header | extra, self.claims, self.key)
        for name in ("jwk", "jku", "x5u", "x5c"):
            yield f"brings its {name}", signed(self.header | {name: jwk}, self.claims, b"my own key" * 4)

    def by_other_keys(self) -> Iterator[tuple[str, str]]:
        """Keys that are no key, that are near the real one, or that are public."""
        private = Ed25519PrivateKey.generate()
        public = private.public_key()
        near = [self.key[:-1], self.key + b"\n", self.key.upper(), self.key[::-1], hashlib.sha256(self.key).digest(),
                bytes.fromhex(self.key.decode()), b"", b"\x00" * 64, b"secret", b"countersign",
                public.public_bytes(Encoding.Raw, PublicFormat.Raw),
                public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)]  # fmt: skip
        for key in near:
            yield "near the key", signed(self.header, self.claims, key)
        yield "by a key pair", jwt.encode(self.claims, private, algorithm="EdDSA", headers={"kid": "local"})

    def put_together(self) -> Iterator[tuple[str, str]]:
        """Pieces of good tokens, in the wrong places."""
        head, body, signature = self.good.split(".")
        other = b64(json.dumps(self.claims | {"digest": "0" * 64}).encode())
        yield from (("pieces", text) for text in (
            f"{head}.{other}.{signature}", f"{head}.{body}.", f"{head}.{body}", f"{head}..{signature}",
            f".{body}.{signature}",
            f"{body}.{head}.{signature}", f"{head}.{body}.{signature}.{signature}", f"{self.good} {self.good}",
            f"Bearer {self.good}", f" {self.good}x", self.good.upper(), self.good[::-1], "..", "null", "{}", "a.b.c",
        ))  # fmt: skip

    def character_by_character(self) -> Iterator[tuple[str, str]]:
        """One character is another: of the header, of the claims, of the signature."""
        chance, made = random.Random(17), 0
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=!"
        meant = [unb64(part) for part in self.good.split(".")]
        while made < MUTATIONS:
            place = chance.randrange(len(self.good))
            text = self.good[:place] + chance.choice(alphabet) + self.good[place + 1 :]
            try:
                same = [
                    unb64(part) for part in text.split(".")
                ] == meant  # the last character has bits that say nothing
            except ValueError:
                same = False
            if not same:
                made += 1
                yield f"character {place}", text


@pytest.mark.guarantee("A17", "signed-only", "what-you-saw")
async def test_of_a_thousand_forged_grants_none_is_accepted(host: Host, tmp_path: Path) -> None:
    """Each is refused with a code of its own kind, every table stays as it was, and the good one still works."""
    async with Client(host.erp.server) as client:
        shown = await preview_of(client, "cancel_order", **CANCEL)
        now = int(time.time())
        claims: JsonObject = {
            "jti": "apr_1", "iss": "countersign", "aud": host.erp.instance_id, "call": "c" * 64, "tool": "cancel_order",
            "digest": shown.digest, "sub": "andrew", "req": "nancy", "iat": now, "exp": now + LIFETIME_SECONDS,
        }  # fmt: skip
        forger = Forger(claims, load_or_create_key(tmp_path / "approval.key"))
        before, tried, accepted = everything(host.erp.store), 0, []
        for what, token in forger.all():
            tried += 1
            refused, answer = await send(client, "cancel_order", CANCEL, {META_GRANT: token})
            if not refused or answer["error"]["code"] not in REFUSALS:
                accepted.append((what, answer))
        assert accepted == []
        assert everything(host.erp.store) == before
        assert tried >= AT_LEAST
        fresh = host.grant(await preview_of(client, "cancel_order", **CANCEL))
        _, done = await send(client, "cancel_order", CANCEL, {META_GRANT: fresh})
        assert done["status"] == "executed"


REPLAYED: Final[tuple[tuple[str, JsonObject], ...]] = (
    ("cancel_order", CANCEL | {"reason": "another reason"}),
    ("cancel_order", CANCEL | {"order_id": "SO20260102-1002"}),
    ("adjust_stock", {"sku": "A-1", "delta": -1, "reason": "counted"}),
    ("adjust_stock", {"sku": "A-1", "delta": 1, "reason": "counted"}),
    ("adjust_stock", {"sku": "B-2", "delta": -1, "reason": "counted"}),
    ("create_order", {"customer": "ACME", "lines": [{"sku": "A-1", "quantity": 1}]}),
    ("update_customer", {"customer": "ACME", "phone": "+44 20 7946 0000"}),
)


@pytest.mark.guarantee("A17", "A11", "once")
async def test_a_good_grant_replayed_under_anything_else_does_nothing(host: Host) -> None:
    """Alone and in a batch, before it was used and afterwards, for other arguments and for other tools."""
    good: tuple[str, JsonObject] = ("adjust_stock", {"sku": "A-1", "delta": -3, "reason": "counted"})
    async with Client(host.erp.server) as client:
        token = host.grant(await preview_of(client, good[0], **good[1]))
        for used in (False, True):
            if used:
                _, done = await send(client, *good, {META_GRANT: token})
                assert done["status"] == "executed"
            before = everything(host.erp.store)
            for tool, arguments in REPLAYED:
                refused, answer = await send(client, tool, arguments, {META_GRANT: token})
                assert (refused, answer["error"]["code"] in REFUSALS) == (True, True), answer
                pair = {"calls": [{"tool": tool, "arguments": arguments}, {"tool": good[0], "arguments": good[1]}]}
                refused, answer = await send(client, "batch", pair, {META_GRANTS: [token, token]})
                assert (refused, answer["error"]["code"] in REFUSALS) == (True, True), answer
            assert everything(host.erp.store) == before
