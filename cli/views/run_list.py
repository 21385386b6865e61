"""The runs of a workspace as they are listed, a page at a time. Reads only."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.cli.views.open_store import has_store, interrupted, now_of, open_store, read_rows
from planwright.cli.views.paging import Page
from planwright.cli.views.short_names import full_name
from planwright.presentation.rows import QuestionRow, Report
from planwright.records.effects.doubts import DOUBTFUL
from planwright.settings.settings import Settings

_ASKING = """r.status = 'needs_input' AND r.ended_at >= :since
    AND NOT EXISTS (SELECT 1 FROM runs n WHERE n.thread_id = r.thread_id AND n.rowid > r.rowid)"""
_SELECTION = f"(:waiting = 0 OR r.status = 'waiting' OR ({_ASKING}))"
_RUNS = f"""SELECT r.thread_id, r.run_id, r.tenant, r.status, r.owner, r.lease_until,
    r.started_at, r.ended_at, r.request,
    coalesce(t.title, substr(r.request, 1, 60)) AS title,
    CASE r.status WHEN 'needs_input' THEN 'question' ELSE coalesce((SELECT group_concat(gate_id, ' ')
        FROM gates g WHERE g.run_id = r.run_id AND g.status = 'open'), 'decided') END AS gates,
    (SELECT count(*) FROM effects e WHERE e.run_id = r.run_id AND {DOUBTFUL}) AS in_doubt
    FROM runs r LEFT JOIN threads t ON t.thread_id = r.thread_id
    WHERE {_SELECTION} ORDER BY r.rowid DESC LIMIT :limit OFFSET :skipped"""
_COUNT = f"SELECT count(*) AS count FROM runs r WHERE {_SELECTION}"
_QUESTIONS = f"""SELECT r.run_id, r.thread_id, r.context FROM runs r WHERE {_ASKING}
    AND (:id IS NULL OR :id IN (r.thread_id, r.run_id)) ORDER BY r.rowid DESC"""
_JSON = ("thread_id", "run_id", "status", "in_doubt", "started_at", "ended_at", "title", "request")
ALL = 1 << 62  # more than there can be


def show_runs(workspace: Path, waiting: bool, page: Page, as_json: bool) -> int:
    """List a page of runs, the newest first, and say how many there are."""
    settings = load_trusted(workspace)
    rows, total = recorded_runs(settings, waiting, page), count_runs(settings, waiting)
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


def recorded_runs(settings: Settings, waiting: bool, page: Page | None = None) -> list[Report]:
    """Read the runs of a workspace, the newest first, all or a page; none when there is no store yet.

    Those that are `waiting` have an open gate, or ended with a question that is not older than a gate may be.
    A run that says `running` and that nobody works on is `interrupted`.
    """
    if not has_store(settings):
        return []
    place = {"limit": page.limit, "skipped": page.skipped} if page else {"limit": ALL, "skipped": 0}
    parameters = {"waiting": int(waiting), "since": _asked_since(settings)}
    rows = list(open_store(settings).query(_RUNS, {**parameters, **place}))
    left = interrupted(settings, rows)
    return [{**row, "status": "interrupted"} if row["run_id"] in left else row for row in rows]


def count_runs(settings: Settings, waiting: bool) -> int:
    """Count what `recorded_runs` would list."""
    if not has_store(settings):
        return 0
    parameters = {"waiting": int(waiting), "since": _asked_since(settings)}
    return int(next(open_store(settings).query(_COUNT, parameters))["count"])


def questions(settings: Settings, which: str | None) -> list[QuestionRow]:
    """List the runs that ended with a question which nobody has answered: of a thread, or all new ones."""
    since = "" if which else _asked_since(settings)
    which = which and full_name(settings, which)
    return list(read_rows(settings, _QUESTIONS, {"id": which, "since": since}))


def _asked_since(settings: Settings) -> str:
    """Say since when a question counts as waiting: as long as a gate would, and no run is held up by it."""
    return (now_of(settings) - timedelta(seconds=settings.sessions.gate_ttl_s)).isoformat()
