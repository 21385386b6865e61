"""What a step really used and brought, as it is on record: read when its end is told."""

from __future__ import annotations

from rich.cells import cell_len

from planwright.cli.views.open_store import open_store
from planwright.cli.views.printable import chop
from planwright.presentation.brought import brought_text
from planwright.presentation.rows import RunEvent
from planwright.records.history.run_records import step_record
from planwright.settings.settings import Settings

CARRIED = 100


def with_record(event: RunEvent, settings: Settings) -> RunEvent:
    """Add to the end of a step what it was called with (`used`) and what came of it (`brought`)."""
    if event["type"] != "plan_step_complete":
        return event
    database = open_store(settings)
    result, sent = database.read(step_record, event["run_id"], event["data"]["uid"])
    database.close()
    used = sent if sent is not None else result.get("args")
    brought = (
        "a large result, on record"
        if result.get("blob")
        else shortened(brought_text(result.get("output"), used or {}), CARRIED)
    )
    return {**event, "data": {**event["data"], "used": used, "brought": brought}}


def shortened(text: str, width: int) -> str:
    """Cut a text between words, with an ellipsis, to so many cells."""
    if cell_len(text) <= width:
        return text
    return f"{chop(text, max(width - 1, 2))[0].rstrip()}…"
