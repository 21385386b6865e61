"""The clock, so that a test can set it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Read the clock, in UTC."""
    return datetime.now(UTC)
