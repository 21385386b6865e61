"""The settings of a workspace: its tools, where its data lies, and how long things stay alive."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator


class ToolSettings(BaseModel):
    """How many capabilities a model sees, and how much of a result."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    filter: Literal["fit", "top_k"] = "fit"
    """Which tools a loop is offered: by `fit` all within `token_budget`, by `top_k` so many."""
    token_budget: int = Field(8000, ge=100)
    """Most tokens of the tools that a loop is offered; never more than a quarter of a model's context."""
    top_k: int = Field(10, ge=1)
    """Number of capabilities that a model chooses from where `filter` is `top_k`."""
    result_limit: int = Field(8000, ge=100)
    """Characters of a result that go into the state; what is longer lies in the blob store."""


class ChannelSettings(BaseModel):
    """Where `channel.post` delivers to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    """Address that a post is sent to."""


OnChange = Literal["ask", "refuse"]


class StorageSettings(BaseModel):
    """Where runs are kept, and how long to wait for a lock."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path = Path(".planwright")
    """Folder of the databases and blobs, relative to the workspace."""
    url: SecretStr | None = None
    """A PostgreSQL database that runs are kept in instead of the folder, as postgresql://user@host/name."""
    busy_timeout_s: float = Field(30, ge=0)
    """Seconds to wait for a database that another process has locked."""
    keep_checkpoints: int = Field(50, ge=1)
    """Checkpoints of a thread that stay when a run of it ends: the points that a fork can begin at."""

    @field_validator("url")
    @classmethod
    def _names_postgres(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise ValueError("write it as postgresql://user@host:5432/database")
        return url


class SessionSettings(BaseModel):
    """How long things stay alive, in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    gate_ttl_s: int = Field(86_400, ge=1)
    """Seconds that a gate stays open where the request does not say."""
    lease_s: float = Field(60, gt=0)
    """Seconds that a process holds a run without renewing its lease."""
    on_change: OnChange = "ask"
    """What happens when a run goes on under other settings, policy, capabilities or prompts than it began
    with: changed calls are asked for anew ("ask"), or the run waits until it is migrated ("refuse")."""


class SourceSettings(BaseModel):
    """Where the built-in capabilities find their data, relative to the workspace."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mail: Path = Path("mail")
    """Maildir, mbox file, or folder of .eml and mbox files."""
    tickets: Path = Path("tickets.db")
    """Database of the tickets."""
    calendar: Path = Path("calendar")
    """Folder of the calendar files."""
    databases: dict[str, Path] = {}
    """Databases that may be queried, by the name that requests use."""


class CapabilitySettings(BaseModel):
    """Python modules whose decorated functions join the registry, and names to leave out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    modules: tuple[str, ...] = ()
    """Python modules whose decorated functions join the registry."""
    prohibit: tuple[str, ...] = ()
    """Names or globs of capabilities that are left out."""


class ThreadSettings(BaseModel):
    """What a new message does to a thread whose run has not ended."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    new_input: Literal["refuse", "cancel"] = "refuse"
    """Whether the message is refused, or the run before it cancelled."""
