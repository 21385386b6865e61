"""Put results into words without a model: every line of the answer stands in a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planwright.domain.results import format_end
from planwright.language.lexicon import COUNTS

_LIMIT = 12
_SHOWN_WHOLE, _LONGEST = 3, 1_500  # mails that are shown with their text, and characters of one
_TELLING = ("amount", "path", "to", "subject", "url", "start", "text")
_PAST = {
    **{"add": "added", "append": "appended", "change": "changed", "close": "closed", "copy": "copied"},
    **{"create": "created", "delete": "deleted", "draft": "drafted", "file": "filed", "forget": "forgot"},
    **{"make": "made", "move": "moved", "post": "posted", "put": "put", "remember": "remembered"},
    **{"remove": "removed", "rename": "renamed", "replace": "replaced", "reply": "replied"},
    **{"restore": "restored", "save": "saved", "schedule": "scheduled", "send": "sent", "set": "set"},
    **{"store": "stored", "update": "updated", "write": "wrote"},
}


def answer_from_results(results: list[dict[str, Any]]) -> str:
    """Tell what the steps of a run brought, in their order, leaving out what only fed other steps."""
    lines: list[str] = []
    for result in results:
        if (status := result.get("status", "completed")) != "completed":
            how = format_end(status, result.get("error") or "")
            lines.append(f"{result.get('description') or result['capability']}: {how}")
        elif not result.get("used") or result.get("changed"):
            lines.append(_tell(result))
    return "\n".join(line for line in lines if line)


def _tell(result: dict[str, Any]) -> str:
    output, title = result["output"], result.get("description") or result["capability"]
    if not isinstance(output, dict):
        return f"{title}: {output}"
    if (value := _only_value(output)) is not None:
        return f"{title}: {value}"
    items = next((value for value in output.values() if isinstance(value, list)), None)
    if items is not None and "value" not in output and not result.get("changed"):
        count = output.get("count", len(items))
        facts = [*_facts({name: value for name, value in output.items() if name != "count"})]
        return _list_text(f"{title}: {', '.join(facts)}" if facts else title, items, count)
    if set(output) >= {"iso", "weekday", "time"}:
        return f"It is {output['weekday']}, {output['date']}, {output['time']} ({output['timezone']})."
    for key in ("summary", "value", "text"):
        if key in output and not result.get("changed"):
            head = f"{title}:"
            return f"{head} {output[key]}" if "\n" not in str(output[key]) else f"{head}\n{output[key]}"
    if not result.get("changed") and (facts := [*_facts(output)]):
        return f"{title}: {', '.join(facts)}."
    return _deed_text(title, output)


def _facts(output: Mapping[str, object]) -> Iterator[str]:
    """Spell what a read has brought, field by field; what is no plain value is left to `planwright show`."""
    for name, value in output.items():
        if isinstance(value, str | int | float) and value != "":
            yield f"{name.replace('_', ' ')} {value}"


def _only_value(output: dict[str, Any]) -> Any:
    """Find the one value of a query that brings one row of one column; None for any other output."""
    rows = output.get("rows")
    single = (
        isinstance(rows, list) and len(rows) == 1 and output.get("columns") and len(output["columns"]) == 1
    )
    value = next(iter(rows[0].values()), None) if single and rows else None
    return round(value, 6) if isinstance(value, float) else value


def _deed_text(title: str, output: dict[str, Any]) -> str:
    """Tell in the past tense what was done, with what a reader needs to find or check it."""
    verb, _, rest = title.partition(" ")
    done = f"{_PAST[verb.lower()].capitalize()} {rest}" if verb.lower() in _PAST else f"{title}: done"
    number = [f"#{output['id']}"] if isinstance(output.get("id"), int) else []
    texts = {key: _format(output.get(key)) for key in _TELLING}
    new = [f"{key} {text}" for key, text in texts.items() if text and str(text) not in title]
    facts = ", ".join([*number, *new])
    return f"{done.rstrip('.')} ({facts})." if facts else f"{done.rstrip('.')}."


def _list_text(title: str, items: list[Any], count: int) -> str:
    if not items:
        return f"{title}: nothing found."
    rows = [f"  - {_row(item)}" for item in items[:_LIMIT]]
    if len(items) <= _SHOWN_WHOLE and all(_is_mail(item) for item in items):
        rows = [
            part
            for row, item in zip(rows, items, strict=True)
            for part in (row, *_indented(str(item["text"])))
        ]
    more = count - len(rows)
    tail = [f"  … and {more} more"] if more > 0 else []
    word = next(
        (name for name, number in COUNTS.items() if number == count and name not in ("single", "couple")),
        None,
    )
    return "\n".join([f"{title}: {word or count} found.", *rows, *tail])


def _is_mail(item: Any) -> bool:
    return isinstance(item, dict) and item.keys() >= {"subject", "sender", "text"}


def _indented(text: str) -> list[str]:
    """Split a text into indented rows; a long one is cut, and says so."""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} … (cut: {len(text):,} characters)"
    return [f"    {row}" for row in cut.splitlines() if row.strip()]


def _row(item: Any) -> str:
    if not isinstance(item, dict):
        return str(item)
    if item.keys() >= {"subject", "date", "sender"}:
        return f"{item['date'][:10]}  {item['sender']}: {item['subject']}"
    if item.keys() >= {"start", "end", "title"}:
        return f"{_when(item)}  {item['title']}" + (f" ({item['location']})" if item.get("location") else "")
    if item.keys() >= {"id", "title", "status"}:
        amount = f" ({item['amount']})" if item.get("amount") else ""
        return f"#{item['id']} {item['title']}{amount} [{item['status']}]"
    if item.keys() >= {"path", "line", "text"}:
        return f"{item['path']}:{item['line']}: {item['text']}"
    if "text" in item:
        return str(item["text"])
    return ", ".join(f"{key} {value}" for key, value in item.items())


def _when(event: dict[str, Any]) -> str:
    """Spell when an event is: the day, and the hours unless it takes the whole of it."""
    start, end = str(event["start"]), str(event["end"])
    if event.get("all_day"):
        return start
    return f"{start[:10]} {start[11:16]}-{end[11:16] if end[:10] == start[:10] else end[:16]}"


def _format(value: Any) -> Any:
    """Spell a list of words as one reads it."""
    plain = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return ", ".join(value) if plain else value
