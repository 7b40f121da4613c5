"""Bearer tokens that somebody else signed: JWTs, checked with their public key."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from erp_mcp.errors import ErpError
from erp_mcp.principal import Principal, is_name, read_scopes

_CLAIMS: Final = ("iss", "sub", "aud", "exp")
_MIN_RSA_BITS: Final = 2048


@dataclass(frozen=True)
class JwtIssuer:
    """Somebody whose signed tokens are taken.

    The algorithm is the key's, never the token's choice. Claims: ``iss``, ``sub`` (the name), ``aud`` (this ERP's
    instance id) and ``exp`` are required; ``scope`` is a text of scopes (RFC 8693), ``customer`` binds to one customer.

    Args:
        key: their public key.
        issuer: what ``iss`` must say.
        audience: this ERP's instance id.
    """

    key: Any
    issuer: str
    audience: str
    algorithm: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "algorithm", _algorithm(self.key))

    @classmethod
    def from_file(cls, path: Path, issuer: str, audience: str) -> "JwtIssuer":
        """With a public key in PEM.

        Raises:
            ErpError: ``key_unusable``.
        """
        try:
            return cls(load_pem_public_key(path.read_bytes()), issuer, audience)
        except (OSError, ValueError, jwt.InvalidKeyError) as error:
            raise _unusable(f"{path} cannot be used as a public key") from error

    def principal(self, token: str) -> Principal | None:
        """Who presents a token; None where it does not hold."""
        try:
            claims = jwt.decode(
                token, self.key, algorithms=[self.algorithm], audience=self.audience, issuer=self.issuer,
                options={"require": list(_CLAIMS), "strict_aud": True},
            )  # fmt: skip
        except (jwt.InvalidTokenError, TypeError, ValueError, OverflowError, AttributeError):
            return None  # PyJWT lets some of these through for claims and headers of a wrong type
        name, scope, customer = claims["sub"], claims.get("scope", ""), claims.get("customer")
        usable = isinstance(name, str) and is_name(name) and isinstance(scope, str)
        if not usable or not (customer is None or (isinstance(customer, str) and customer)):
            return None
        return Principal(name, read_scopes(scope.split()), customer, "token")


def _algorithm(key: Any) -> str:
    match key:
        case Ed25519PublicKey():
            return "EdDSA"
        case EllipticCurvePublicKey() if isinstance(key.curve, SECP256R1):
            return "ES256"
        case RSAPublicKey() if key.key_size >= _MIN_RSA_BITS:
            return "RS256"
    raise _unusable("The key is neither Ed25519, nor P-256, nor RSA of 2048 bits or more")


def _unusable(what: str) -> ErpError:
    return ErpError("key_unusable", f"{what}.", "Give the public key of whoever signs the tokens, in PEM.")
