"""`audit`: change one thing in a store that real runs have left, again and again, and look for it.

Each of 1,000 edits is made in a copy of a store, with the triggers gone: a value, a row, or an entry of the
chain. `audit verify` has to find it, and to name the run or the entry. Before that, the stores have to verify
and each of their runs has to replay equal. Prints a table, writes `audit.json`, and exits with 1 on a miss.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.counted_stage import quick_folder
from benchmarks.simulated_trial import play
from planwright.extras.audit.replay import replay_run
from planwright.records.audit.verification import verify_chain
from planwright.store.audit_chain import head
from planwright.store.blobs import Blobs
from planwright.store.sealed_rows import TABLES

EDITS, STORES = 1000, 1000
RESULTS = Path("audit.json")
CHAIN = ("n", "tenant", "run_id", "kind", "subject", "content", "at", "prev_hash", "hash")


@dataclass(frozen=True)
class Edit:
    """One edit of a store, and whether it was found."""

    kind: str
    """What was changed, as `gates.status`, `effects removed` or `audit.content`."""
    found: bool
    """Whether a finding names the run, or the entry of the chain."""
    detail: str
    """Which row it was, and the first finding."""


def make_stores(folder: Path, count: int) -> list[Path]:
    """Play simulated runs, with kills and failing disks; return the databases that they leave."""
    for seed in range(count):
        played = play(seed, folder / str(seed))
        assert not played.wrong, played.wrong
    return sorted(folder.rglob("planwright.db"))


def replay_all(stores: Sequence[Path]) -> tuple[int, list[str]]:
    """Replay every run, and verify every store; return how many runs, and what differs."""
    runs, wrong = 0, list[str]()
    for path in stores:
        with closing(_open(path)) as connection:
            wrong += [finding.problem for finding in verify_chain(connection, [head(connection)])[0]]
            for (run_id,) in connection.execute("SELECT run_id FROM runs").fetchall():
                runs += 1
                wrong += replay_run(connection, Blobs(path.parent / "blobs"), run_id).differences
    return runs, wrong


def play_edit(path: Path, copy: Path, dice: random.Random) -> Edit | None:
    """Make one edit in a copy of a store, and verify it; None where there is nothing to change."""
    shutil.copy(path, copy)
    with closing(_open(copy)) as connection:
        anchor = head(connection)
        _drop_triggers(connection)
        done = (_edit_chain if dice.random() < 0.2 else _edit_row)(connection, dice)
        if done is None:
            return None
        kind, name = done
        connection.commit()
        findings, _ = verify_chain(connection, [anchor])
    texts = [f"{finding.run_id}: {finding.problem}" for finding in findings]
    named = [text for text in texts if name in text or "entry" in text or "entries" in text]
    return Edit(kind, bool(named), f"{name}: {(texts or ['nothing'])[0]}")


def _edit_row(connection: sqlite3.Connection, dice: random.Random) -> tuple[str, str] | None:
    table = dice.choice(list(TABLES.values()))
    rows = connection.execute(f"SELECT rowid AS n, * FROM {table.name}").fetchall()
    if not rows:
        return None
    row = dice.choice(rows)
    way, run_id = dice.choice(("value", "value", "value", "removed", "added")), row["run_id"]
    if way == "removed":
        connection.execute(f"DELETE FROM {table.name} WHERE rowid = ?", (row["n"],))
        return f"{table.name} removed", run_id
    if way == "added":
        new = {name: row[name] for name in row.keys() if name != "n"}  # noqa: SIM118 - a sqlite3.Row
        new[table.key] = _other(row[table.key], dice) if table.name != "journal" else 10_000
        new |= {"key": "forged"} if table.name == "journal" else {}
        if table.key == "run_id":
            return None  # a run without rows of its own is no edit of a run on record
        _insert(connection, table.name, new)
        return f"{table.name} added", run_id
    column = dice.choice([name for name in table.columns if name not in ("run_id", table.key)] or [table.key])
    if column == table.key:
        return None
    value = _other(row[column], dice)
    connection.execute(f"UPDATE {table.name} SET {column} = ? WHERE rowid = ?", (value, row["n"]))
    return f"{table.name}.{column}", run_id


def _edit_chain(connection: sqlite3.Connection, dice: random.Random) -> tuple[str, str] | None:
    rows = connection.execute("SELECT * FROM audit").fetchall()
    if not rows:
        return None
    row, column = dice.choice(rows), dice.choice((*CHAIN, "removed", "removed"))
    if column == "removed":
        connection.execute("DELETE FROM audit WHERE n = ?", (row["n"],))
        return "audit removed", f"entry {row['n']}"
    value = row["n"] + 1000 if column == "n" else _other(row[column], dice)
    connection.execute(f"UPDATE audit SET {column} = ? WHERE n = ?", (value, row["n"]))
    return f"audit.{column}", f"entry {row['n']}"


def _other(value: object, dice: random.Random) -> object:
    """Change a value a little: one character, one unit, or what was not there."""
    if value is None:
        return "forged"
    if isinstance(value, int | float):
        return value + dice.choice((1, -1))
    text = str(value)
    if not text:
        return "x"
    place = dice.randrange(len(text))
    letter = dice.choice([c for c in "0aZ_" if c != text[place]])
    return text[:place] + letter + text[place + 1 :]


def _insert(connection: sqlite3.Connection, table: str, row: dict[str, object]) -> None:
    marks = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    return connection


def _drop_triggers(connection: sqlite3.Connection) -> None:
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")


def play_edits(stores: Sequence[Path], count: int, folder: Path) -> Iterator[Edit]:
    """Make so many edits, each in a copy of its own."""
    number = seed = 0
    while number < count:
        dice = random.Random(seed)
        seed += 1
        if edit := play_edit(dice.choice(list(stores)), folder / "edited.db", dice):
            number += 1
            yield edit


def main() -> int:
    """Play, print and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--edits", type=int, default=EDITS)
    parser.add_argument("--stores", type=int, default=STORES)
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="audit-", dir=quick_folder()) as name:
        stores = make_stores(Path(name), options.stores)
        runs, wrong = replay_all(stores)
        edits = list(play_edits(stores, options.edits, Path(name)))
    missed = [edit for edit in edits if not edit.found]
    kinds = Counter(edit.kind for edit in edits)
    table = Table("runs", "replayed equal", "edits", "kinds", "found")
    table.add_row(*map(str, (runs, runs - len(wrong), len(edits), len(kinds), len(edits) - len(missed))))
    console = Console()
    console.print(table)
    for line in [*wrong, *(f"missed {edit.kind}: {edit.detail}" for edit in missed)][:20]:
        console.print(line, markup=False)
    figures = {"runs": runs, "wrong": wrong, "edits": len(edits), "kinds": dict(kinds), "missed": len(missed)}
    options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return int(bool(wrong or missed))


if __name__ == "__main__":
    sys.exit(main())
