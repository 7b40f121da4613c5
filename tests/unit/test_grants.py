"""Grants: what is signed, what is accepted, and the key that both rest on."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jwt
import pytest
import time_machine
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jwt import PyJWS

from erp_mcp.errors import ErpError
from erp_mcp.grants import (
    CLAIMS,
    LIFETIME_SECONDS,
    Grant,
    Signer,
    Verifier,
    load_or_create_key,
    load_private_key,
    load_public_key,
)

KEY = b"k" * 64
GRANT = Grant("approval", "call", "cancel_order", "d" * 64, "andrew", "nancy")


def claims(**changes: Any) -> dict[str, Any]:
    """Good claims, changed; None takes one away."""
    now = int(time.time())
    good = {
        "jti": "approval", "iss": "countersign", "aud": "erp", "call": "call", "tool": "cancel_order",
        "digest": "d" * 64, "sub": "andrew", "req": "nancy", "iat": now, "exp": now + LIFETIME_SECONDS,
    }  # fmt: skip
    return {name: value for name, value in (good | changes).items() if value is not None}


def token(key: Any = KEY, algorithm: str = "HS256", kid: str = "local", **changes: Any) -> str:
    """A token as somebody might forge it."""
    return PyJWS().encode(json.dumps(claims(**changes)).encode(), key, algorithm=algorithm, headers={"kid": kid})


def test_what_was_signed_is_what_is_verified() -> None:
    """Every claim of the grant comes back."""
    assert Verifier(KEY, "erp").verify(Signer(KEY).sign(GRANT, "erp")) == GRANT
    assert Verifier(KEY, "erp").verify(token()) == GRANT


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("value", [None, "", 0, -1, [], {}, ["erp"], True, 1e400, "x" * 5000, 1 << 200])
def test_a_claim_that_is_missing_or_odd_is_refused_or_harmless(name: str, value: Any) -> None:
    """No claim may be left out; one of a wrong type is grant_invalid or grant_expired, never a crash."""
    if name in ("jti", "call", "tool", "digest", "sub", "req") and isinstance(value, str) and value:
        return  # any text is a well-formed value of these: what it names is checked elsewhere
    with pytest.raises(ErpError) as refused:
        Verifier(KEY, "erp").verify(token(**{name: value}))
    assert refused.value.code in ("grant_invalid", "grant_expired")


@pytest.mark.parametrize(
    "forged",
    [
        lambda: token(key=b"x" * 64),
        lambda: token(kid="other"),
        lambda: token(aud="another-erp"),
        lambda: token(iss="somebody"),
        lambda: token(iat=int(time.time()) + 1000, exp=int(time.time()) + 1010),
        lambda: token(exp=int(time.time()) + LIFETIME_SECONDS + 5),
        lambda: jwt.encode(claims(), "", algorithm="none", headers={"kid": "local"}),
        lambda: token(algorithm="HS512"),
        lambda: token() + "x",
        lambda: ".".join(token().split(".")[:2]) + ".",
        lambda: "",
        lambda: "a.b.c",
        lambda: "ünïcode.\ud800.x",
    ],
)
def test_a_forged_token_is_refused(forged: Any) -> None:
    """Another key, kid, audience or issuer; from the future; too long-lived; no or another algorithm; not a token."""
    with pytest.raises(ErpError) as refused:
        Verifier(KEY, "erp").verify(forged())
    assert refused.value.code == "grant_invalid"


def test_a_grant_lasts_a_minute_and_can_then_only_fetch_a_receipt() -> None:
    """Expired is its own code; all else is still checked before a receipt is looked up."""
    with time_machine.travel(time.time() - LIFETIME_SECONDS - 1):
        old = token()
        forged = token(key=b"x" * 64)
    with pytest.raises(ErpError) as refused:
        Verifier(KEY, "erp").verify(old)
    assert refused.value.code == "grant_expired"
    presented = Verifier(KEY, "erp").present(old)
    assert (presented.grant, presented.expired) == (GRANT, True)
    with pytest.raises(ErpError, match="not accepted"):
        Verifier(KEY, "erp").present(forged)


def test_with_a_key_pair_the_erp_cannot_sign(tmp_path: Path) -> None:
    """EdDSA: the public half verifies; used as a shared secret it signs nothing that is accepted."""
    private = Ed25519PrivateKey.generate()
    pem = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "private.pem").write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / "public.pem").write_bytes(pem)
    check = Verifier(load_public_key(tmp_path / "public.pem"), "erp")
    assert check.verify(Signer(load_private_key(tmp_path / "private.pem")).sign(GRANT, "erp")) == GRANT
    raw = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    with pytest.raises(ErpError, match="not accepted"):
        check.verify(token(key=raw))


def test_a_key_that_is_made_by_sixteen_at_once_is_one_key(tmp_path: Path) -> None:
    """Whoever reads it reads it whole, and all read the same; nothing else is left in the folder."""
    path = tmp_path / "home" / "approval.key"
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _: load_or_create_key(path), range(16)))
    assert len(keys) == 1
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_key_that_others_can_read_or_that_is_too_short_is_refused(tmp_path: Path) -> None:
    """The message names the file and the command that mends it."""
    path = tmp_path / "approval.key"
    load_or_create_key(path)
    path.chmod(0o644)
    with pytest.raises(ErpError, match="can be read by others"):
        load_or_create_key(path)
    path.write_text("short")
    path.chmod(0o600)
    with pytest.raises(ErpError, match="too short"):
        load_or_create_key(path)
