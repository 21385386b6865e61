"""What a step really used and brought, as it is on record: read when its end is told."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len

from planwright.cli.views.open_store import open_store
from planwright.cli.views.printable import chop, one_line
from planwright.domain.hashing import json_text
from planwright.presentation.rows import RunEvent
from planwright.records.history.run_records import step_record
from planwright.settings.settings import Settings

CARRIED = 100
_TEXTS = ("value", "summary", "text")


def with_record(event: RunEvent, settings: Settings) -> RunEvent:
    """Add to the end of a step what it was called with (`used`) and what came of it (`brought`)."""
    if event["type"] != "plan_step_complete":
        return event
    database = open_store(settings)
    result, sent = database.read(step_record, event["run_id"], event["data"]["uid"])
    database.close()
    used = sent if sent is not None else result.get("args")
    brought = (
        "a large result, on record" if result.get("blob") else brought_text(result.get("output"), used or {})
    )
    return {**event, "data": {**event["data"], "used": used, "brought": brought}}


def brought_text(output: object, used: Mapping[str, object]) -> str:
    """Say on one line, in at most 100 cells, what came of a call, beside what it `used`."""
    if isinstance(output, list):
        return _count(output, "items")
    if not isinstance(output, Mapping):
        return "" if output is None else shortened(_format(output), CARRIED)
    for name, value in output.items():
        if isinstance(value, list) and "value" not in output:
            return _count(value, str(name))
    for name in _TEXTS:
        if isinstance(output.get(name), str) and output[name] != used.get(name):
            return shortened(_format(output[name]), CARRIED)
    new = {name: value for name, value in output.items() if value != used.get(name)}
    facts = {name: value for name, value in new.items() if value not in (None, "", [], {})}
    return shortened(", ".join(f"{one_line(n)} {_format(v)}" for n, v in facts.items()), CARRIED)


def shortened(text: str, width: int) -> str:
    """Cut a text between words, with an ellipsis, to so many cells."""
    if cell_len(text) <= width:
        return text
    return f"{chop(text, max(width - 1, 2))[0].rstrip()}…"


def _count(items: list[object], name: str) -> str:
    singular = name[:-1] if name.endswith("s") else name
    return f"{len(items):,} {one_line(singular if len(items) == 1 else name)}"


def _format(value: object) -> str:
    text = value if isinstance(value, str) else json_text(value)
    return " ".join(one_line(text.replace("\n", " ")).split())
