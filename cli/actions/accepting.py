"""Let a store that went back go on: who says so has seen which effects it lacks, and is put on record."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

from rich.table import Table

from planwright.cli.session.logs import load_logged
from planwright.cli.views import rendering as views
from planwright.cli.views.open_store import has_store, no_runs, setback_of
from planwright.records.records import open_records
from planwright.security.credentials import login_name
from planwright.store.marks.setback import Setback

WAITS = 3
"""Exit code where a person has to decide."""


def accept_setback(id_: str | None, workspace: Path, as_json: bool) -> int:
    """Show what the store lacks, or with the id of that let it go on without. Returns the exit code."""
    settings = load_logged(workspace)
    if not has_store(settings):
        raise no_runs(settings)
    if id_ is None:
        return _show(setback_of(settings), as_json)
    with closing(open_records(settings.store_folder, url=settings.store_url)) as records:
        setback, doubted = records.database.call(
            "accept", lambda connection: records.mark.accept(connection, id_, login_name())
        )
    if as_json:
        print(json.dumps({"accepted": setback.id, "in_doubt": [effect.key for effect in doubted]}))
        return 0
    print(f"the store goes on without {setback.count}; that you said so is in the audit chain")
    if doubted:
        print(f"{len(doubted)} of open runs are in doubt now: you are asked about each when its run goes on")
        for thread in dict.fromkeys(effect.thread_id for effect in doubted):
            print(f"  planwright resume {thread}")
    return 0


def _show(setback: Setback | None, as_json: bool) -> int:
    if setback is None:
        print("null" if as_json else "the store lacks nothing that was begun")
        return 0
    if as_json:
        content = {"id": setback.id, **setback.model_dump(mode="json")}
        print(json.dumps(content, ensure_ascii=False, indent=2))
    else:
        _print(setback)
    return WAITS


def _print(setback: Setback) -> None:
    print(f"the store has gone back: it lacks {setback.count}")
    names = ("begun (UTC)", "capability", "thread", "run", "key")
    table = Table(*names, box=None, pad_edge=False, header_style="bold")
    for effect in setback.effects:
        when = effect.intended_at[:19].replace("T", " ")
        cells = (when, effect.capability, effect.thread_id, effect.run_id, effect.sent_key)
        table.add_row(*map(views.one_line, cells))
    if setback.effects:
        views.console().print(table)
    print(
        "They may have happened: ask their receivers. Nothing is begun until the store has them, or you say"
    )
    print(
        "go. To put a newer store in place: planwright db restore BACKUP. To go on without them, and be asked"
    )
    print(f"about each by its run, if that is open: planwright db accept {setback.id}")
