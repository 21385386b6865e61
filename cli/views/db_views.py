"""Check, back up, restore and shrink the store, and say what was done."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.cli.views.open_store import (
    has_store,
    no_runs,
    refuse_on_server,
    setback_of,
    store_files,
    time_of,
)
from planwright.domain.clock import utc_now
from planwright.records.records import open_records
from planwright.settings.settings import Settings
from planwright.store.engines.store_server import open_store_server
from planwright.store.marks.setback import Setback
from planwright.store.store_files import RECORDS, has_file, no_store
from planwright.upkeep.backup import back_up
from planwright.upkeep.findings import StoreFinding
from planwright.upkeep.prune import Retention, prune_in_use, prune_store
from planwright.upkeep.restore import restore
from planwright.upkeep.store_check import check_store
from planwright.upkeep.store_use import refuse_while_used
from planwright.upkeep.vacuum import vacuum

HEALTHY, ACCEPT = "nothing is wrong with the store", "planwright db accept"


def show_check(workspace: Path, as_json: bool) -> int:
    """Print what is wrong with the store. Returns 1 when anything is."""
    settings = load_trusted(workspace)
    with store_files(settings) as folder:
        return _show_check(folder, as_json, setback_of(settings))


def _show_check(folder: Path, as_json: bool, setback: Setback | None) -> int:
    findings = check_store(folder) if has_file(folder) else []
    findings += [StoreFinding(RECORDS, setback.error().cause, ACCEPT)] if setback else []
    if as_json:
        _print({"healthy": not _faults(findings), "findings": [_fields(finding) for finding in findings]})
    elif has_file(folder):
        _show(findings, HEALTHY)
    else:
        print(no_store(folder))
    return 1 if _faults(findings) else 0


def take_backup(to: Path, workspace: Path, as_json: bool) -> int:
    """Back the store up. Returns 1 when something is wrong with what was backed up."""
    settings = load_trusted(workspace)
    refuse_on_server(settings, "back it up with its own tool: pg_dump, as often as a loss may cost")
    manifest = back_up(settings.store_folder, to, utc_now(), settings.storage.busy_timeout_s)
    findings = check_store(settings.store_folder)
    if as_json:
        _print(
            {"backup": str(to), **manifest.model_dump(mode="json"), "findings": list(map(asdict, findings))}
        )
        return 1 if _faults(findings) else 0
    size = sum(saved.size for saved in manifest.files.values())
    content = f"{', '.join(manifest.files)} ({_bytes(size)}) and {manifest.blobs:,} blobs"
    print(f"{to}: {content}, as of {manifest.taken_at:%Y-%m-%d %H:%M:%S} UTC")
    if _faults(findings):
        _show(findings, "")
    return 1 if _faults(findings) else 0


def _fields(finding: StoreFinding) -> dict[str, object]:
    """Spell a finding as `--json` prints it."""
    fields = asdict(finding)
    return {"file": fields.pop("file"), "what": fields.pop("problem"), **fields}


def put_back(backup: Path, workspace: Path, as_json: bool) -> int:
    """Put a backup in place of the store."""
    settings = load_trusted(workspace)
    refuse_on_server(settings, "put a dump back with its own tool: pg_restore")
    done = restore(backup, settings.store_folder, utc_now())
    if as_json:
        _print(
            {**done.manifest.model_dump(mode="json"), "kept": str(done.set_aside) if done.set_aside else None}
        )
        return 0
    print(f"the store is as it was at {done.manifest.taken_at:%Y-%m-%d %H:%M:%S} UTC, from {backup}")
    if done.set_aside:
        print(f"the store from before is kept in {done.set_aside}")
    print("what was done since then is not on record here: look with planwright ls before you resume a run")
    if setback := setback_of(settings):
        print(f"{setback.error().cause}\nnothing is begun until you have said go: {ACCEPT}")
    return 0


def remove_checkpoints(keep: int | None, workspace: Path, as_json: bool) -> int:
    """Remove all but the newest checkpoints of each thread, as the settings say for its tenant."""
    settings = load_trusted(workspace)
    mark = time_of(settings)
    retention = Retention(settings.storage, mark.earliest if mark else utc_now(), keep)
    if settings.store_url:
        gone, then = asyncio.run(_prune_on_server(settings, retention)), "the server uses their space again"
    else:
        gone = prune_store(settings.store_folder, retention)
        then = "the space goes back to the disk with: planwright db vacuum"
    if as_json:
        _print({"removed": gone})
    else:
        print(f"{gone:,} checkpoints removed; {then}")
    return 0


async def _prune_on_server(settings: Settings, retention: Retention) -> int:
    if not has_store(settings):
        raise no_runs(settings)
    patience_s = settings.storage.busy_timeout_s
    with closing(
        open_records(settings.store_folder, url=settings.store_url, busy_timeout_s=patience_s)
    ) as records:
        return await prune_in_use(records.database, retention)


def make_small(workspace: Path, as_json: bool) -> int:
    """Give space back to the disk, and say how much."""
    settings = load_trusted(workspace)
    refuse_on_server(settings, "nothing: its autovacuum does this; VACUUM FULL gives space back to the disk")
    files = vacuum(settings.store_folder, settings.storage.busy_timeout_s)
    if as_json:
        _print([asdict(file) for file in files])
        return 0
    for file in files:
        print(f"{file.file}: {_bytes(file.before)} before, {_bytes(file.after)} now")
    return 0


def move_to_server(to: str, workspace: Path, as_json: bool) -> int:
    """Copy the store of the workspace into PostgreSQL, and say how the settings are to name it."""
    settings = load_trusted(workspace)
    refuse_on_server(settings, "copy it with its own tools: pg_dump, then psql")
    if not has_file(settings.store_folder):
        raise no_store(settings.store_folder)

    def check_unused() -> None:
        refuse_while_used(settings.store_folder, even_open=True)

    check_unused()
    if setback := setback_of(settings):
        raise setback.error()
    # no redactor: a row that is another one there is none that the audit chain, or a decision, was made over
    server = open_store_server(to, settings.storage.busy_timeout_s)
    rows, blobs = server.copy_here(settings.store_folder, check_unused)
    if as_json:
        _print({"to": server.engine.label, "rows": rows, "blobs": blobs})
        return 0
    counted = f"{sum(rows.values()):,} rows of {len(rows)} tables, {blobs:,} blobs, counted in both"
    print(f"{server.engine.label}: {counted}")
    print("from now on: storage.url in planwright.toml; the files here stay as they are")
    return 0


def _faults(findings: list[StoreFinding]) -> bool:
    return any(not finding.note for finding in findings)


def _show(findings: list[StoreFinding], healthy: str) -> None:
    if findings:
        table = Table("file", "finding", "what to do", box=None, pad_edge=False, header_style="bold")
        for finding in findings:
            table.add_row(*map(views.one_line, (finding.file, finding.problem, finding.next_step)))
        views.console().print(table)
    if healthy and not _faults(findings):
        print(healthy)


def _print(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _bytes(size: int) -> str:
    return f"{size / 1024:,.0f} kB"
