"""Cancel a run from a terminal, by its records alone."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

from planwright.cli.session.logs import load_logged
from planwright.cli.views.open_store import has_store
from planwright.cli.views.short_names import full_name
from planwright.domain.errors import RunError
from planwright.records.ownership.cancelling import cancel
from planwright.records.records import open_records
from planwright.records.runs import Run
from planwright.security.credentials import login_name
from planwright.security.redaction.known_secrets import redactor_of


def stop(which: str, workspace: Path) -> int:
    """Cancel a run by plan, run or thread id, and say whether it has ended. Raises RunError for none."""
    settings = load_logged(workspace)
    if not has_store(settings):
        raise RunError(f"there are no runs in {settings.workspace} yet", 'begin one: planwright run "…"')
    which = full_name(settings, which)
    patience_s, redactor = settings.storage.busy_timeout_s, redactor_of(settings)
    folder, url = settings.store_folder, settings.store_url
    with closing(open_records(folder, busy_timeout_s=patience_s, redactor=redactor, url=url)) as records:
        run = asyncio.run(cancel(records, which, login_name()))
        print(outcome_text(run, busy=records.leases.is_leased(run)))
    return 0


def outcome_text(run: Run, *, busy: bool) -> str:
    """Say what has become of a run that was cancelled."""
    if run.ended:
        return f"{run.run_id} {run.status}"
    if busy:
        return f"{run.run_id} is being cancelled; running calls finish first"
    return (
        f"{run.run_id} is to be cancelled, and its process died in the middle of an effect: "
        f"planwright resume {run.thread_id} ends it, and says what you have to decide"
    )
