"""How a run ends in a terminal: its answer on stdout, on stderr what it came to, and the exit code."""

from __future__ import annotations

import json

from planwright.cli.session.asking import print_how_to_answer
from planwright.cli.session.closing_line import closing_line
from planwright.cli.session.terminal import RunWatch, Terminal, print_answer
from planwright.cli.views import rendering as views
from planwright.cli.views.doubt_views import doubts_beside, left_in_doubt
from planwright.cli.views.memory_views import invitation, proposals
from planwright.cli.views.run_views import report
from planwright.domain.results import RunStatus
from planwright.presentation.rows import Card, RunRow
from planwright.settings.settings import Settings

EXIT: dict[RunStatus, int] = {
    "completed": 0,
    "planned": 0,
    "completed_with_skips": 0,
    "failed": 1,
    "queued": 3,
    "running": 1,
    "paused": 2,
    "waiting": 3,
    "needs_input": 3,
    "rejected": 4,
    "expired": 4,
    "escalated": 5,
    "budget_exceeded": 6,
    "refused": 7,
    "cancelled": 8,
    "timeout": 124,
}

COLOURS = {0: "green", 3: "yellow"}


def print_report(settings: Settings, run_id: str) -> None:
    """Print all that is recorded of a run, as JSON."""
    print(json.dumps(report(settings, run_id), ensure_ascii=False, indent=2))


def finish(
    settings: Settings,
    run: RunRow,
    waiting: list[Card],
    terminal: Terminal,
    watch: RunWatch,
    undoable: int,
) -> int:
    """Print the answer on stdout and, on stderr, where to look again. Returns the exit code.

    A run that did not do all of what it was for may be undone, as far as that is declared.
    """
    status: RunStatus = run["status"]
    where = views.where_option(settings.workspace)
    if terminal.as_json:
        print_report(settings, run["run_id"])
    elif waiting:
        for gate in waiting:
            print_how_to_answer(gate, where, terminal, watch)
        for row in doubts_beside(report(settings, run["run_id"]), [gate["shown"] for gate in waiting]):
            terminal.screen.print(row)
    elif status == "paused":
        why = run["paused_why"] or run["paused_for"]
        terminal.screen.print(views.label("paused", f"{why}"))
        terminal.screen.print(views.label("go on", f"planwright resume {run['thread_id']}{where}"))
    else:
        answer = run["answer"] or run["paused_why"] or ""
        if watch.answered != answer:
            print_answer(answer)
        if watch.view.answer_value is not None:
            terminal.screen.print(
                views.label("value", json.dumps(watch.view.answer_value, ensure_ascii=False))
            )
        if run["paused_for"]:
            more = f"planwright extend {run['run_id']} {more_option(run['paused_for'])}{where}"
            terminal.screen.print(views.label("more", more))
            terminal.screen.print(views.label("go on", f"planwright resume {run['thread_id']}{where}"))
        _close(settings, run, where, terminal, watch)
        if status == "needs_input":
            terminal.screen.print(views.label("respond", views.how_to_reply(run["thread_id"], where)))
        if proposed := proposals(settings, run["tenant"], run_id=run["run_id"]):
            terminal.screen.print(views.label("memory", invitation(proposed, where)))
        if EXIT[status]:
            for row in left_in_doubt(report(settings, run["run_id"]), where):
                terminal.screen.print(row)
        if EXIT[status] and undoable:
            again = f"planwright undo {run['run_id']}{where}"
            terminal.screen.print(views.label("undo", f"{undoable} of its effects: {again}"))
    return EXIT[status]


def more_option(setting: str) -> str:
    """Spell the option that gives a run more of the limit that a setting sets."""
    unit = setting.rpartition(".")[2]
    return f"--{'work' if unit == 'wall_clock_s' else unit.replace('_', '-')} …"


def _close(settings: Settings, run: RunRow, where: str, terminal: Terminal, watch: RunWatch) -> None:
    """Say on one line how a run ended, where to look again, and what its models used."""
    status = run["status"]
    if terminal.talking and status == "completed":
        return
    text = closing_line(settings, run, watch.view, where, terminal)
    terminal.screen.print(views.label("status", text, COLOURS.get(EXIT[status], "red")))
    if terminal.verbose:
        terminal.screen.print(views.label("", f"planwright events {run['thread_id']}{where}"))
