"""Undoing at the terminal: list what can be undone of a run, and begin the run that does it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.table import Table

from planwright.cli.actions.forking import follow_from
from planwright.cli.session.drive import Terminal
from planwright.cli.views import records as views
from planwright.cli.views.inspect import find_run
from planwright.graph.building import build_graph
from planwright.graph.undo import Remedy
from planwright.settings.settings import load


def undo(source: str, workspace: Path, terminal: Terminal) -> int:
    """Begin the undoing of a run and follow it to its gate or end. Returns the exit code."""
    return follow_from(
        source, workspace, terminal, lambda agent, context: agent.undo(source, context=context)
    )


def list_remedies(source: str, workspace: Path, as_json: bool) -> int:
    """List the effects of a run in the order they would be undone, and by what or why not."""
    settings = load(workspace)
    find_run(settings, source)
    agent = build_graph(settings)
    try:
        found = agent.loop.call(lambda: agent.undoing.look(source))
    finally:
        agent.close()
    if as_json:
        print(json.dumps([_plain(one) for one in found], ensure_ascii=False, indent=2))
    elif found:
        views.console().print(_table(found))
    else:
        print("it has had no effects")
    return 0


def _plain(one: Remedy) -> dict[str, Any]:
    by = {"capability": one.step.capability, "params": one.step.params} if one.step else None
    effect = one.effect
    return {
        "key": effect.key,
        "step": effect.step.step.id if effect.step else None,
        "capability": effect.capability,
        "status": "done" if effect.certain else "in_doubt",
        "undone_by": effect.undone_by or None,
        "compensation": by,
        "why_not": one.why_not or None,
    }


def _table(found: list[Remedy]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("effect", "status", "undone by"):
        table.add_column(name, overflow="fold")
    for one in found:
        params = json.dumps(one.step.params, ensure_ascii=False) if one.step else ""
        by = f"{one.step.capability} {params}" if one.step else f"nothing: {one.why_not}"
        status = "done" if one.effect.certain else "in doubt"
        table.add_row(views.safe(one.name), status, views.safe(by))
    return table
