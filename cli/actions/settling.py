"""Say of effects in doubt whether they happened, all in one command."""

from __future__ import annotations

from pathlib import Path

from planwright.cli.session.logs import load_logged
from planwright.cli.session.terminal import Terminal
from planwright.cli.views.run_views import find_run, open_gates
from planwright.presentation.rows import JsonObject
from planwright.security.credentials import login_name


def settle(which: str | None, effects: list[JsonObject], workspace: Path, terminal: Terminal) -> int:
    """Decide over the effects at a gate and follow the run on, or over those that a run left which has ended.

    Returns the exit code.
    """
    from planwright.cli.session.drive import answer_gate

    settings = load_logged(workspace)
    if which and not open_gates(settings, which):
        run = find_run(settings, which)
        if not open_gates(settings, run["thread_id"]):
            return settle_late(run["run_id"], effects, workspace)
        which = str(run["thread_id"])
    return answer_gate(which, {"type": "respond", "effects": effects}, workspace, terminal)


def settle_late(run_id: str, effects: list[JsonObject], workspace: Path) -> int:
    """Put on record what became of the effects of a run that has ended; nothing of it runs again."""
    from planwright.graph.building import build_graph

    agent = build_graph(load_logged(workspace))
    try:
        agent.decide_effects(run_id, effects, login_name())
    finally:
        agent.close()
    count = len(effects)
    print(f"{run_id}: {count} effect{'s' * (count != 1)} decided; see it: planwright show {run_id}")
    return 0
