"""The settings of a workspace: its tools, where its data lies, its queue, and how long things stay alive."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, field_validator

from planwright.domain.run_context import PlanningMode
from planwright.settings.mail import NoticeAddresses
from planwright.settings.providers import Address

TWICE = timedelta(hours=3)
"""Longer than any time that a clock shows twice."""


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

    url: Address
    """Address that a post is sent to."""


OnChange = Literal["ask", "refuse"]


class RetentionSettings(BaseModel):
    """How long the checkpoints of one tenant stay. What was decided and done stays on record in any case."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keep_checkpoints: int | None = Field(None, ge=1)
    """Checkpoints of a thread that stay when a run of it ends; None for `storage.keep_checkpoints`."""
    keep_days: float | None = Field(None, ge=0)
    """Days after its last end from which a thread has only its newest; None for `storage.keep_days`."""


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
    keep_days: float | None = Field(None, ge=0)
    """Days after its last end from which workers and `db prune` leave a thread its newest; None for never."""
    tenants: dict[str, RetentionSettings] = {}
    """What is otherwise for one tenant, by its name."""

    def checkpoints_of(self, tenant: str) -> int:
        """Say how many checkpoints of a thread of a tenant stay."""
        return self._own(tenant).keep_checkpoints or self.keep_checkpoints

    def days_of(self, tenant: str) -> float | None:
        """Say for how many days after its last end a thread of a tenant has more than the newest."""
        days = self._own(tenant).keep_days
        return self.keep_days if days is None else days

    @property
    def keeps_for_days(self) -> bool:
        """Whether threads of some tenant are kept whole for some days only."""
        days = (self.keep_days, *(tenant.keep_days for tenant in self.tenants.values()))
        return any(number is not None for number in days)

    def _own(self, tenant: str) -> RetentionSettings:
        return self.tenants.get(tenant, RetentionSettings())

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
    """Seconds that a process holds a run without renewing its lease; then it is silent (`on_silence`)."""
    heartbeat_s: float = Field(30, gt=0)
    """Seconds between two events that tell how far a session is, while a process works on it."""
    ttl_s: float = Field(14_400, gt=0)
    """Seconds after which a session expires, waiting for people included, where its request does not say."""
    on_crash: Literal["resume", "fail"] = "resume"
    """What a worker does with a session whose worker has died: it goes on, or the session has failed."""
    on_silence: Literal["pause", "resume"] = "pause"
    """What becomes of a session whose worker lives and gives no sign: it is paused, or taken over."""
    most_breaks: int = Field(3, ge=1)
    """How often a session may break off before it is paused, for a person to look at it."""
    on_change: OnChange = "ask"
    """What happens when a run goes on under other settings, policy, capabilities or prompts than it began
    with: changed calls are asked for anew ("ask"), or the run waits until it is migrated ("refuse")."""


class QueueSettings(BaseModel):
    """The queue of runs in the background, and how many of them a worker takes up."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    capacity: int = Field(100, ge=1)
    """Most runs that may be queued; one more is refused."""
    max_concurrent: int = Field(3, ge=1, le=1000)
    """Most runs that a worker goes on with at once."""
    max_execution_time_s: float = Field(7200, gt=0)
    """Most seconds that a session is worked on, waiting for people left out; then it ends as `timeout`."""
    look_s: float = Field(1.0, gt=0)
    """Seconds between two looks of a worker that has nothing to do."""


ScheduleName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class ScheduleSettings(BaseModel):
    """One request, and when it is queued. A time at which its last run has not ended is left out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cron: str
    """When: minute, hour, day of the month, month, day of the week, as crontab(5) has them."""
    request: str = Field(min_length=1)
    """What to do, in plain words."""
    timezone: str = "UTC"
    """Time zone that the times are of, as the IANA database names it."""
    agent: str | None = None
    """Name of the agent's profile; None for none."""
    planning: PlanningMode | None = None
    """When to plan; None for what the agent or the workspace says."""
    tenant: str = "default"
    """Whose runs they are."""
    ttl_s: float | None = Field(None, gt=0)
    """Seconds after which a run of it expires; None for `sessions.ttl_s`."""
    answer_to: NoticeAddresses = NoticeAddresses()
    """Where the answer of each run goes."""

    @field_validator("cron")
    @classmethod
    def _has_times(cls, cron: str) -> str:
        try:
            CronSim(cron, datetime(2000, 1, 1, tzinfo=UTC))
        except CronSimError as error:
            raise ValueError(f"{cron!r} is no cron expression: {error}") from error
        return cron

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, timezone: str) -> str:
        try:
            ZoneInfo(timezone)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise ValueError(f"there is no time zone {timezone!r}") from error
        return timezone

    def newest_before(self, now: datetime) -> datetime | None:
        """Find the newest time at or before a moment, in UTC; None where there was none in four years."""
        zone, soon = ZoneInfo(self.timezone), now + timedelta(minutes=1)
        backwards = CronSim(self.cron, soon.astimezone(zone), reverse=True)
        past = next((time for time in backwards if time.astimezone(UTC) <= now), None)
        if past is None:
            return None
        # Backwards it does not know an hour that comes twice; forwards it does.
        newest = past.astimezone(UTC)
        for time in CronSim(self.cron, (newest - TWICE).astimezone(zone)):
            if (time_utc := time.astimezone(UTC)) > now:
                break
            newest = max(newest, time_utc)
        return newest


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
