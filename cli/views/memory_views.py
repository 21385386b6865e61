"""What is remembered and what is proposed, as it is listed; read from the records, without an agent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.cli.views.open_store import has_store, open_store
from planwright.domain.errors import RunError
from planwright.presentation.rows import Report
from planwright.records.history.memory_pages import MemoryFilter, memory_page, proposal_rows
from planwright.records.memory_proposals import not_open
from planwright.settings.settings import Settings


def show_memories(workspace: Path, tenant: str, as_json: bool) -> int:
    """List memories, the newest first."""
    rows = memories(load_trusted(workspace), tenant)
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=2))
    elif rows:
        views.console().print(_table(rows, ("id", "created_at", "text", "tags")))
    else:
        print('nothing is remembered yet; for instance: planwright run "Remember that …"')
    return 0


def show_proposals(workspace: Path, tenant: str, everything: bool, as_json: bool) -> int:
    """List proposals, the newest first, and what the user said."""
    rows = proposals(load_trusted(workspace), tenant, everything=everything)
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=2))
    elif rows:
        views.console().print(_table(rows, ("id", "created_at", "status", "text", "why", "run_id")))
        print("planwright memory accept ID, or reject ID")
    else:
        print("no proposals")
    return 0


def memories(settings: Settings, tenant: str) -> list[Report]:
    """Read what is remembered, the newest first."""
    if not has_store(settings):
        return []
    return list(open_store(settings).read(memory_page, MemoryFilter(tenant)).rows)


def proposals(
    settings: Settings, tenant: str, *, everything: bool = False, run_id: str | None = None
) -> list[Report]:
    """Read what is proposed, the newest first: by all runs, or by one; or also what was decided on."""
    if not has_store(settings):
        return []
    wanted = MemoryFilter(tenant, run=run_id, every=everything)
    return open_store(settings).read(proposal_rows, wanted)


def find_proposal(settings: Settings, id_: str, tenant: str) -> Report:
    """Find a proposal that is open. Raises RunError when there is none of that name."""
    proposal = next((row for row in proposals(settings, tenant, everything=True) if row["id"] == id_), None)
    if proposal is None or proposal["status"] != "proposed":
        raise not_open(id_, proposal["status"] if proposal else None)
    return proposal


def find_memory(settings: Settings, id_: str, tenant: str) -> Report:
    """Find a memory. Raises RunError when there is none of that name."""
    for row in memories(settings, tenant):
        if row["id"] == id_:
            return row
    raise RunError(f"there is no memory {id_}", "list them: planwright memory ls")


def invitation(rows: Sequence[Report], where: str) -> str:
    """Say on one line what a run proposes to remember, and how to answer."""
    if len(rows) == 1:
        row = rows[0]
        return f"“{row['text']}”? planwright memory accept {row['id']}{where} (or reject)"
    return f"{len(rows)} things to remember are proposed: planwright memory proposals{where}"


def _table(rows: Sequence[Report], columns: Sequence[str]) -> Table:
    named = {"created_at": "when (UTC)", "run_id": "run"}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        whole = column in ("id", "run_id", "status")
        table.add_column(named.get(column, column), no_wrap=whole, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(column, row[column]) for column in columns))
    return table


def _cell(column: str, value: object) -> str:
    if column == "created_at":
        return str(value)[:16].replace("T", " ")
    return views.safe(", ".join(value) if isinstance(value, list) else str(value))
