"""Plans of built-in calls that read and write the same few things in any order, with references."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

Step = dict[str, Any]
FILES = ("a.md", "b.md", "notes/a.md", "notes/c.md", "./notes//c.md")
FOLDERS = (".", "notes", "others")
WORDS = ("alpha", "beta", "gamma", "delta")
TABLES = ("stock", "price")
DATABASE = "data.db"


@dataclass
class Draft:
    """A plan that is being written; `texts` are references to texts, and `counts` to numbers."""

    random: Random
    steps: list[Step] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    counts: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def word(self) -> str:
        """Choose a word of few, so that steps meet."""
        return self.random.choice(WORDS)

    def text(self) -> str:
        """Write a text, often with what an earlier step brings."""
        text = f"{self.word()} {len(self.steps)}"
        known = [*self.texts, *self.counts]
        return f"{text} after {self.random.choice(known)}" if known and self.random.random() < 0.5 else text

    def path(self) -> str:
        """Choose a file, now and then one that only an earlier step names."""
        known = [*self.paths, *(f"notes/{count}.md" for count in self.counts)]
        if known and self.random.random() < 0.15:
            return self.random.choice(known)
        return self.random.choice(FILES)


def written_plan(random: Random, most: int) -> list[Step]:
    """Write a plan of two to `most` steps; some say what they depend on, always on earlier steps."""
    draft = Draft(random)
    for number in range(1, random.randint(2, most) + 1):
        id_ = f"s{number}"
        capability, params, brings = random.choice(KINDS)(draft)
        earlier = [step["id"] for step in draft.steps]
        depends = [random.choice(earlier)] if earlier and random.random() < 0.15 else []
        draft.steps.append({"id": id_, "capability": capability, "params": params, "depends_on": depends})
        for name, paths in brings.items():
            known: list[str] = getattr(draft, name)
            known += [f"{{{{steps.{id_}.output.{path}}}}}" for path in paths]
    return draft.steps


Call = tuple[
    str, dict[str, Any], dict[str, list[str]]
]  # what is called with what, and what others may use of it
Kind = Callable[[Draft], Call]


def _write(draft: Draft) -> Call:
    params = {"path": draft.path(), "text": draft.text()}
    return "files.write", params, {"paths": ["path"], "counts": ["bytes"]}


def _read(draft: Draft) -> Call:
    path = "c.md" if draft.random.random() < 0.2 else draft.path()
    return "files.read", {"path": path}, {"texts": ["text"], "paths": ["path"]}


def _list(draft: Draft) -> Call:
    return "files.list", {"path": draft.random.choice(FOLDERS)}, {"counts": ["count"]}


def _search(draft: Draft) -> Call:
    return (
        "files.search",
        {"query": draft.word(), "path": draft.random.choice(FOLDERS)},
        {"counts": ["count"]},
    )


def _document(draft: Draft) -> Call:
    path = draft.random.choice(("notes/c.md", "others/d.md"))
    return "documents.create", {"path": path, "text": draft.text()}, {"counts": ["bytes"]}


def _ticket(draft: Draft) -> Call:
    return "tickets.create", {"title": draft.text()}, {"texts": ["title"]}


def _tickets(draft: Draft) -> Call:
    return "tickets.list", {"query": draft.word()}, {"counts": ["count"]}


def _execute(draft: Draft) -> Call:
    table, number = draft.random.choice(TABLES), draft.random.randint(2, 5)
    changes = (
        f"UPDATE {table} SET amount = amount * {number} + 1",
        f"INSERT INTO {table} (amount) SELECT max(amount) + {number} FROM {draft.random.choice(TABLES)}",
        f"DELETE FROM {table} WHERE amount > {number * 100}",
    )
    params = {"statement": draft.random.choice(changes), "database": DATABASE}
    return "sql.execute", params, {"counts": ["changed"]}


def _query(draft: Draft) -> Call:
    statement = f"SELECT count(*) AS n, sum(amount) AS amount FROM {draft.random.choice(TABLES)}"
    params = {"statement": statement, "database": DATABASE}
    return "sql.query", params, {"counts": ["rows.0.n", "rows.0.amount"]}


def _remember(draft: Draft) -> Call:
    return "memory.write", {"text": draft.text()}, {"texts": ["text"]}


def _recall(draft: Draft) -> Call:
    return "memory.search", {"query": draft.word(), "limit": 50}, {"counts": ["count"]}


def _forget(draft: Draft) -> Call:
    return "memory.forget", {"query": draft.word()}, {}


KINDS: tuple[Kind, ...] = (
    *(_write, _write, _read, _read, _list, _search, _document, _ticket, _tickets),
    *(_execute, _query, _remember, _recall, _forget),
)


def prepare(workspace: Path) -> None:
    """Lay out what every plan begins with, and take away what an earlier one has left."""
    for path in sorted(workspace.rglob("*"), reverse=True):
        if ".planwright" not in path.parts and path.name != "planwright.toml":
            path.rmdir() if path.is_dir() else path.unlink()
    for name in ("notes", "others"):
        (workspace / name).mkdir(parents=True, exist_ok=True)
    (workspace / "a.md").write_text("alpha at the beginning", "utf-8")
    (workspace / "notes" / "c.md").write_text("beta at the beginning", "utf-8")
    with closing(sqlite3.connect(workspace / DATABASE)) as database:
        for number, table in enumerate(TABLES, 1):
            database.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, amount INTEGER)")
            database.executemany(f"INSERT INTO {table} (amount) VALUES (?)", [(number,), (number * 10,)])
        database.commit()


def end_state(workspace: Path, memories: Path, tenant: str) -> dict[str, Any]:
    """Read what a plan has left: files, tables, tickets and memories.

    Ids and times of tickets and memories are left out, and their order: plans that add two at once have none.
    """
    texts = {
        str(path.relative_to(workspace)): path.read_text("utf-8")
        for path in sorted(workspace.rglob("*.md"))
        if ".planwright" not in path.parts
    }
    state: dict[str, Any] = {"files": texts}
    for table in TABLES:
        state[table] = rows(workspace / DATABASE, f"SELECT id, amount FROM {table} ORDER BY id")
    tickets = workspace / "tickets.db"
    made = rows(tickets, "SELECT title, body, status FROM tickets") if tickets.exists() else []
    state["tickets"] = sorted(made)
    state["memories"] = sorted(rows(memories, "SELECT text FROM memories WHERE tenant = ?", tenant))
    return state


def rows(path: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    """Read rows of a database."""
    with closing(sqlite3.connect(path)) as database:
        return [tuple(row) for row in database.execute(query, values)]


def comparable(capability: str, output: Any) -> Any:
    """Take out of a result what depends on the clock, on keys, or on the order of what was added at once."""
    if not isinstance(output, dict):
        return output
    kept = {name: value for name, value in output.items() if name not in ("id", "created_at", "version")}
    if capability == "tickets.list":
        kept["tickets"] = sorted(ticket["title"] for ticket in output["tickets"])
    if capability == "memory.search":
        kept["matches"] = sorted(match["text"] for match in output["matches"])
    return json.loads(json.dumps(kept))
