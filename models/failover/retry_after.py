"""How long a provider asks to be left alone: RFC 9110 §10.2.3, and the milliseconds of OpenAI's servers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_RETRY_S = 86_400.0


def retry_after(headers: Mapping[str, str], now: datetime) -> float:
    """Read `retry-after-ms`, or `retry-after` as seconds or as a date; in seconds, from 0 to a day.

    What cannot be read, lies in the past or is negative counts as 0: the provider did not say.
    """
    for name, read in (("retry-after-ms", _milliseconds), ("retry-after", _seconds), ("retry-after", _date)):
        seconds = read(headers.get(name, ""), now)
        if seconds is not None and not math.isnan(seconds):
            return min(max(0.0, seconds), LONGEST_RETRY_S)
    return 0.0


def _milliseconds(text: str, now: datetime) -> float | None:
    amount = _seconds(text, now)
    return None if amount is None else amount / 1000


def _seconds(text: str, now: datetime) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _date(text: str, now: datetime) -> float | None:
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds()
