"""Every setting, from `planwright.toml`, then `PLANWRIGHT_…` in the environment, then flags.

This is the only module that reads the environment. `PLANWRIGHT_PLANNING__MODE=always` overrides
`[planning] mode`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from planwright.domain.errors import SetupError
from planwright.settings.agents import AgentId, AgentProfile, BudgetSettings
from planwright.settings.approval import ApprovalSettings
from planwright.settings.audit import AuditSettings
from planwright.settings.context import ContextSettings
from planwright.settings.critic import CriticSettings
from planwright.settings.egress import EgressSettings
from planwright.settings.execution import AlternativeSettings, ExecutionSettings, LoopGuardSettings
from planwright.settings.file_errors import endless, explain, misnamed_variable, unfilled
from planwright.settings.files import FileSettings
from planwright.settings.mail import MailSettings, NotifySettings
from planwright.settings.mcp import McpServerSettings
from planwright.settings.memory import MemorySettings
from planwright.settings.planning import PlannerSettings, PlanningSettings
from planwright.settings.providers import BreakerSettings, FailoverSettings, ProviderSettings
from planwright.settings.roles import RoleSettings
from planwright.settings.server import (
    PersonSettings,
    ServerSettings,
    SignInSettings,
    TokenName,
    WebSettings,
)
from planwright.settings.telemetry import LogSettings, TracingSettings
from planwright.settings.variables import VariableError, filled
from planwright.settings.workspace import (
    CapabilitySettings,
    ChannelSettings,
    QueueSettings,
    ScheduleName,
    ScheduleSettings,
    SessionSettings,
    SourceSettings,
    StorageSettings,
    ThreadSettings,
    ToolSettings,
)

FILE_NAME = "planwright.toml"


class SecretSettings(BaseModel):
    """Variables of the environment whose values are never shown, stored or sent to a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    env: tuple[str, ...] = ()
    """Names of variables of the environment whose values are hidden."""


class Settings(BaseSettings):
    """All settings of one workspace."""

    model_config = SettingsConfigDict(
        env_prefix="PLANWRIGHT_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    workspace: Path = Path()
    """The folder that everything relative is looked up in; where the file is."""
    planning: PlanningSettings = PlanningSettings()
    """When and how far to plan."""
    planner: PlannerSettings = PlannerSettings()
    """How the planner is asked."""
    execution: ExecutionSettings = ExecutionSettings()
    """How steps run."""
    alternative: AlternativeSettings = AlternativeSettings()
    """What a model may suggest instead of a call that failed."""
    loop_guard: LoopGuardSettings = LoopGuardSettings()
    """When a loop is taken to go round in circles."""
    tools: ToolSettings = ToolSettings()
    """How many capabilities a model sees, and how much of a result."""
    context: ContextSettings = ContextSettings()
    """How much of a conversation a model reads."""
    critic: CriticSettings = CriticSettings()
    """What the critic does after a run."""
    approval: ApprovalSettings = ApprovalSettings()
    """Which calls a person is asked about."""
    budgets: BudgetSettings = BudgetSettings()
    """Spending limits."""
    providers: dict[str, ProviderSettings] = {}
    """Where models are served, by name."""
    roles: RoleSettings = RoleSettings()
    """Which model does which kind of work."""
    failover: FailoverSettings = FailoverSettings()
    """How often a failed model call is made again."""
    breaker: BreakerSettings = BreakerSettings()
    """When an endpoint that fails is left alone."""
    agents: dict[AgentId, AgentProfile] = {}
    """Profiles to run by, by name."""
    egress: EgressSettings = EgressSettings()
    """Where calls may go on the network."""
    files: FileSettings = FileSettings()
    """Which files capabilities may write."""
    channels: dict[str, ChannelSettings] = {}
    """Where `channel.post` delivers to, by name."""
    mail: MailSettings = MailSettings()
    """The server that sends mail."""
    notify: NotifySettings = NotifySettings()
    """Whom to tell that a decision waits, that an effect is in doubt, and that a run has failed."""
    storage: StorageSettings = StorageSettings()
    """Where runs are kept."""
    sessions: SessionSettings = SessionSettings()
    """How long gates, leases and sessions stay alive."""
    queue: QueueSettings = QueueSettings()
    """Runs in the background, and how many of them a worker takes up."""
    schedules: dict[ScheduleName, ScheduleSettings] = {}
    """Requests that workers queue at times, by name."""
    sources: SourceSettings = SourceSettings()
    """Where the built-in capabilities find their data."""
    capabilities: CapabilitySettings = CapabilitySettings()
    """Modules with capabilities of the workspace's own, and names to leave out."""
    mcp: dict[str, McpServerSettings] = {}
    """MCP servers whose tools join the registry, by name."""
    memory: MemorySettings = MemorySettings()
    """What is proposed to be remembered."""
    threads: ThreadSettings = ThreadSettings()
    """What a new message does to a run that has not ended."""
    secrets: SecretSettings = SecretSettings()
    """What is redacted."""
    server: ServerSettings = ServerSettings()
    """Who may come in at the LangGraph server."""
    people: dict[TokenName, PersonSettings] = {}
    """People who are known, by a name for the file."""
    sign_in: SignInSettings = SignInSettings()
    """Where people sign in."""
    web: WebSettings = WebSettings()
    """Where the page is served."""
    logging: LogSettings = LogSettings()
    """What the command line logs to stderr."""
    tracing: TracingSettings = TracingSettings()
    """Where traces go."""
    audit: AuditSettings = AuditSettings()
    """Where the head of the audit chain is kept outside of the store."""

    @property
    def store_folder(self) -> Path:
        """The folder of the databases and blobs."""
        return self.workspace / self.storage.path

    @property
    def store_url(self) -> str:
        """The PostgreSQL database that runs are kept in, with its password; empty for a folder."""
        return self.storage.url.get_secret_value() if self.storage.url else ""

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
    if folder.is_file():
        raise SetupError(f"{folder} is a file, and no workspace", f"name a folder: -w {folder.parent}")
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
    if (misnamed := misnamed_variable(os.environ, Settings)) is not None:
        raise SetupError(*misnamed)
    try:
        settings = Settings(_file=content, workspace=path.parent, **flags)  # type: ignore[call-arg]
    except SettingsError as error:
        raise SetupError(
            f"the environment: {error}", 'lists and tables are JSON there, e.g. ["a"]'
        ) from error
    except ValidationError as error:
        raise SetupError(*explain(error, path, text, Settings)) from error
    if (unbounded := endless(content, path, text)) is not None:
        raise SetupError(*unbounded)
    return settings.model_copy(update={"providers": {**_implied_provider(), **settings.providers}})


def api_keys(provider: ProviderSettings) -> tuple[str, ...]:
    """Read a provider's keys: written in the settings, or in the environment variables it names."""
    written = [*provider.api_keys, *([provider.api_key] if provider.api_key else [])]
    if written:
        return tuple(dict.fromkeys(key.get_secret_value() for key in written))
    named = provider.api_key_env or provider.usual_key
    names = [named] if isinstance(named, str) else named
    return tuple(dict.fromkeys(key for name in names if (key := os.environ.get(name))))


def no_key(name: str, provider: ProviderSettings) -> SetupError:
    """Say that a provider has no key, and where it is looked for."""
    variables = provider.api_key_env or provider.usual_key
    named = variables if isinstance(variables, str) else " or ".join(variables)
    return SetupError(f"provider {name} has no key", f"set {named}, or providers.{name}.api_key_env")


def mail_password(mail: MailSettings) -> str | None:
    """Read the password of the mail server: written in the settings, or in the environment."""
    if mail.password is not None:
        return mail.password.get_secret_value()
    return os.environ.get(mail.password_env) if mail.password_env else None


def from_environment(name: str) -> str:
    """Read a variable; empty when it is not set."""
    return os.environ.get(name, "")


def state_folder() -> Path:
    """Name the folder of what this machine keeps beside all workspaces (XDG Base Directory, state).

    Raises SetupError where there is no home to keep it in.
    """
    named = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:  # the standard has a relative one left out
        return (named if named.is_absolute() else Path.home() / ".local" / "state") / "planwright"
    except RuntimeError as error:
        raise SetupError(f"nothing can be kept: {error}", "set XDG_STATE_HOME to a folder") from error


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
