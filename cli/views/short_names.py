"""Short names of runs, threads and gates: the beginning of an id, or `last` for the newest."""

from __future__ import annotations

from planwright.cli.views.open_store import has_store, open_store
from planwright.domain.errors import RunError
from planwright.records.history.short_ids import Kind, ids_beginning, newest_id
from planwright.settings.settings import Settings

LAST = "last"
SHORTEST = 4  # characters of an id: fewer are more likely a mistake
SHORT = 8  # characters of an id that is shown short
MOST = 5  # ids that are listed where a short name fits several


def full_name(settings: Settings, name: str) -> str:
    """Spell the id of a run or thread out. Raises RunError for the beginning of several.

    What is neither `last` nor the beginning of an id stays as it is, for who looks it up to refuse.
    """
    return _whole_id(settings, name, "run", "planwright ls")


def full_gate_name(settings: Settings, name: str | None) -> str | None:
    """Spell the id of an open gate out, or of the thread that waits at it; None for none. Raises RunError."""
    if name is None:
        return None
    return _whole_id(settings, name, "gate", "planwright ls --waiting")


def short_name(settings: Settings, id_: str) -> str:
    """Shorten the id of a run or thread to its beginning, where that is the beginning of no other."""
    beginning = id_[:SHORT]
    ids = open_store(settings).read(ids_beginning, "run", beginning, 2)
    return beginning if len(ids) == 1 else id_


def _whole_id(settings: Settings, name: str, kind: Kind, command: str) -> str:
    if not has_store(settings) or (len(name) < SHORTEST and name != LAST):
        return name
    if name == LAST:
        return open_store(settings).read(newest_id, kind) or name
    ids = open_store(settings).read(ids_beginning, kind, name, MOST + 1)
    if len(ids) < 2 or name in ids:
        return ids[0] if len(ids) == 1 else name
    more = ", …" if len(ids) > MOST else ""
    raise RunError(
        f"{name} is the beginning of several: {', '.join(ids[:MOST])}{more}", f"see all: {command}"
    )
