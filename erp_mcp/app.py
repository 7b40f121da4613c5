"""Wiring of one ERP: database, keys, tools, server. Nothing else puts these together."""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from erp_mcp.calls import ALL_TOOLS, Calls, Offer, Served
from erp_mcp.errors import ErpError
from erp_mcp.grants import Verifier, load_or_create_key, load_public_key
from erp_mcp.handlers import Unapproved, all_calls
from erp_mcp.prompt import load_prompts
from erp_mcp.registry import Registry, load_registry
from erp_mcp.server import McpServer, build_server
from erp_mcp.store.engine import Store, open_store, utc_now


@dataclass(frozen=True)
class Erp:
    """One running ERP.

    Args:
        store: its database.
        registry: its tools.
        calls: what is served, whichever way in.
        server: its MCP server; a host in the same process gives it to a client directly.
    """

    store: Store
    registry: Registry
    calls: Calls
    server: McpServer

    @property
    def instance_id(self) -> str:
        """The audience that grants for this ERP must name."""
        return self.store.instance_id

    def close(self) -> None:
        """Close the database; calls under way finish."""
        self.store.close()


def build_erp(
    url: str,
    *,
    key_path: Path | None = None,
    public_key_path: Path | None = None,
    clock: Callable[[], datetime] = utc_now,
    zone: ZoneInfo | None = None,
    offer: Offer = ALL_TOOLS,
    outside: Offer = ALL_TOOLS,
    registry: Registry | None = None,
    further: Iterable[Served] = (),
    unapproved: Unapproved | None = None,
    own_loop: bool = False,
) -> Erp:
    """Open the database and build the server.

    Args:
        url: ``sqlite:///path`` or ``postgresql+psycopg://…``; must exist.
        key_path: the shared secret's file (HS256), made on first use: one machine, one user.
        public_key_path: or the public key of the host that signs (EdDSA); then nothing here can sign.
        clock: gives the time of each transaction.
        zone: the business time zone; UTC if left out.
        offer: which tools there are. Without writes no key is needed, and no grant is accepted.
        outside: which of them those get who come with a token.
        registry: the tools; found in the package if left out.
        further: tools of the host beside the ERP's own.
        unapproved: what becomes of a write without a grant by somebody outside; None leaves it at the preview.
        own_loop: the event loop of the one client is its own, so that short calls may hold it up.

    Raises:
        ErpError: what opening the database or reading the key raises; ``key_missing``.
        SkillError: a tool that does not match its skill.
    """
    tools = load_registry() if registry is None else registry
    store = open_store(url, clock=clock, zone=zone)
    try:
        verifier = _verifier(store.instance_id, key_path, public_key_path, writes=offer.writes)
        calls = all_calls(store, tools, verifier, offer=offer, outside=outside, further=further, unapproved=unapproved)
        prompts = load_prompts({*tools.tools, *tools.internal})
        in_place = own_loop and store.url.startswith("sqlite")
        return Erp(store, tools, calls, build_server(store, calls, prompts, in_place=in_place))
    except BaseException:
        store.close()
        raise


def _verifier(audience: str, key_path: Path | None, public_key_path: Path | None, *, writes: bool) -> Verifier:
    if not writes:
        return Verifier(secrets.token_bytes(32), audience)  # a key that nobody has: no grant fits
    if public_key_path is not None:
        return Verifier(load_public_key(public_key_path), audience)
    if key_path is not None:
        return Verifier(load_or_create_key(key_path), audience)
    raise ErpError(
        "key_missing",
        "Write tools need a key with which grants are checked.",
        "Give the path of the shared key or of the host's public key, or serve reads only.",
    )
