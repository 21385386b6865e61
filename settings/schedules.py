"""The settings of schedules: requests that workers queue at times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from planwright.domain.run_context import PlanningMode

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
        times = CronSim(self.cron, now.astimezone(ZoneInfo(self.timezone)), reverse=True)
        return next((time.astimezone(UTC) for time in times), None)
