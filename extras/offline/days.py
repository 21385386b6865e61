"""Read the days a request names: `tomorrow`, `next week`, `15 May 2024`, `May 15th, 2024`, `June 2025`."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass

from planwright.extras.offline.draft import NeedsAnswer

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name} | {
    name.lower(): number for number, name in enumerate(calendar.month_abbr) if name
}
_MONTH = "|".join(sorted(_MONTHS, key=lambda name: -len(name)))
_DAY = r"(?P<day{0}>[0-3]?\d)(?:st|nd|rd|th)?"
_IN_WORDS = r"today|tomorrow|yesterday|(?:this|next|last) (?:week|month)|(?:next )?(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SPELLED = re.compile(
    rf"\b(?:(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})|(?P<words>{_IN_WORDS})"
    rf"|{_DAY.format(1)}\.?\s+(?:of\s+)?(?P<month1>{_MONTH})\.?(?:,?\s+(?P<year1>\d{{4}}))?"
    rf"|(?P<month2>{_MONTH})\.?\s+{_DAY.format(2)}(?:,?\s+(?P<year2>\d{{4}}))?(?!\d)"
    rf"|(?P<day3>\d{{1,2}})\.(?P<month3>\d{{1,2}})\.(?P<year3>\d{{4}})"
    rf"|(?P<month4>{_MONTH})\s+(?P<year4>\d{{4}}))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Days:
    """A stretch of days, and the words that name it."""

    phrase: str
    """Words of the request that name it."""
    start: str
    """First day, as `calendar.list` reads one."""
    end: str | None = None
    """Last day; None for the stretch that the first one names."""


def named_days(text: str) -> list[Days]:
    """List the days a text names, in their order. Raises NeedsAnswer for a date without its year."""
    return [
        _read(match) for match in _SPELLED.finditer(text) if match[0].lower() not in ("may", "mar", "sun")
    ]


def _read(match: re.Match[str]) -> Days:
    phrase = match[0]
    if match["iso"] or match["words"]:
        return Days(phrase, phrase.lower())
    if match["month4"]:
        year, month = int(match["year4"]), _MONTHS[match["month4"].lower()]
        last = calendar.monthrange(year, month)[1]
        return Days(phrase, f"{year}-{month:02}-01", f"{year}-{month:02}-{last:02}")
    day = int(match["day1"] or match["day2"] or match["day3"])
    spelled = match["month1"] or match["month2"]
    month = _MONTHS[spelled.lower()] if spelled else int(match["month3"])
    year_text = match["year1"] or match["year2"] or match["year3"]
    if not year_text:
        raise NeedsAnswer(f"Of which year is {phrase}? Write it like 2024-{month:02}-{day:02}.")
    year = int(year_text)
    if not (1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]):
        raise NeedsAnswer(f"{phrase} is not a day. Which one do you mean?")
    return Days(phrase, f"{year}-{month:02}-{day:02}")
