"""What a person means by a stretch of days: `tomorrow`, `this week`, `friday`, `2026-11-23`."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NEAR = {"today": 0, "now": 0, "tomorrow": 1, "yesterday": -1}


def stretch(words: str, now: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Turn words into a beginning and an end, the end not included. Raises ValueError.

    Understood: ISO 8601 dates and times, `today`, `tomorrow`, `yesterday`, weekdays (the next of that
    name, today included), and `this`, `next` or `last` with `week` or `month`.
    """
    plain, today = words.strip().lower(), now.astimezone(zone).date()
    if plain in _NEAR:
        return _days(today + timedelta(_NEAR[plain]), 1, zone)
    if plain.removeprefix("next ") in _DAYS:
        ahead = (_DAYS.index(plain.removeprefix("next ")) - today.weekday()) % 7
        return _days(today + timedelta(ahead or (7 if plain.startswith("next ") else 0)), 1, zone)
    which, _, unit = plain.partition(" ")
    if unit in ("week", "month") and which in ("this", "next", "last"):
        shift = {"last": -1, "this": 0, "next": 1}[which]
        if unit == "week":
            return _days(today - timedelta(today.weekday()) + timedelta(7 * shift), 7, zone)
        return _days(_month(today, shift), (_month(today, shift + 1) - _month(today, shift)).days, zone)
    try:
        return _days(date.fromisoformat(plain), 1, zone)
    except ValueError:
        moment = datetime.fromisoformat(words.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=zone)
        return moment, moment


def _days(first: date, count: int, zone: ZoneInfo) -> tuple[datetime, datetime]:
    begin = datetime.combine(first, time(), zone)
    return begin, datetime.combine(first + timedelta(count), time(), zone)


def _month(today: date, shift: int) -> date:
    year, month = divmod(today.year * 12 + today.month - 1 + shift, 12)
    return date(year, month + 1, 1)
