"""The line that a run closes with: how it ended, where to look again, and what its models used."""

from __future__ import annotations

from rich.cells import cell_len

from planwright.cli.session.terminal import Terminal
from planwright.cli.views.rendering import LABEL, usage
from planwright.cli.views.short_names import short_name
from planwright.presentation.rows import RunRow
from planwright.presentation.run_view import RunView
from planwright.settings.settings import Settings


def closing_line(settings: Settings, run: RunRow, view: RunView, where: str, terminal: Terminal) -> str:
    """Sum up a run on one row of the terminal where that can be: by a short id and in fewer words.

    `where` is the option that names its workspace, from here.
    """
    status = str(run["status"]).replace("_", " ")
    whole, short = run["thread_id"], short_name(settings, run["thread_id"])
    used, briefly = _used(view, terminal)
    room = terminal.screen.width - LABEL
    texts = [
        " · ".join(filter(None, (status, f"planwright show {name}{where}", words)))
        for name, words in ((whole, used), (short, used), (short, briefly))
    ]
    return next((text for text in texts if cell_len(text) <= room), texts[-1])


def _used(view: RunView, terminal: Terminal) -> tuple[str, str]:
    """Say what the models of a run used, in full and briefly; nothing of a run without a model."""
    if view.embedded and view.planned and not terminal.talking:
        return "by the embedded planner, not a language model", "embedded planner, no model"
    if view.only_embedded:
        return "", ""
    return usage(view.usage), usage(view.usage, briefly=True)
