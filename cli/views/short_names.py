"""Short names of runs, threads and gates: the beginning of an id, or `last` for the newest."""

from __future__ import annotations

from planwright.cli.views.open_store import has_store, read_rows
from planwright.domain.errors import RunError
from planwright.settings.settings import Settings

LAST = "last"
SHORTEST = 4  # characters of an id: fewer are more likely a mistake
SHORT = 8  # characters of an id that is shown short
MOST = 5  # ids that are listed where a short name fits several
_STARTS = "substr({id}, 1, length(:name)) = :name"
_RUNS = f"""SELECT run_id AS id FROM runs WHERE {_STARTS.format(id="run_id")}
    UNION SELECT thread_id FROM runs WHERE {_STARTS.format(id="thread_id")} LIMIT {MOST + 1}"""
_GATES = f"""SELECT gate_id AS id FROM gates WHERE status = 'open' AND {_STARTS.format(id="gate_id")}
    UNION SELECT thread_id FROM gates WHERE status = 'open' AND {_STARTS.format(id="thread_id")}
    LIMIT {MOST + 1}"""
_NEWEST_RUN = "SELECT thread_id AS id FROM runs ORDER BY rowid DESC LIMIT 1"
_NEWEST_GATE = "SELECT gate_id AS id FROM gates WHERE status = 'open' ORDER BY rowid DESC LIMIT 1"


def full_name(settings: Settings, name: str) -> str:
    """Spell the id of a run or thread out. Raises RunError for the beginning of several.

    What is neither `last` nor the beginning of an id stays as it is, for who looks it up to refuse.
    """
    return _spelled_out(settings, name, _NEWEST_RUN, _RUNS, "planwright ls")


def full_gate_name(settings: Settings, name: str | None) -> str | None:
    """Spell the id of an open gate out, or of the thread that waits at it; None for none. Raises RunError."""
    if name is None:
        return None
    return _spelled_out(settings, name, _NEWEST_GATE, _GATES, "planwright ls --waiting")


def short_name(settings: Settings, id_: str) -> str:
    """Shorten the id of a run or thread to its beginning, where that is the beginning of no other."""
    beginning = id_[:SHORT]
    ids = [row["id"] for row in read_rows(settings, _RUNS, {"name": beginning})]
    return beginning if len(ids) == 1 else id_


def _spelled_out(settings: Settings, name: str, newest: str, beginning: str, command: str) -> str:
    if not has_store(settings) or (len(name) < SHORTEST and name != LAST):
        return name
    if name == LAST:
        return next((str(row["id"]) for row in read_rows(settings, newest, {})), name)
    ids = [str(row["id"]) for row in read_rows(settings, beginning, {"name": name})]
    if len(ids) < 2 or name in ids:
        return ids[0] if len(ids) == 1 else name
    more = ", …" if len(ids) > MOST else ""
    raise RunError(
        f"{name} is the beginning of several: {', '.join(ids[:MOST])}{more}", f"see all: {command}"
    )
