"""Numbers, times and states in words, as the templates write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlsplit

from planwright.presentation.figures import dollars
from planwright.presentation.run_view import State

MOST_CHARACTERS = 4_000
STATUS_WORDS = {
    "needs_input": "asks a question",
    "completed_with_skips": "completed, with skips",
    "budget_exceeded": "over budget",
    "in_doubt": "in doubt",
    "read_only": "only reads",
    "local_write": "writes here",
    "intent": "being sent",
}

STATES: dict[str, State] = {
    **dict.fromkeys(
        ("completed", "planned", "completed_with_skips", "done", "approved", "responded"), "done"
    ),
    **dict.fromkeys(("failed", "budget_exceeded", "timeout", "escalated", "refused"), "failed"),
    **dict.fromkeys(("rejected", "cancelled", "expired"), "rejected"),
    **dict.fromkeys(("waiting", "needs_input", "in_doubt", "paused", "interrupted", "open"), "waiting"),
    **dict.fromkeys(("running", "intent"), "running"),
    **dict.fromkeys(("skipped", "edited", "closed"), "skipped"),
}


def word(value: object) -> str:
    """Spell a status, a mode or a risk for people."""
    text = str(value or "")
    return STATUS_WORDS.get(text, text.replace("_", " "))


def clock_time(value: object) -> str:
    """Spell a time, UTC in ISO 8601, on two dozen characters; a browser shows it in its own zone."""
    return str(value or "")[:19].replace("T", " ")


def duration(value: float | None) -> str:
    """Spell a duration."""
    if value is None:
        return ""
    if 0 < value < 0.01:
        return "below 0.01 s"
    if value < 60:
        return f"{value:.2f} s" if value < 10 else f"{value:.0f} s"
    minutes, rest = divmod(int(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def between(began: str | None, ended: str | None) -> str:
    """Spell how long something took, by two times in ISO 8601; "" where one is not known."""
    if not began or not ended:
        return ""
    return duration((datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds())


def format_value(value: object) -> str:
    """Spell a value: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def compact(value: object) -> str:
    """Spell a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def clipped(value: object, most: int = MOST_CHARACTERS) -> str:
    """Spell the beginning of a value, and how long it is where that is not all."""
    text = format_value(value)
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def cut(value: object, most: int) -> str:
    """Spell the beginning of a text where a title has room for no more."""
    text = str(value or "")
    return text if len(text) <= most else f"{text[: most - 1]}…"


def short(value: object) -> str:
    """Spell the beginning of an id or a hash."""
    text = str(value or "")
    return text if len(text) <= 14 else f"{text[:12]}…"


def state_of(status: str) -> State:
    """Find the mark that a status of a run, an effect or a gate is drawn with."""
    return STATES.get(status, "pending")


def host_name(address: str) -> str:
    """Name the host of an address."""
    return urlsplit(address).hostname or address


FILTERS: dict[str, Callable[..., object]] = {
    "word": word,
    "moment": clock_time,
    "seconds": duration,
    "between": between,
    "money": dollars,
    "plain": format_value,
    "compact": compact,
    "clipped": clipped,
    "cut": cut,
    "short": short,
    "state_of": state_of,
    "host_name": host_name,
}
