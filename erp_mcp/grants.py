"""The grant: a signed, one-minute permission for one digest, made at the moment of the call and never stored."""

import contextlib
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from erp_mcp.errors import ErpError

LIFETIME_SECONDS: Final = 60
ISSUER: Final = "countersign"
JsonClaims = dict[str, Any]

CLAIMS: Final = ("jti", "iss", "aud", "call", "tool", "digest", "sub", "req", "iat", "exp")


@dataclass(frozen=True)
class Grant:
    """The claims of a verified grant: who let whom do what.

    Args:
        approval_id: the approval that a person decided (``jti``).
        call: hash of thread, message and tool call; one call has one effect.
        tool: the write tool's name.
        digest: what the approver saw.
        approver: who signed (``sub``).
        requested_by: who asked (``req``).
    """

    approval_id: str
    call: str
    tool: str
    digest: str
    approver: str
    requested_by: str


class _Key:
    def __init__(self, kid: str, algorithm: str, key: Any) -> None:
        self.kid, self.algorithm, self.key = kid, algorithm, key


class Signer:
    """Signs grants on the agent's side.

    Args:
        key: the shared secret (HS256) or an Ed25519 private key (EdDSA).
        kid: the key's name, so that a key can be replaced without a stop.
    """

    def __init__(self, key: bytes | Ed25519PrivateKey, kid: str = "local") -> None:
        self._key = _Key(kid, "HS256" if isinstance(key, bytes) else "EdDSA", key)

    def sign(self, grant: Grant, audience: str) -> str:
        """A token for one call.

        Args:
            grant: what is allowed.
            audience: the ERP instance's id, so that two ERPs that share a key do not accept each other's grants.
        """
        now = int(time.time())
        claims = {
            "jti": grant.approval_id, "iss": ISSUER, "aud": audience, "call": grant.call, "tool": grant.tool,
            "digest": grant.digest, "sub": grant.approver, "req": grant.requested_by,
            "iat": now, "exp": now + LIFETIME_SECONDS,
        }  # fmt: skip
        return jwt.encode(claims, self._key.key, algorithm=self._key.algorithm, headers={"kid": self._key.kid})


class Verifier:
    """Checks grants on the ERP's side; the algorithm is the key's, never the token's choice.

    Args:
        key: the shared secret (HS256) or an Ed25519 public key (EdDSA).
        audience: this ERP instance's id.
        kid: the key's name.
    """

    def __init__(self, key: bytes | Ed25519PublicKey, audience: str, kid: str = "local") -> None:
        self._key = _Key(kid, "HS256" if isinstance(key, bytes) else "EdDSA", key)
        self._audience = audience

    def verify(self, token: str) -> Grant:
        """The grant inside a token.

        Args:
            token: the JWT from ``_meta``.

        Raises:
            ErpError: ``grant_invalid`` or ``grant_expired``.
        """
        presented = self.present(token)
        presented.refuse_expired()
        return presented.grant

    def present(self, token: str) -> "Presented":
        """The grant inside a token, which may be over: its receipt, if there is one, is still given out.

        Raises:
            ErpError: ``grant_invalid``.
        """
        claims = self._claims(token)
        texts = [claims[name] for name in ("jti", "call", "tool", "digest", "sub", "req")]
        if not all(isinstance(text, str) and text for text in texts):
            raise _invalid("a claim is empty or not text")
        if not all(isinstance(claims[name], int) for name in ("iat", "exp")):
            raise _invalid("a time is not a whole number of seconds")
        if not 0 < claims["exp"] - claims["iat"] <= LIFETIME_SECONDS:
            raise _invalid(f"it is meant to last longer than {LIFETIME_SECONDS} seconds")
        return Presented(Grant(*texts), expired=claims["exp"] <= time.time())

    def _claims(self, token: str) -> JsonClaims:
        try:
            read = jwt.decode_complete(
                token, self._key.key, algorithms=[self._key.algorithm], audience=self._audience, issuer=ISSUER,
                options={"require": list(CLAIMS), "verify_exp": False, "strict_aud": True},
            )  # fmt: skip
        except jwt.InvalidTokenError as error:
            raise _invalid(str(error)) from error
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            # PyJWT lets these through for claims and headers of a wrong type
            raise _invalid("a claim has the wrong type") from error
        if read["header"].get("kid") != self._key.kid:
            raise _invalid("signed with a key that this ERP does not know")
        claims: JsonClaims = read["payload"]
        return claims


@dataclass(frozen=True)
class Presented:
    """A grant whose signature, audience and claims are right.

    Args:
        grant: what it allows.
        expired: whether its minute is over.
    """

    grant: Grant
    expired: bool

    def refuse_expired(self) -> None:
        """Raises ``grant_expired`` where nothing may be done with it any more."""
        if self.expired:
            raise ErpError(
                "grant_expired",
                "The grant has expired.",
                "Nothing was done. The host that holds the approval signs a new grant and sends the call again.",
            )


def _invalid(why: str) -> ErpError:
    return ErpError(
        "grant_invalid",
        f"The grant was not accepted: {why}.",
        "Call the tool without a grant to get a preview for approval.",
    )


def load_or_create_key(path: Path) -> bytes:
    """The shared secret of a one-machine installation, made on first use with mode 0600.

    Whoever can read this file can sign grants.

    Raises:
        ErpError: ``key_unusable`` where the file is readable by others or too short.
    """
    if not path.exists():
        _create_key(path)
    return _read_key(path)


def _create_key(path: Path) -> None:
    """Written whole under another name and then linked into place: nobody reads half a key, and the first one wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_hex(32).encode())
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        temporary.unlink()


def _read_key(path: Path) -> bytes:
    key = path.read_bytes().strip()
    if path.stat().st_mode & 0o077:
        raise ErpError("key_unusable", f"{path} can be read by others.", f"Run: chmod 600 {path}")
    if len(key) < 32:
        raise ErpError("key_unusable", f"{path} is too short to be a key.", f"Remove {path}; a new one is made.")
    return key


def load_private_key(path: Path) -> Ed25519PrivateKey:
    """The agent's signing key (PEM), where the ERP holds only the public half."""
    key = load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise ErpError(
            "key_unusable",
            f"{path} is not an Ed25519 private key.",
            "Make one with: openssl genpkey -algorithm ed25519",
        )
    return key


def load_public_key(path: Path) -> Ed25519PublicKey:
    """The key with which the ERP checks grants (PEM)."""
    key = load_pem_public_key(path.read_bytes())
    if not isinstance(key, Ed25519PublicKey):
        raise ErpError("key_unusable", f"{path} is not an Ed25519 public key.", "Make one with: openssl pkey -pubout")
    return key
