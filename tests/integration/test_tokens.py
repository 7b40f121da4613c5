"""Tokens: what is kept of them, when they stop, and what is no token however well it is made."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import jwt
import pytest
import time_machine
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from erp_mcp.__main__ import main
from erp_mcp.auth.doorkeeper import Doorkeeper
from erp_mcp.auth.issuer import JwtIssuer
from erp_mcp.auth.tokens import TokenFile
from erp_mcp.errors import ErpError
from erp_mcp.principal import Principal
from erp_mcp.web.app import build_app
from tests.integration.http_fixtures import error_of, rest_client, serving
from tests.integration.small_erp import OPEN, make_small_erp, open_host

ERP: Final = "erp-1"


@pytest.fixture
def kept(tmp_path: Path) -> TokenFile:
    """An empty file of tokens."""
    return TokenFile(tmp_path / "tokens.json")


def principal(keeper: Doorkeeper, token: str) -> Principal | None:
    """Who the doorkeeper takes it for; None where it is refused."""
    try:
        return keeper.principal(f"Bearer {token}")
    except ErpError as error:
        if error.code != "unauthorized":
            raise
        return None


def test_only_the_hash_is_kept_and_the_file_is_its_owners(kept: TokenFile, tmp_path: Path) -> None:
    """Who reads the file cannot use what stands in it."""
    token = kept.add("desk", ["orders:read"], customer="ACME")
    text = (tmp_path / "tokens.json").read_text()
    assert token not in text
    assert token.rsplit("_", 1)[1] not in text
    assert (tmp_path / "tokens.json").stat().st_mode & 0o777 == 0o600
    assert kept.principal(token) == Principal("desk", frozenset({"orders:read"}), "ACME", "token")
    (entry,) = json.loads(text)["tokens"]
    assert kept.principal(f"cst_{entry['id']}_{entry['hash'][:43]}") is None


def test_a_token_ends_when_it_is_revoked_or_over(kept: TokenFile) -> None:
    """At once, in a reader that had it already."""
    other = TokenFile(kept._path)
    short, long = kept.add("short", ["*"], lifetime=timedelta(days=1)), kept.add("long", ["*"])
    assert other.principal(short)
    assert other.principal(long)
    kept.revoke("long")
    assert other.principal(long) is None
    with time_machine.travel(datetime.now(UTC) + timedelta(days=1, seconds=1)):
        assert other.principal(short) is None
    kept._path.unlink()
    assert other.principal(short) is None


def test_the_same_name_twice_and_what_is_no_name(kept: TokenFile) -> None:
    """The records name whoever asks, so names are one each and printable."""
    kept.add("desk", ["*"])
    for name, code in (
        ("desk", "token_exists"), ("", "token_name_invalid"), (" x", "token_name_invalid"),
        ("a\nb", "token_name_invalid"), ("x" * 101, "token_name_invalid"),
    ):  # fmt: skip
        with pytest.raises(ErpError) as refused:
            kept.add(name, ["*"])
        assert refused.value.code == code
    with pytest.raises(ErpError) as refused:
        kept.revoke("nobody")
    assert refused.value.code == "token_not_found"


def test_many_made_at_once_are_all_there(kept: TokenFile) -> None:
    """No change overwrites another's."""
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: TokenFile(kept._path).add(f"n{n}", ["*"]), range(24)))
    assert all(kept.principal(token) for token in made)
    assert len(kept.entries()) == 24


@pytest.mark.parametrize("spoil", ["open", "torn", "foreign", "unreachable"])
async def test_a_file_that_cannot_be_trusted_lets_nobody_in(tmp_path: Path, spoil: str) -> None:
    """Read by others, half written, or with a key that nobody knows: 503, and no start."""
    url = f"sqlite:///{tmp_path / 'erp.db'}"
    make_small_erp(url)
    host = open_host(url, tmp_path)
    path = tmp_path / "tokens.json"
    kept = TokenFile(path)
    token = kept.add("desk", ["*"])
    with serving(build_app(host.erp, Doorkeeper(kept))) as address:
        async with rest_client(address, token) as client:
            assert (await client.get(f"/api/orders/{OPEN}")).status_code == 200
            if spoil == "open":
                path.chmod(0o640)
            elif spoil == "unreachable":  # root may read everything, but cannot look for a file inside a file
                kept._path = path / "tokens.json"
            else:
                text = path.read_text()
                path.write_text(text[:-20] if spoil == "torn" else text.replace('"scopes"', '"rights"'))
            answer = await client.get(f"/api/orders/{OPEN}")
    host.erp.close()
    assert answer.status_code == 503
    assert error_of(answer)["code"] == "tokens_unusable"
    with pytest.raises(ErpError):
        kept.entries()


def pem(key: Any) -> bytes:
    """The public half."""
    return bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


@pytest.fixture
def signing(tmp_path: Path, kept: TokenFile) -> tuple[Ed25519PrivateKey, Doorkeeper]:
    """A foreign issuer's key, and a doorkeeper who takes its tokens."""
    key = Ed25519PrivateKey.generate()
    (tmp_path / "issuer.pem").write_bytes(pem(key))
    return key, Doorkeeper(kept, JwtIssuer.from_file(tmp_path / "issuer.pem", "https://login.example", ERP))


def claims(**changed: Any) -> dict[str, Any]:
    """What a good token says; None leaves a claim out."""
    good = {
        "iss": "https://login.example", "sub": "nancy", "aud": ERP, "exp": datetime.now(UTC) + timedelta(minutes=5),
        "scope": "orders:read stock:read",
    }  # fmt: skip
    return {name: value for name, value in (good | changed).items() if value is not None}


def test_a_jwt_says_who_what_and_for_whom(signing: tuple[Ed25519PrivateKey, Doorkeeper]) -> None:
    """Name, scopes and customer come from its claims; no scope is no right."""
    key, keeper = signing
    token = jwt.encode(claims(customer="ACME"), key, algorithm="EdDSA")
    assert principal(keeper, token) == Principal("nancy", frozenset({"orders:read", "stock:read"}), "ACME", "token")
    bare = principal(keeper, jwt.encode(claims(scope=None), key, algorithm="EdDSA"))
    assert bare is not None
    assert bare.scopes == frozenset()


@pytest.mark.parametrize(
    "wrong",
    [
        {"aud": "erp-2"}, {"aud": [ERP, "erp-2"]}, {"aud": None}, {"iss": "https://evil.example"}, {"iss": None},
        {"exp": None}, {"exp": datetime(2020, 1, 1, tzinfo=UTC)}, {"nbf": datetime(2100, 1, 1, tzinfo=UTC)},
        {"sub": None}, {"sub": ""}, {"sub": "a\nb"}, {"scope": ["orders:read"]}, {"scope": 1}, {"customer": 7},
        {"customer": ""}, {"customer": ["ACME"]},
    ],
)  # fmt: skip
def test_a_jwt_that_does_not_hold(signing: tuple[Ed25519PrivateKey, Doorkeeper], wrong: dict[str, Any]) -> None:
    """Every claim is required and of its type; somebody else's ERP is somebody else's."""
    key, keeper = signing
    assert principal(keeper, jwt.encode(claims(**wrong), key, algorithm="EdDSA")) is None


def test_a_jwt_that_chooses_its_own_algorithm_or_key(signing: tuple[Ed25519PrivateKey, Doorkeeper]) -> None:
    """The algorithm is the key's: none, HMAC with the public key, another key of the same kind."""
    key, keeper = signing
    secret = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    private = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    for token in (
        jwt.encode(claims(), "", algorithm="none"),
        jwt.encode(claims(), secret, algorithm="HS256"),
        jwt.encode(claims(), private, algorithm="HS256"),
        jwt.encode(claims(), Ed25519PrivateKey.generate(), algorithm="EdDSA"),
        jwt.encode(claims(), key, algorithm="EdDSA")[:-4] + "AAAA",
        "a.b.c",
        "..",
        "é",
        "x" * 100_000,
    ):
        assert principal(keeper, token) is None


def test_a_key_that_is_too_weak_or_none_stops_the_start(tmp_path: Path) -> None:
    """RSA below 2048 bits is not taken, nor a file that is no key."""
    path = tmp_path / "key.pem"
    path.write_bytes(pem(generate_private_key(65537, 1024)))
    with pytest.raises(ErpError, match="2048"):
        JwtIssuer.from_file(path, "x", ERP)
    path.write_bytes(pem(generate_private_key(65537, 2048)))
    assert JwtIssuer.from_file(path, "x", ERP).algorithm == "RS256"
    path.write_text("hello")
    for wrong in (path, tmp_path / "none.pem"):
        with pytest.raises(ErpError) as refused:
            JwtIssuer.from_file(wrong, "x", ERP)
        assert refused.value.code == "key_unusable"


def test_tokens_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Made for a customer by name, printed alone on standard output, listed without, revoked."""
    url = f"sqlite:///{tmp_path / 'erp.db'}"
    make_small_erp(url)
    where = ["--tokens", str(tmp_path / "tokens.json"), "--db", url]
    assert (
        main(["token", "new", "shop", "--scope", "orders:read", "--customer", "acme ltd", "--days", "3", *where]) == 0
    )
    token = capsys.readouterr().out.strip()
    found = TokenFile(tmp_path / "tokens.json").principal(token)
    assert found == Principal("shop", frozenset({"orders:read"}), "ACME", "token")
    assert main(["token", "list", *where]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith("shop: orders:read customer ACME until ")
    assert token not in listed
    for wrong, said in (
        (["new", "x", "--scope", "orders:rite"], "orders:rite"),
        (["new", "x", "--scope", "orders:read", "--customer", "nobody"], "nobody"),
        (["new", "shop", "--scope", "*"], "shop has a token"),
        (["revoke", "other"], "other has no token"),
    ):
        assert main(["token", *wrong, *where]) == 1
        told = capsys.readouterr()
        assert told.out == ""
        assert said in told.err
        assert told.err.count("\n") == 1
    assert main(["token", "revoke", "shop", *where]) == 0
    assert TokenFile(tmp_path / "tokens.json").principal(token) is None
