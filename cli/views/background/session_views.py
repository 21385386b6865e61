"""Sessions as they are listed and shown. Reads only."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.cli.views.open_store import has_store, now_of, open_store
from planwright.cli.views.paging import Page
from planwright.cli.views.run_views import find_run
from planwright.domain.errors import RunError
from planwright.domain.run_context import read_context
from planwright.presentation.figures import UNIT_WORDS
from planwright.presentation.rows import Report
from planwright.records.history.session_pages import SessionFilter, session_page
from planwright.records.queue.progress import Progress, read_progress
from planwright.records.queue.session import Session
from planwright.settings.profile import in_force, with_more
from planwright.settings.settings import Settings

STYLES = {"in_progress": "cyan", "awaiting_gate": "yellow", "paused": "yellow", "completed": "green"}
"""Colours of states; one that is not here has ended badly, or has not begun."""
WATCH_S = 1.0


def show_sessions(workspace: Path, open_only: bool, page: Page, as_json: bool) -> int:
    """List a page of sessions, the newest first, and say how many there are."""
    settings = load_trusted(workspace)
    rows, total = _sessions(settings, open_only, page)
    if as_json:
        sessions = [session_json(session) for session in rows]
        print(json.dumps({"sessions": sessions, **page.counts(total)}, ensure_ascii=False, indent=2))
        return 0
    if rows:
        screen = views.console()
        screen.print(_table(rows, screen.width))
    elif not total:
        scope = "are open" if open_only else "yet"
        print(f'no sessions {scope}; begin one: planwright run --background "…"')
    command = f"planwright sessions ls{' --open' if open_only else ''}"
    if footer := page.footer(total, len(rows), "sessions", command):
        print(footer)
    return 0


def _sessions(settings: Settings, open_only: bool, page: Page) -> tuple[list[Session], int]:
    if not has_store(settings):
        return [], 0
    wanted = SessionFilter(open=open_only)
    read = open_store(settings).read(session_page, wanted, page.limit, page.skipped)
    return [row.session for row in read.rows], read.total


def session_json(session: Session) -> Report:
    """Spell a session as JSON."""
    return {"state": session.state, **session.model_dump(mode="json")}


def _table(sessions: list[Session], width: int) -> RenderableType:
    cells = [
        (
            session.thread_id,
            Text(state_words(session), STYLES.get(session.state, "")),
            _clock(session.requested_at),
            "" if session.ended_at else _clock(session.expires_at),
        )
        for session in sessions
    ]
    requests = [session.request for session in sessions]
    return views.requests_table(("thread", "state", "queued", "expires"), cells, requests, width)


def state_words(session: Session) -> str:
    """Name the state of a session in words."""
    return session.state.replace("_", " ")


def _clock(moment: datetime) -> str:
    """Spell a moment in UTC, to the minute."""
    return moment.astimezone(UTC).strftime("%m-%d %H:%M")


def show_session(thread: str, workspace: Path, as_json: bool) -> int:
    """Show how one session stands, how far it is, and what is left of its budget."""
    settings = load_trusted(workspace)
    session, progress = session_standing(settings, thread)
    if as_json:
        both = {**session_json(session), "progress": progress.model_dump(mode="json")}
        print(json.dumps(both, ensure_ascii=False, indent=2))
        return 0
    console = views.console()
    for name, text in facts(session, progress):
        console.print(views.label(name, text))
    return 0


def session_standing(settings: Settings, thread: str) -> tuple[Session, Progress]:
    """Read how a session stands and how far it is. Raises RunError for none, and for a run that is none."""
    run, store = find_run(settings, thread), open_store(settings)
    rows = store.read(session_page, SessionFilter(id=run["run_id"]), 1, 0).rows
    if not rows:
        cause = f"run {run['run_id']} was not begun in the background"
        raise RunError(cause, f"see it: planwright show {run['thread_id']}")
    profile = with_more(in_force(settings, read_context(rows[0].context)), rows[0].extended)
    progress = store.read(read_progress, run["run_id"], profile.limits, now_of(settings))
    return rows[0].session, progress


def facts(session: Session, progress: Progress) -> Iterator[tuple[str, str]]:
    """List what is worth knowing of a session, name by name."""
    yield "session", f"{session.run_id} on thread {session.thread_id}"
    yield "request", session.request
    yield "state", state_words(session) + (f" ({session.paused_for})" if session.paused_for else "")
    if session.schedule:
        yield "schedule", session.schedule
    yield "steps", f"{progress.completed} of {progress.total} ended" if progress.total else "no plan yet"
    if progress.current_step and not session.ended_at:
        yield "next step", progress.current_step
    if progress.awaiting_gate:
        yield "gate", f"{progress.awaiting_gate}: planwright approve {progress.awaiting_gate}"
    left = {unit: amount for unit, amount in progress.budget_remaining.items() if amount is not None}
    if left:
        yield "left", ", ".join(f"{amount:,.10g} {UNIT_WORDS[unit]}" for unit, amount in left.items())
    if not session.ended_at:
        yield "expires", f"{_clock(session.expires_at)} UTC"
    if session.breaks:
        yield "broke off", f"{session.breaks} times"


def watch_session(thread: str, workspace: Path, as_json: bool) -> int:
    """Print how far a session is whenever that changes, until it stands still."""
    settings, last = load_trusted(workspace), ("", "")
    while True:
        session, progress = session_standing(settings, thread)
        if (seen := (progress.progress_id, session.state)) != last:  # its end may come between the two reads
            last = seen
            text = progress.model_dump_json() if as_json else _line(session, progress)
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        if session.state not in ("queued", "in_progress"):
            return 0
        time.sleep(WATCH_S)


def _line(session: Session, progress: Progress) -> str:
    """Sum up one moment of a session on a line."""
    step = f", at {progress.current_step}" if progress.current_step and not session.ended_at else ""
    gate = f", waits at {progress.awaiting_gate}" if progress.awaiting_gate else ""
    return f"{state_words(session)}: {progress.completed} of {progress.total} steps{step}{gate}"
