"""Every setting, from `planwright.toml`, then `PLANWRIGHT_…` in the environment, then flags.

This is the only module that reads the environment. `PLANWRIGHT_PLANNING__MODE=always` overrides
`[planning] mode`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from planwright.domain.errors import SetupError
from planwright.domain.plan import Cascade
from planwright.domain.run_context import PlanningMode
from planwright.settings.agents import AgentId, AgentProfile, BudgetSettings
from planwright.settings.approval import ApprovalSettings as ApprovalSettings
from planwright.settings.context import ContextSettings
from planwright.settings.critic import CriticSettings
from planwright.settings.egress import EgressSettings
from planwright.settings.file_errors import explain, unfilled
from planwright.settings.files import FileSettings
from planwright.settings.mail import MailSettings
from planwright.settings.mcp import McpServerSettings
from planwright.settings.memory import MemorySettings
from planwright.settings.providers import BreakerSettings, FailoverSettings, ProviderSettings
from planwright.settings.roles import RoleSettings
from planwright.settings.secrets import SecretSettings
from planwright.settings.server import ServerSettings
from planwright.settings.variables import VariableError, filled

FILE_NAME = "planwright.toml"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlanningSettings(_Section):
    """When and how far to plan."""

    mode: PlanningMode = "auto"
    threshold: int = 3
    """Points from which a request is complex by mode `auto`."""
    max_steps: int = Field(20, ge=1, le=1000)
    """Most steps that a plan may have."""
    max_depth: int = Field(3, ge=0, le=10)
    replan_budget: int = Field(2, ge=0)
    """How often a run may plan again."""
    reclassify_budget: int = Field(1, ge=0)


class PlannerSettings(_Section):
    """How long and how often to ask for a plan (4 attempts, 2.0 backoff)."""

    attempts: int = Field(4, ge=1)
    """How often a provider that does not serve is asked for a plan."""
    backoff: float = Field(2.0, ge=1)
    repairs: int = Field(2, ge=0)
    timeout_s: tuple[float, float, float] = (5, 15, 30)


class ExecutionSettings(_Section):
    """How steps run."""

    order: Literal["dataflow", "waves"] = "dataflow"
    """Whether steps wait for what they need alone, or for all steps of the waves before theirs."""
    step_retries: int = Field(2, ge=0)
    """How often a failed call of one step is made again."""
    run_retries: int = Field(10, ge=0)
    """How often calls are made again in one run, over all its steps."""
    retry_base_ms: float = Field(250, ge=0)
    max_parallel_steps: int = Field(8, ge=1)
    """Most calls, and most lanes of agents, that are at work at once in a run."""
    max_tool_iterations: int = Field(100, ge=1)
    max_tool_iterations_hard_limit: int = Field(500, ge=1, le=500)
    step_timeout_s: float = Field(120, gt=0)
    """Seconds that a call may take where neither step nor capability says."""
    on_failed_dependency: Cascade = "partial"


class AlternativeSettings(_Section):
    """What a model may suggest instead of a call that failed (one a step, 256 tokens)."""

    enabled: bool = True
    max_tokens: int = Field(256, ge=1)
    temperature: float = Field(0.5, ge=0, le=2)


class LoopGuardSettings(_Section):
    """When a model goes round in circles: calls of the window, then the counts of each pattern."""

    window: int = Field(30, ge=1)
    repeat: tuple[int, int, int] = (10, 20, 30)
    poll: tuple[int, int] = (3, 5)
    ping_pong: int = Field(6, ge=4)


class ToolSettings(_Section):
    """How many capabilities a model sees, and how much of a result."""

    top_k: int = Field(10, ge=1)
    result_limit: int = Field(8000, ge=100)
    """Characters of a result that go into the state; what is longer lies in the blob store."""


class ChannelSettings(_Section):
    """Where `channel.post` delivers to."""

    url: str


class StorageSettings(_Section):
    """Where runs are kept, relative to the workspace, and how long to wait for a lock."""

    path: Path = Path(".planwright")
    busy_timeout_s: float = Field(30, ge=0)


class SessionSettings(_Section):
    """How long things stay alive, in seconds."""

    gate_ttl_s: int = Field(86_400, ge=1)
    """Seconds that a gate stays open where the request does not say."""
    lease_s: float = Field(60, gt=0)
    """Seconds that a process holds a run without renewing its lease."""


class SourceSettings(_Section):
    """Where the built-in capabilities find their data, relative to the workspace."""

    mail: Path = Path("mail")
    tickets: Path = Path("tickets.db")
    calendar: Path = Path("calendar")
    databases: dict[str, Path] = {}


class CapabilitySettings(_Section):
    """Python modules whose decorated functions join the registry, and names to leave out."""

    modules: tuple[str, ...] = ()
    prohibit: tuple[str, ...] = ()


class ThreadSettings(_Section):
    """What a new message does to a thread whose run has not ended."""

    new_input: Literal["refuse", "cancel"] = "refuse"


class Settings(BaseSettings):
    """All settings of one workspace."""

    model_config = SettingsConfigDict(
        env_prefix="PLANWRIGHT_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    workspace: Path = Path()
    planning: PlanningSettings = PlanningSettings()
    planner: PlannerSettings = PlannerSettings()
    execution: ExecutionSettings = ExecutionSettings()
    alternative: AlternativeSettings = AlternativeSettings()
    loop_guard: LoopGuardSettings = LoopGuardSettings()
    tools: ToolSettings = ToolSettings()
    context: ContextSettings = ContextSettings()
    critic: CriticSettings = CriticSettings()
    approval: ApprovalSettings = ApprovalSettings()
    budgets: BudgetSettings = BudgetSettings()
    providers: dict[str, ProviderSettings] = {}
    roles: RoleSettings = RoleSettings()
    failover: FailoverSettings = FailoverSettings()
    breaker: BreakerSettings = BreakerSettings()
    agents: dict[AgentId, AgentProfile] = {}
    egress: EgressSettings = EgressSettings()
    files: FileSettings = FileSettings()
    channels: dict[str, ChannelSettings] = {}
    mail: MailSettings = MailSettings()
    storage: StorageSettings = StorageSettings()
    sessions: SessionSettings = SessionSettings()
    sources: SourceSettings = SourceSettings()
    capabilities: CapabilitySettings = CapabilitySettings()
    mcp: dict[str, McpServerSettings] = {}
    memory: MemorySettings = MemorySettings()
    threads: ThreadSettings = ThreadSettings()
    secrets: SecretSettings = SecretSettings()
    server: ServerSettings = ServerSettings()

    @property
    def store_folder(self) -> Path:
        """The folder of the databases and blobs."""
        return self.workspace / self.storage.path

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: flags, environment, file (which `load` passes as `_file`)."""
        values = dict(init_settings())
        file = values.pop("_file", {})
        return (
            InitSettingsSource(settings_cls, values),
            env_settings,
            InitSettingsSource(settings_cls, file),
        )


def load(workspace: Path | str = ".", **flags: Any) -> Settings:
    """Read the settings of a workspace; `flags` override file and environment.

    Raises SetupError, naming file and line, for a malformed file or an unknown key.
    """
    folder = Path(workspace).resolve()
    if not folder.is_dir():
        raise SetupError(f"there is no folder {folder}", f"create it first: mkdir -p {folder}")
    path = folder / FILE_NAME
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} cannot be read as text: {error}", "save it as UTF-8") from error
    return parse_settings(text, path, **flags)


def parse_settings(text: str, path: Path, **flags: Any) -> Settings:
    """Read settings from the text that stands, or is to stand, in a file. Raises SetupError as `load`.

    `${VAR}` and `${VAR:-default}` are filled in, but for what agents are told.
    """
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SetupError(f"{path} is not valid TOML: {error}", f"mend that line of {path}") from error
    content.pop("workspace", None)
    try:
        content = {
            key: value if key == "agents" else filled(value, os.environ, key)
            for key, value in content.items()
        }
    except VariableError as error:
        raise SetupError(*unfilled(error, path, text)) from error
    try:
        settings = Settings(_file=content, workspace=path.parent, **flags)  # type: ignore[call-arg]
    except SettingsError as error:
        raise SetupError(
            f"the environment: {error}", 'lists and tables are JSON there, e.g. ["a"]'
        ) from error
    except ValidationError as error:
        raise SetupError(*explain(error, path, text, Settings)) from error
    return settings.model_copy(update={"providers": {**_implied_provider(), **settings.providers}})


def api_keys(provider: ProviderSettings) -> tuple[str, ...]:
    """Read a provider's keys: written in the settings, or in the environment variables it names."""
    written = [*provider.api_keys, *([provider.api_key] if provider.api_key else [])]
    if written:
        return tuple(dict.fromkeys(key.get_secret_value() for key in written))
    named = provider.api_key_env or "OPENAI_API_KEY"
    names = [named] if isinstance(named, str) else named
    return tuple(dict.fromkeys(key for name in names if (key := os.environ.get(name))))


def mail_password(mail: MailSettings) -> str | None:
    """Read the password of the mail server: written in the settings, or in the environment."""
    if mail.password is not None:
        return mail.password.get_secret_value()
    return os.environ.get(mail.password_env) if mail.password_env else None


def from_environment(name: str) -> str:
    """Read a variable; empty when it is not set."""
    return os.environ.get(name, "")


def child_environment(more: Mapping[str, str]) -> dict[str, str]:
    """Give a child process this environment; `more` only where nothing is set."""
    return {**more, **os.environ}


def _implied_provider() -> dict[str, ProviderSettings]:
    """A key in the environment alone makes a provider, as users of OpenAI's libraries expect."""
    if not os.environ.get("OPENAI_API_KEY"):
        return {}
    return {
        "openai": ProviderSettings(
            model=os.environ.get("OPENAI_MODEL", "gpt-5-mini"),
            base_url=os.environ.get("OPENAI_BASE_URL"),
            priority=1000,
        )
    }
