"""The time."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected


class Moment(BaseModel):
    """A point in time, spelled in several ways."""

    iso: str
    """Date and time in ISO 8601 with offset, to the second."""
    date: str
    """Date in ISO 8601."""
    time: str
    """Time of day, as hours and minutes."""
    weekday: str
    """Name of the weekday in English."""
    timezone: str
    """Name of the time zone, such as Europe/Berlin."""


@capability(
    "datetime.now",
    mode="read_only",
    tags=("time", "date", "day", "today", "clock", "now", "weekday"),
    guide=Guide("Tells the current time and date.", ("What time is it?", "What day is today?"), 10),
    trusted_result=True,
    reads=(),
)
def now(call: CallContext, timezone: str = "UTC") -> Moment:
    """Tell the current date, time and weekday in a time zone."""
    try:
        moment = call.now().astimezone(ZoneInfo(timezone))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise CapabilityRejected(
            f"there is no time zone {timezone!r}", "use a name like Europe/Berlin"
        ) from error
    return Moment(
        iso=moment.isoformat(timespec="seconds"),
        date=moment.date().isoformat(),
        time=moment.strftime("%H:%M"),
        weekday=moment.strftime("%A"),
        timezone=timezone,
    )
