"""What the audit chain says of the store, on the screen or in a file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.cli.views.open_store import has_store, no_runs, read_server
from planwright.domain.errors import SetupError
from planwright.records.audit.anchor import read_anchors
from planwright.records.audit.verification import verify_chain
from planwright.records.history.run_outcomes import open_run_count
from planwright.settings.settings import Settings
from planwright.store.audit_chain import entries
from planwright.store.migrations import MIGRATIONS
from planwright.store.store_errors import BROKEN, refuse_other, store_error, store_version
from planwright.store.store_files import RECORDS, read_only

MOST_PRINTED = 50  # findings on the screen; --json has all


def show_verification(anchor: Path | None, workspace: Path, as_json: bool) -> int:
    """Print what is not as it was recorded. Returns 1 where anything is."""
    settings = load_trusted(workspace)
    file = anchor or settings.audit.anchor
    anchors = read_anchors(file) if file is not None else []
    with closing(open_records_file(settings)) as connection:
        findings, count = verify_chain(connection, anchors)
        unfinished = open_run_count(connection)
    if as_json:
        report = {
            "verified": not findings,
            "entries": count,
            "anchors": len(anchors),
            "open_runs": unfinished,
        }
        print(json.dumps({**report, "findings": [asdict(finding) for finding in findings]}, indent=2))
        return 1 if findings else 0
    screen = views.console()
    for finding in findings[:MOST_PRINTED]:
        where = finding.run_id or "chain"
        screen.print(views.label("changed", f"{where}: {finding.problem}", "red"))
    if len(findings) > MOST_PRINTED:
        screen.print(views.label("", f"and {len(findings) - MOST_PRINTED:,} more: --json"))
    screen.print(views.label("chain", f"{count:,} entries, {len(findings) or 'no'} findings"))
    if unfinished:
        have = "run has" if unfinished == 1 else "runs have"
        text = f"{unfinished} {have} not ended: of such, answers and effects are in the chain"
        screen.print(views.label("open", text))
    if not anchors:
        text = "none: nobody can tell whether the newest entries were cut off; set [audit] anchor"
        screen.print(views.label("anchor", text, "yellow"))
    return 1 if findings else 0


def export_chain(to: Path, workspace: Path) -> int:
    """Write each entry to a line of a new file. Raises SetupError where the file is there."""
    with closing(open_records_file(load_trusted(workspace))) as connection:
        try:
            with to.open("x", encoding="utf-8") as file:
                lines = [
                    asdict(entry) | {"content": json.loads(entry.content)} for entry in entries(connection)
                ]
                file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        except OSError as error:
            raise SetupError(f"{to} cannot be written: {error.strerror}", "name a new file") from error
    views.console().print(views.label("written", f"{len(lines):,} entries to {to}"))
    return 0


def open_records_file(settings: Settings) -> sqlite3.Connection:
    """Open the records as they are, for reading. Raises RunError for none, SetupError for other versions."""
    path = settings.store_folder / RECORDS
    if not has_store(settings):
        raise no_runs(settings)
    if settings.store_url:
        return read_server(settings)
    with ExitStack() as undo:
        try:
            connection = undo.enter_context(closing(read_only(path)))
            connection.row_factory = sqlite3.Row
            refuse_other(path, connection, len(MIGRATIONS))
            if not store_version(connection):
                raise no_runs(settings)
        except BROKEN as error:
            raise store_error(path, error) from error
        undo.pop_all()
    return connection
