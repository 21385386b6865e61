"""Undoing at the terminal: list what can be undone of a run, and begin the run that does it."""

from __future__ import annotations

import json
from pathlib import Path

from rich.table import Table

from planwright.cli.actions.forking import follow_from
from planwright.cli.session.drive import Terminal
from planwright.cli.session.logs import load_logged
from planwright.cli.views import rendering as views
from planwright.cli.views.run_views import find_run
from planwright.graph.building import build_graph
from planwright.graph.entry.undo import CompensationStep
from planwright.presentation.rows import JsonObject


def undo(source: str, without: list[str], workspace: Path, terminal: Terminal) -> int:
    """Begin the undoing of a run and follow it to its gate or end. Returns the exit code."""
    return follow_from(
        source,
        workspace,
        terminal,
        lambda agent, name, context: agent.undo(name, context=context, without=without),
    )


def list_compensations(source: str, without: list[str], workspace: Path, as_json: bool) -> int:
    """List the effects of a run in the order they would be undone, and by what or why not."""
    settings = load_logged(workspace)
    run_id = find_run(settings, source)["run_id"]
    agent = build_graph(settings)
    try:
        items = agent.loop.call(lambda: agent.undoing.look(run_id, without))
    finally:
        agent.close()
    if as_json:
        print(json.dumps([_plain(item) for item in items], ensure_ascii=False, indent=2))
    elif items:
        views.console().print(_table(items))
    else:
        print("it has had no effects")
    return 0


def _plain(item: CompensationStep) -> JsonObject:
    by = {"capability": item.step.capability, "params": item.step.params} if item.step else None
    effect = item.effect
    return {
        "key": effect.key,
        "step": effect.step.step.id if effect.step else None,
        "capability": effect.capability,
        "status": "done" if effect.certain else "in_doubt",
        "undone_by": effect.undone_by or None,
        "compensation": by,
        "why_not": item.why_not or None,
    }


def _table(items: list[CompensationStep]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("effect", "status", "undone by"):
        table.add_column(name, overflow="fold")
    for item in items:
        params = json.dumps(item.step.params, ensure_ascii=False) if item.step else ""
        by = f"{item.step.capability} {params}" if item.step else f"nothing: {item.why_not}"
        status = "done" if item.effect.certain else "may have happened"
        table.add_row(views.safe(item.name), status, views.safe(by))
    return table
