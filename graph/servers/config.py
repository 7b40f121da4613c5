"""``COUNTERSIGN_MCP_SERVERS``: which other MCP servers there are, and how far each is trusted."""

import json
import os
from collections import Counter
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

from graph.errors import CountersignError

VARIABLE: Final = "COUNTERSIGN_MCP_SERVERS"
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class ServerConfig(BaseModel):
    """One MCP server. Secrets are named, never written here: the setting may stand in a file that many read.

    Args:
        name: how people and the model know it.
        url: Streamable HTTP; or ``command`` and ``args`` for a process that speaks over stdio.
        env: environment variables that the process may see beside the harmless ones.
        auth_env: the environment variable that holds the Authorization header, or a bare bearer token.
        trusted: whether a tool that calls itself read-only runs without a person.
        http: tool → URL to which the arguments are posted as JSON where MCP does not answer.
        timeout_seconds: how long one call may take.
        max_chars: the longest answer, as JSON, that is passed on.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,30}$")
    url: str = Field("", pattern=r"^(https?://[^\s@]+)?$")
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[VariableName, ...] = ()
    auth_env: VariableName | None = None
    trusted: bool = False
    http: dict[str, Annotated[str, Field(pattern=r"^https?://[^\s@]+$")]] = {}
    timeout_seconds: int = Field(30, ge=1, le=600)
    max_chars: int = Field(50_000, ge=1_000, le=1_000_000)

    @field_validator("command")
    @classmethod
    def _no_blank(cls, value: str) -> str:
        return value.strip()

    @model_validator(mode="after")
    def _one_way(self) -> "ServerConfig":
        if bool(self.url) == bool(self.command):
            raise ValueError("give either url, or command and args")
        if self.url and (self.args or self.env):
            raise ValueError("args and env belong to command, not to url")
        return self

    @property
    def address(self) -> str:
        """Where it is; an approval is signed for a tool at this address."""
        return self.url or " ".join([self.command, *self.args])

    def headers(self) -> dict[str, str]:
        """The Authorization header, read now and kept nowhere else."""
        secret = os.environ.get(self.auth_env or "", "").strip()
        if not secret:
            return {}
        return {"Authorization": secret if " " in secret else f"Bearer {secret}"}


_SERVERS: Final = TypeAdapter(tuple[ServerConfig, ...])


def read_servers(text: str) -> tuple[ServerConfig, ...]:
    """The servers of the setting, in its order.

    Args:
        text: a JSON array; empty for none.

    Raises:
        CountersignError: ``bad_settings``, with what is wrong and where.
    """
    if not text.strip():
        return ()
    try:
        servers = _SERVERS.validate_python(_listed(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise _bad(f"{_path(first['loc'])}: {first['msg'].removeprefix('Value error, ')}") from None
    twice = [name for name, count in Counter(server.name.casefold() for server in servers).items() if count > 1]
    if twice:
        raise _bad(f"the name {twice[0]!r} is given twice")
    for server in servers:
        if server.auth_env and not server.headers():
            raise CountersignError(
                "bad_settings", f"{VARIABLE}: {server.name} takes its token from {server.auth_env}, which is not set.",
                f"Set {server.auth_env}.",
            )  # fmt: skip
    return servers


def _listed(text: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _bad(f"not valid JSON ({error})") from None
    if not isinstance(found, list):
        raise _bad("must be a JSON array of objects")
    return found


def _path(location: tuple[int | str, ...]) -> str:
    number, *rest = location
    return ".".join([f"server {int(number) + 1}", *map(str, rest)])


def _bad(problem: str) -> CountersignError:
    hint = f'Correct the environment variable {VARIABLE}, as in [{{"name": "tickets", "url": "https://…/mcp"}}].'
    return CountersignError("bad_settings", f"{VARIABLE}: {problem}.", hint)
