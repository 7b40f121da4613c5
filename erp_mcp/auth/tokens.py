"""Bearer tokens that this ERP gave out, in a file that holds their hashes.

A token is 256 random bits, so SHA-256 is enough to hide it. The file is read again whenever it changes: a revoked token
stops at once.
"""

import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from erp_mcp.errors import ErpError
from erp_mcp.principal import Principal, is_name, read_scopes

FILE: Final = "tokens.json"
_TOKEN: Final = re.compile(r"cst_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)


class Entry(BaseModel):
    """One token as it is kept.

    Args:
        id: the part of the token by which it is looked up; not secret.
        name: whose it is; the records name them so.
        hash: SHA-256 (hex) of the whole token.
        scopes: what it may do; ``*`` is everything.
        customer: id of the one customer whose records it may see; None is all.
        created_at: when it was made.
        expires_at: when it stops; None is never.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern="^[0-9a-f]{12}$")
    name: str
    hash: str = Field(pattern="^[0-9a-f]{64}$")
    scopes: list[str]
    customer: str | None = None
    created_at: AwareDatetime
    expires_at: AwareDatetime | None = None

    def principal(self) -> Principal:
        """Who presents it."""
        return Principal(self.name, read_scopes(self.scopes), self.customer, "token")


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tokens: list[Entry] = []


class TokenFile:
    """The tokens that this ERP gave out.

    Args:
        path: of the file, mode 0600; where there is none, there are no tokens.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, ...] | None = None
        self._entries: dict[str, Entry] = {}

    def entries(self) -> list[Entry]:
        """All of them, in the order in which they were made.

        Raises:
            ErpError: ``tokens_unusable`` where the file can be read by others, or is not what it should be.
        """
        self._refresh()
        return list(self._entries.values())

    def principal(self, token: str) -> Principal | None:
        """Who presents a token; None where it was not given out here, was revoked, or is over.

        Raises:
            ErpError: ``tokens_unusable``.
        """
        shaped = _TOKEN.fullmatch(token)
        self._refresh()
        entry = self._entries.get(shaped[1]) if shaped else None
        if entry is None or not hmac.compare_digest(entry.hash, _hash(token)):
            return None
        over = entry.expires_at is not None and entry.expires_at <= datetime.now(UTC)
        return None if over else entry.principal()

    def add(
        self, name: str, scopes: Iterable[str], *, customer: str | None = None, lifetime: timedelta | None = None
    ) -> str:
        """Make a token.

        Args:
            name: whose it is; each name has one token.
            scopes: what it may do.
            customer: id of the one customer whose records it may see.
            lifetime: how long it holds; None is until it is revoked.

        Returns:
            The token, which is kept nowhere: it has to be handed over now.

        Raises:
            ErpError: ``token_exists``, ``token_name_invalid``, ``tokens_unusable``.
        """
        if not is_name(name):
            raise ErpError("token_name_invalid", f"{name!r} is no name.", "Use 1 to 100 printable characters.")
        with self._changing() as entries:
            if any(entry.name == name for entry in entries):
                raise ErpError("token_exists", f"{name} has a token.", "Revoke it first, or choose another name.")
            identity, now = secrets.token_hex(6), datetime.now(UTC)
            token = f"cst_{identity}_{secrets.token_urlsafe(32)}"
            expires_at = None if lifetime is None else now + lifetime
            wanted = sorted(set(scopes))
            entries.append(
                Entry(
                    id=identity, name=name, hash=_hash(token), scopes=wanted, customer=customer, created_at=now,
                    expires_at=expires_at,
                )
            )  # fmt: skip
        return token

    def revoke(self, name: str) -> None:
        """End a token at once.

        Raises:
            ErpError: ``token_not_found``, ``tokens_unusable``.
        """
        with self._changing() as entries:
            left = [entry for entry in entries if entry.name != name]
            if len(left) == len(entries):
                raise ErpError("token_not_found", f"{name} has no token.", "List them to see the names.")
            entries[:] = left

    def _refresh(self) -> None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._seen, self._entries = None, {}
            return
        except OSError as error:
            raise self._unusable(error) from None
        state = (found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode)
        if state != self._seen:
            self._entries = {entry.id: entry for entry in self._read()}
            self._seen = state

    def _read(self) -> list[Entry]:
        try:
            with self._path.open("rb") as file:
                if os.fstat(file.fileno()).st_mode & 0o077:
                    raise ErpError("tokens_unusable", f"{self._path} is open to others.", f"chmod 600 {self._path}")
                return _Kept.model_validate_json(file.read()).tokens
        except FileNotFoundError:
            return []
        except (OSError, ValidationError) as error:
            raise self._unusable(error) from None

    def _unusable(self, error: Exception) -> ErpError:
        what = f"{self._path} cannot be used as a list of tokens ({type(error).__name__})."
        return ErpError("tokens_unusable", what, "Put it right, or remove it and make new tokens.")

    @contextlib.contextmanager
    def _changing(self) -> Iterator[list[Entry]]:
        """The entries, to be changed in place: one change at a time, and a reader sees the old file or the new one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_name(self._path.name + ".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            entries = self._read()
            yield entries
            fresh = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}")
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(_Kept(tokens=entries).model_dump(mode="json", exclude_none=True), file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
