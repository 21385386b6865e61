"""Forks at the terminal: list the checkpoints of a run, and begin a new run from one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from langchain_core.runnables import RunnableConfig
from rich.table import Table

from planwright.cli.session.asking import who
from planwright.cli.session.drive import Terminal, follow
from planwright.cli.session.logs import load_logged
from planwright.cli.views import rendering as views
from planwright.cli.views.run_views import find_run
from planwright.cli.views.short_names import full_name
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.graph.forks.fork import Point

Begin = Callable[[Agent, str, RunContext], RunnableConfig]
"""Writes down the new run that comes from a run, and returns its config."""


def fork(
    source: str, checkpoint_id: str | None, rerun: list[str], workspace: Path, terminal: Terminal
) -> int:
    """Begin a fork of a run and follow it to its end or to a gate. Returns the exit code."""

    def begin(agent: Agent, name: str, context: RunContext) -> RunnableConfig:
        return agent.fork(name, checkpoint_id, rerun=rerun, context=context)

    return follow_from(source, workspace, terminal, begin)


def follow_from(source: str, workspace: Path, terminal: Terminal, begin: Begin) -> int:
    """Begin a run that comes from another, and follow it. Returns the exit code."""
    settings = load_logged(workspace)
    name = full_name(settings, source)
    run = find_run(settings, name)  # what is not there makes no store
    ttl = settings.approval.plan_timeout_s if terminal.interactive else None
    context = RunContext(tenant=run["tenant"], channel="cli", requested_by=who(), gate_ttl_s=ttl)
    agent = build_graph(settings)
    try:
        config = begin(agent, name, context)
    finally:
        agent.close()
    thread = str(config["configurable"]["thread_id"])
    if not terminal.as_json:
        terminal.screen.print(views.label("thread", thread))
    return follow(settings, None, thread, context, terminal)


def show_checkpoints(source: str, workspace: Path, as_json: bool) -> int:
    """List what a fork can begin at, the newest first."""
    settings = load_logged(workspace)
    source = full_name(settings, source)
    find_run(settings, source)
    agent = build_graph(settings)
    try:
        points = agent.checkpoints(source)
    finally:
        agent.close()
    if as_json:
        print(json.dumps([_as_json(point) for point in points], indent=2))
    elif points:
        views.console().print(checkpoints_table(points))
    else:
        print("no checkpoints: a fork without --checkpoint takes what is on record")
    return 0


def _as_json(point: Point) -> dict[str, object]:
    """Lay out a checkpoint for `--json`."""
    return {
        "checkpoint_id": point.checkpoint_id,
        "run_id": point.run_id,
        "at": point.at,
        "next": point.next,
        "revision": point.revision,
        "kept": point.kept_steps,
        "total": point.total,
    }


def checkpoints_table(points: list[Point]) -> Table:
    """Lay out checkpoints: what came next, the revision of the plan, and the steps a fork keeps."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, width in (("checkpoint", 36), ("when (UTC)", 19)):
        table.add_column(name, no_wrap=True, min_width=width)
    for name in ("next", "plan", "a fork keeps"):
        table.add_column(name, overflow="fold")
    runs = {point.run_id for point in points}
    for number, point in enumerate(points):
        if len(runs) > 1 and (not number or points[number - 1].run_id != point.run_id):
            table.add_row(views.safe(point.run_id), "", "", "", "", style="bold cyan")
        steps = ", ".join(point.kept_steps) or "nothing"
        plan = "" if point.revision is None else f"revision {point.revision}"
        keeps = (
            f"{steps} ({len(point.kept_steps)} of {point.total})"
            if plan
            else "nothing: the request begins anew"
        )
        when = point.at[:19].replace("T", " ")
        table.add_row(point.checkpoint_id, when, ", ".join(point.next) or "the end", plan, views.safe(keeps))
    return table
