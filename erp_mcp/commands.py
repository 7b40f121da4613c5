"""What the commands of ``python -m erp_mcp`` do; ``__main__`` reads their options."""

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from erp_mcp.auth.doorkeeper import Doorkeeper
from erp_mcp.auth.issuer import JwtIssuer
from erp_mcp.auth.tokens import TokenFile
from erp_mcp.calls import PUBLIC, Calls, Offer
from erp_mcp.errors import ErpError
from erp_mcp.principal import DECIDE, EVERYTHING, PERSONAL, Principal
from erp_mcp.queries.lookup import find_customer
from erp_mcp.registry import Registry, load_registry, skill_directories
from erp_mcp.store.engine import open_store

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


def serve(options: argparse.Namespace) -> None:
    """Serve until told to stop.

    Raises:
        ErpError: what keeps it from starting.
    """
    from erp_mcp.app import build_erp

    offer = Offer(private=options.private, writes=options.writes)
    _refuse_contradictions(options)
    erp = build_erp(
        _database(options),
        key_path=_home() / "approval.key",
        public_key_path=options.public_key,
        zone=_zone(os.environ.get("COUNTERSIGN_TIMEZONE") or "UTC"),
        offer=offer,
        outside=offer,
        registry=_registry(),
    )
    with closing(erp):
        if not options.http:
            from erp_mcp.server import serve_stdio

            serve_stdio(erp.server)
            return
        from erp_mcp.web.app import build_app
        from erp_mcp.web.serving import serve as serve_http

        doorkeeper = _doorkeeper(options, erp.instance_id, erp.calls)
        hosts = [options.host, *options.allow_host]
        serve_http(build_app(erp, doorkeeper, hosts=hosts, origins=options.allow_origin), options.host, options.port)


def _refuse_contradictions(options: argparse.Namespace) -> None:
    if options.open and options.host not in _LOOPBACK:
        raise ErpError("setting_invalid", "--open is for loopback only.", "Leave it out, and make tokens.")
    if (options.jwt_key is None) != (options.jwt_issuer is None):
        raise ErpError("setting_invalid", "--jwt-key and --jwt-issuer belong together.", "Give both, or none.")


def _doorkeeper(options: argparse.Namespace, audience: str, calls: Calls) -> Doorkeeper:
    tokens = TokenFile(options.tokens)
    issuer = options.jwt_key and JwtIssuer.from_file(options.jwt_key, options.jwt_issuer, audience)
    stranger = open_reader(calls) if options.open else None
    if not tokens.entries() and issuer is None and stranger is None:
        raise ErpError(
            "no_tokens",
            f"Nobody could call: there are no tokens in {options.tokens}.",
            "Make one with: python -m erp_mcp token new NAME --scope orders:read",
        )
    return Doorkeeper(tokens, issuer, stranger)


def open_reader(calls: Calls) -> Principal:
    """Who asks without a token where that is allowed: public reads, without personal data."""
    public = (tool.scopes for tool in calls.served.values() if PUBLIC.has(tool.risk, tool.exposure))
    return Principal("anonymous", frozenset().union(*public) - {PERSONAL}, stranger=True)


def token(options: argparse.Namespace) -> None:
    """Make, list or revoke tokens.

    Raises:
        ErpError: what is refused.
    """
    _ACTIONS[options.action](options)


def _new(options: argparse.Namespace) -> None:
    registry = _registry()
    skills = [*(tool.skill for tool in registry), *registry.internal.values()]
    known = {EVERYTHING, PERSONAL, DECIDE}.union(*(skill.scopes for skill in skills))
    unknown = sorted(set(options.scope) - known)
    if unknown:
        raise ErpError("scope_unknown", f"No tool knows {', '.join(unknown)}.", f"Scopes: {', '.join(sorted(known))}.")
    lifetime = None if options.days is None else timedelta(days=options.days)
    made = TokenFile(options.tokens).add(options.name, options.scope, customer=_customer(options), lifetime=lifetime)
    sys.stderr.write("The token, shown this once:\n")
    sys.stdout.write(made + "\n")


def _customer(options: argparse.Namespace) -> str | None:
    if options.customer is None:
        return None
    with closing(open_store(_database(options))) as store, store.read() as tx:
        return str(find_customer(tx, options.customer).id)


def _list(options: argparse.Namespace) -> None:
    for entry in TokenFile(options.tokens).entries():
        until = "" if entry.expires_at is None else f" until {entry.expires_at:%Y-%m-%d}"
        bound = "" if entry.customer is None else f" customer {entry.customer}"
        sys.stdout.write(f"{entry.name}: {' '.join(entry.scopes)}{bound}{until}\n")


def _revoke(options: argparse.Namespace) -> None:
    TokenFile(options.tokens).revoke(options.name)


_ACTIONS: Final[dict[str, Callable[[argparse.Namespace], None]]] = {"new": _new, "list": _list, "revoke": _revoke}
RUN: Final[dict[str, Callable[[argparse.Namespace], None]]] = {"serve": serve, "token": token}


def _home() -> Path:
    return Path(os.environ.get("COUNTERSIGN_HOME") or "./var")


def _database(options: argparse.Namespace) -> str:
    url: str = options.db or os.environ.get("COUNTERSIGN_ERP_URL") or f"sqlite:///{_home() / 'erp.db'}"
    return url


def _registry() -> Registry:
    return load_registry(skill_directories(os.environ.get("COUNTERSIGN_SKILLS") or ""))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ErpError(
            "setting_invalid", f"There is no time zone {name!r}.", "Use a name such as Europe/Berlin."
        ) from error
