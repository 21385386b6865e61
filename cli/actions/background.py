"""Runs in the background: begin one, and ask something of it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from planwright.cli.session.logs import load_logged
from planwright.cli.views.open_store import has_store, no_runs
from planwright.cli.views.rendering import where_option
from planwright.cli.views.short_names import full_name
from planwright.domain.errors import SetupError
from planwright.domain.run_context import RunContext
from planwright.presentation.figures import UNIT_WORDS
from planwright.records.extensions import UNITS
from planwright.records.records import Records, open_records
from planwright.records.runs import Run
from planwright.security.credentials import login_name
from planwright.security.redaction.known_secrets import redactor_of
from planwright.settings.settings import Settings


def queue_request(
    request: str, workspace: Path, thread: str | None, options: RunContext, as_json: bool
) -> int:
    """Queue a run, and say who takes it up."""
    from planwright.graph.building import build_graph

    settings = load_logged(workspace)
    where = where_option(settings.workspace)
    with build_graph(settings) as agent:
        config = agent.enqueue(
            request, thread_id=thread, context=replace(options, channel="cli", requested_by=login_name())
        )
        workers = agent.loop.call(agent.stores.workers.living)
    thread_id = str(config["configurable"]["thread_id"])
    if as_json:
        print(json.dumps({"thread_id": thread_id, "status": "queued", "workers": len(workers)}))
        return 0
    print(f"queued: planwright sessions watch {thread_id}{where}")
    if not workers:
        sys.stderr.write(f"nobody takes it up yet; begin: planwright worker{where}\n")
    return 0


def pause_session(thread: str, workspace: Path) -> int:
    """Ask a run to pause, and say whether it does already."""
    with _opened(workspace) as (settings, records):
        which = full_name(settings, thread)
        run = asyncio.run(records.sessions.pause(which, login_name()))
        paused = run.status == "paused"
    print(f"{run.run_id} is paused" if paused else f"{run.run_id} pauses when what runs now has ended")
    print(f"go on: planwright sessions resume {run.thread_id}")
    return 0


def resume_session(thread: str, workspace: Path) -> int:
    """Queue a paused session again."""
    with _opened(workspace) as (settings, records):
        which = full_name(settings, thread)
        run = asyncio.run(records.sessions.resume(which, login_name()))
    print(f"{run.run_id} is queued again")
    return 0


def extend_session(thread: str, workspace: Path, amounts: Mapping[str, float]) -> int:
    """Give a run more of what it is limited in. Raises SetupError for nothing."""
    more = {unit: amounts[unit] for unit in UNITS if amounts.get(unit)}
    if not more:
        raise SetupError("nothing is given", "say what: planwright sessions extend THREAD --tokens 50000")
    with _opened(workspace) as (settings, records):
        which = full_name(settings, thread)
        run: Run = asyncio.run(records.sessions.extend(which, more, login_name()))
    words = ", ".join(f"{amount:g} more {UNIT_WORDS[unit]}" for unit, amount in more.items())
    print(f"{run.run_id} may use {words}")
    if run.status == "budget_exceeded":
        print(f"go on: planwright resume {run.thread_id}")
    return 0


@contextmanager
def _opened(workspace: Path) -> Iterator[tuple[Settings, Records]]:
    """Open the records of a workspace. Raises RunError where there are none."""
    settings = load_logged(workspace)
    if not has_store(settings):
        raise no_runs(settings)
    patience_s, redactor = settings.storage.busy_timeout_s, redactor_of(settings)
    with closing(
        open_records(
            settings.store_folder, busy_timeout_s=patience_s, redactor=redactor, url=settings.store_url
        )
    ) as records:
        yield settings, records
