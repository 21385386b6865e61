"""The runs of a workspace as they are listed, a page at a time. Reads only."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.cli.views.open_store import has_store, interrupted_in, now_of, open_store
from planwright.cli.views.paging import Page
from planwright.cli.views.short_names import full_name
from planwright.presentation.rows import Report
from planwright.records.history.run_pages import RunFilter, RunPage, runs_page, unanswered
from planwright.settings.settings import Settings

_JSON = ("thread_id", "run_id", "status", "in_doubt", "started_at", "ended_at", "title", "request")
ALL = Page(1, 1 << 62)  # more than there can be


def show_runs(workspace: Path, waiting: bool, page: Page, as_json: bool) -> int:
    """List a page of runs, the newest first, and say how many there are."""
    settings = load_trusted(workspace)
    page_of_runs = recorded_runs(settings, waiting, page)
    rows, total = page_of_runs.rows, page_of_runs.total
    if as_json:
        runs = [{**{name: row[name] for name in _JSON}, "gates": _open_gates(row)} for row in rows]
        print(json.dumps({"runs": runs, **page.counts(total)}, ensure_ascii=False, indent=2))
        return 0
    if rows:
        screen = views.console()
        screen.print(views.runs_table(rows, screen.width, waiting))
    elif not total:
        print("no runs" + (" wait for a decision" if waiting else ' yet; begin one: planwright run "…"'))
    noun, option = ("waiting runs", " --waiting") if waiting else ("runs", "")
    if footer := page.footer(total, len(rows), noun, f"planwright ls{option}"):
        print(footer)
    return 0


def _open_gates(row: Report) -> list[str]:
    """List the ids of the gates that a run waits at; what else it waits for stands in the same column."""
    return [name for name in str(row["gates"]).split() if name.startswith("gate_")]


def recorded_runs(settings: Settings, waiting: bool, page: Page = ALL) -> RunPage:
    """Read a page of the runs of a workspace, the newest first; none when there is no store yet.

    Those that are `waiting` have an open gate, or ended with a question that is not older than a gate may be.
    """
    if not has_store(settings):
        return RunPage((), 0)
    since, interrupted = _asked_since(settings), interrupted_in(settings)
    wanted = RunFilter(waiting=waiting, asked_since=since, interrupted=interrupted)
    return open_store(settings).read(runs_page, wanted, page.limit, page.skipped)


def questions(settings: Settings, which: str | None) -> list[Report]:
    """List the runs that ended with a question which has no answer: of a thread, or all new ones."""
    since = "" if which else _asked_since(settings)
    named = full_name(settings, which) if which else ""
    return open_store(settings).read(unanswered, RunFilter(asked_since=since), named)


def _asked_since(settings: Settings) -> str:
    """Say since when a question counts as waiting: as long as a gate would, and no run is held up by it."""
    return (now_of(settings) - timedelta(seconds=settings.sessions.gate_ttl_s)).isoformat()
