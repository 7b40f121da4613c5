"""Who stands behind an HTTP request, by its Authorization header."""

from dataclasses import dataclass

from erp_mcp.auth.issuer import JwtIssuer
from erp_mcp.auth.tokens import TokenFile
from erp_mcp.errors import ErpError
from erp_mcp.principal import Principal


@dataclass(frozen=True)
class Doorkeeper:
    """Who stands behind an HTTP request.

    Args:
        tokens: the tokens that this ERP gave out.
        issuer: whose JWTs are taken as well.
        stranger: who asks without any token; None is nobody, so that a token is needed.
    """

    tokens: TokenFile
    issuer: JwtIssuer | None = None
    stranger: Principal | None = None

    def principal(self, authorization: str | None) -> Principal:
        """Who asks.

        Args:
            authorization: the request's Authorization header.

        Raises:
            ErpError: ``unauthorized``, in the same words for every token that does not hold; ``tokens_unusable``.
        """
        if authorization is None:
            if self.stranger is None:
                raise ErpError("unauthorized", "This needs a token.", "Send the header: Authorization: Bearer <token>.")
            return self.stranger
        kind, _, token = authorization.partition(" ")
        token = token.strip()
        found = None
        if kind.lower() == "bearer":
            found = self.tokens.principal(token)
            if found is None and self.issuer is not None:
                found = self.issuer.principal(token)
        if found is None:
            raise ErpError(
                "unauthorized",
                "The token is not valid here: it is unknown, was revoked, or has expired.",
                "Ask whoever runs the ERP for a new one.",
            )
        return found
