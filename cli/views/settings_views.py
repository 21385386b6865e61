"""The settings that are in force, each with where it comes from; secrets are not shown."""

from __future__ import annotations

import json
from pathlib import Path

from rich.table import Table

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.presentation.setting_origin import origin_of
from planwright.security.redaction.known_secrets import redactor_of
from planwright.settings.file_errors import leaves
from planwright.settings.origins import DEFAULT, origins


def show_settings(workspace: Path, as_json: bool) -> int:
    """List every setting with its value and its origin. Returns the exit code."""
    settings = load_trusted(workspace)
    redactor, named = redactor_of(settings), origins(settings)
    values = redactor.value(settings.model_dump(mode="json", exclude={"workspace"}))
    rows = [(name, value, origin_of(name, named, DEFAULT)) for name, value in leaves(values)]
    if as_json:
        entries = {name: {"value": value, "origin": origin} for name, value, origin in rows}
        print(json.dumps(entries, ensure_ascii=False, indent=2))
        return 0
    table = Table("setting", "value", "from", box=None, pad_edge=False, header_style="bold")
    for name, value, origin in rows:
        text = views.one_line(json.dumps(value, ensure_ascii=False))
        table.add_row(views.safe(name), text, origin, style="" if origin != DEFAULT else "dim")
    views.console().print(table)
    return 0
