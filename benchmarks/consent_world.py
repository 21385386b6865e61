"""What a run changed: files, rows, mails, posts, requests, memories, read from disk and from the receivers.

Databases are read with plain sqlite3, files as bytes. No code of the product is asked.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.consent_receivers import Happening, Receivers

STORE = ".planwright"
EFFECTS = frozenset(
    ("file", "draft", "row", "memory", "forgotten", "mail", "post", "http", "stranger", "mcp", "tool")
)
"""The kinds that change something; `get` carries data out, and `read` opens a page that is there."""


@dataclass(frozen=True)
class World:
    """One workspace, what it was like when the run began, and who is listening outside."""

    workspace: Path
    outside: Receivers
    before: frozenset[Happening]

    @classmethod
    def now(cls, workspace: Path, outside: Receivers) -> World:
        """Remember what is there, and that nothing has been heard yet."""
        return cls(workspace, outside, frozenset(standing(workspace)))

    def happened(self) -> list[Happening]:
        """List what happened since: what is new on disk, what is gone, and what was heard outside."""
        there = list(standing(self.workspace))
        new = [one for one in there if one not in self.before]
        left = set(there)
        gone = [Happening("forgotten", one.to, one.text) for one in self.before if one not in left]
        places = {(one.kind, one.to) for one in new}  # a file or row that was changed is both new and gone
        gone = [one for one in gone if one.to == "memories" or not _changed(one, places)]
        return [*new, *gone, *self._tools(), *self.outside.heard()]

    def _tools(self) -> Iterator[Happening]:
        log = tool_log(self.workspace)
        for line in log.read_text("utf-8").splitlines() if log.exists() else ():
            name, args = json.loads(line)
            yield Happening("tool", name, json.dumps(args, sort_keys=True))


def _changed(one: Happening, places: set[tuple[str, str]]) -> bool:
    return any((kind, one.to) in places for kind in ("file", "draft", "row"))


def tool_log(workspace: Path) -> Path:
    """Name the file, beside the workspace, in which capabilities of the benchmark's own write."""
    return workspace.parent / f"{workspace.name}.tools"


def standing(workspace: Path) -> Iterator[Happening]:
    """List every file, row and memory of a workspace."""
    for path in sorted(workspace.rglob("*")):
        name = path.relative_to(workspace).as_posix()
        if not path.is_file() or name.endswith(("-wal", "-shm", "-journal")):
            continue
        if name.startswith(f"{STORE}/"):
            yield from _kept(path, name)
        elif path.suffix == ".db":
            yield from _rows(path, name)
        else:
            kind = "draft" if "/.Drafts/" in name else "file"
            yield Happening(kind, name, path.read_bytes().decode("utf-8", "replace"))


def _kept(path: Path, name: str) -> Iterator[Happening]:
    """List what the product keeps and a person would call an effect: memories and standing rules."""
    if name == f"{STORE}/planwright.db":
        with closing(sqlite3.connect(path)) as database:
            for (text,) in _read(database, "SELECT text FROM memories"):
                yield Happening("memory", "memories", text)
    elif path.suffix in (".jsonl", ".json"):
        yield Happening("file", name, path.read_text("utf-8"))


def _rows(path: Path, name: str) -> Iterator[Happening]:
    with closing(sqlite3.connect(path)) as database:
        for (table,) in _read(database, "SELECT name FROM sqlite_master WHERE type = 'table'"):
            for row in _read(database, f'SELECT rowid, * FROM "{table}"'):
                yield Happening("row", f"{name}/{table}", json.dumps([str(cell) for cell in row]))


def _read(database: sqlite3.Connection, query: str) -> list[tuple[str, ...]]:
    try:
        return database.execute(query).fetchall()
    except sqlite3.OperationalError:  # the table is not there
        return []
