"""`planwright tune`: candidates as a table, and the best as a change of planwright.toml to look over."""

from __future__ import annotations

import difflib
import json
import re
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path

from rich.table import Table

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.extras.audit.chain_views import open_records_file
from planwright.extras.audit.tuning import (
    CANDIDATES,
    Score,
    Surface,
    Value,
    best_of,
    past_runs,
    score_of,
    value_now,
)
from planwright.records.records import open_records
from planwright.settings.settings import FILE_NAME, Settings

NOTHING = "nothing on record speaks for another setting"


def show_tuning(workspace: Path, as_json: bool) -> int:
    """Print what each candidate would have changed, and the change that is proposed. Changes nothing."""
    settings = load_trusted(workspace)
    with closing(open_records_file(settings)) as connection:
        runs = list(past_runs(connection, open_records(settings.store_folder, url=settings.store_url).blobs))
    scores = {
        (surface, value): score_of(runs, surface, value)
        for surface, values in CANDIDATES.items()
        for value in values
    }
    best = best_of(runs, settings)
    diff = proposal(settings, best)
    if as_json:
        rows = [
            {"setting": surface, "value": value, **asdict(score), "gain": score.gain}
            for (surface, value), score in scores.items()
        ]
        print(json.dumps({"runs": len(runs), "candidates": rows, "best": best, "diff": diff}, indent=2))
        return 0
    views.console().print(_table(scores, settings))
    print(diff or f"{len(runs)} runs: {NOTHING}")
    return 0


def proposal(settings: Settings, best: dict[Surface, Value]) -> str:
    """Write the change of planwright.toml, as a unified diff; "" for none."""
    path = settings.workspace / FILE_NAME
    before = path.read_text("utf-8") if path.exists() else ""
    after = before
    for surface, value in best.items():
        section, name = surface.split(".")
        after = with_setting(after, section, name, value)
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), FILE_NAME, FILE_NAME
    )
    return "".join(lines)


def with_setting(text: str, section: str, name: str, value: Value) -> str:
    """Set one value in a TOML text, in its table, which is added where it is not there."""
    line = f"{name} = {json.dumps(value)}\n"
    header = re.search(rf"^\[{section}\][^\n]*\n?", text, re.MULTILINE)
    if header is None:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}[{section}]\n{line}"
    start = header.end()
    end = next((start + m.start() for m in re.finditer(r"^\[", text[start:], re.MULTILINE)), len(text))
    body = text[start:end]
    new, count = re.subn(rf"^{name}\s*=[^\n]*\n?", lambda _: line, body, count=1, flags=re.MULTILINE)
    return text[:start] + (new if count else line + body) + text[end:]


def _table(scores: dict[tuple[Surface, Value], Score], settings: Settings) -> Table:
    names = [each.name for each in fields(Score)]
    table = Table()
    for name in ("setting", "value", "gain", "counted"):
        table.add_column(name, no_wrap=name != "counted")
    for (surface, value), score in scores.items():
        now = " (now)" if value == value_now(settings, surface) else ""
        counts = [f"{name.replace('_', ' ')} {count}" for name in names if (count := getattr(score, name))]
        table.add_row(surface, f"{value}{now}", str(score.gain), ", ".join(counts))
    return table
