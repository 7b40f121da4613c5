"""Settings, all from the environment with the prefix ``COUNTERSIGN_``."""

from functools import cached_property
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from graph.errors import CountersignError


class Settings(BaseSettings):
    """Where things are and who answers. Every field is an environment variable: ``COUNTERSIGN_HOME`` and so on."""

    model_config = SettingsConfigDict(env_prefix="COUNTERSIGN_", frozen=True, extra="ignore")

    home: Path = Field(Path("var"), description="folder of the databases and of approval.key")
    erp_url: str = Field("", description="the ERP's database; default: erp.db in HOME, or postgresql+psycopg://…")
    checkpoint_url: str = Field(
        "", description="checkpoints and ledger; default: checkpoints.db in HOME, or PostgreSQL"
    )
    model: str = Field("planner", description="planner (no key, no network) or openai:NAME")
    policy: Path | None = Field(None, description="TOML file: who may approve what; default: any named person")
    mcp_servers: str = Field("", description="other MCP servers whose tools the agent may use, a JSON array")
    skills: str = Field("", description="directories of further tools for the ERP, a list such as PATH is")
    timezone: str = Field("UTC", description="the business time zone, which decides what a day is")
    user: str = Field("user", description="who asks, where no login says so")
    approver: str = Field("user", description="who decides in LangGraph Studio and chat UIs, where no login says so")
    approval_days: int = Field(30, ge=1, le=3650, description="days until an unanswered approval expires")

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(f"{value!r} is not a time zone; write one like Europe/Berlin") from error
        return value

    @field_validator("model")
    @classmethod
    def _known_model(cls, value: str) -> str:
        kind, _, name = value.partition(":")
        if value != "planner" and not (kind == "openai" and name):
            raise ValueError(f"{value!r} is not a model; write planner or openai:NAME")
        return value

    @cached_property
    def zone(self) -> ZoneInfo:
        """The business time zone."""
        return ZoneInfo(self.timezone)

    @property
    def erp_database(self) -> str:
        """The ERP's database URL."""
        return self.erp_url or f"sqlite:///{self.home / 'erp.db'}"

    @property
    def checkpoint_database(self) -> str:
        """The checkpoint database's path or URL."""
        return self.checkpoint_url or f"sqlite:///{self.home / 'checkpoints.db'}"

    @property
    def key_path(self) -> Path:
        """The shared secret of grants; whoever reads this file can sign."""
        return self.home / "approval.key"


def load_settings() -> Settings:
    """The settings of the environment.

    Raises:
        CountersignError: ``bad_settings``, with the variable's name.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = "COUNTERSIGN_" + str(first["loc"][0] if first["loc"] else "?").upper()
        problem = str(first["msg"]).removeprefix("Value error, ")
        raise CountersignError(
            "bad_settings", f"{name}: {problem}.", f"Correct the environment variable {name}."
        ) from None
