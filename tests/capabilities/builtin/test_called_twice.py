"""Each built-in capability, called twice under one key: one effect, and the same result both times."""

from __future__ import annotations

import inspect
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.policy.decide import host_of
from planwright.capabilities.registry import load_registry
from planwright.extras.demo.service import Webhook
from planwright.extras.demo.workspace import write_workspace
from planwright.records.stores import Stores

MakeWorld = Callable[..., CallContext]
CALLS: Mapping[str, dict[str, Any]] = {
    "documents.create": {"path": "note.md", "title": "Note", "text": "One line"},
    "files.write": {"path": "a.txt", "text": "second"},
    "files.restore": {"path": "a.txt"},
    "mail.draft": {"to": ["kim@example.com"], "subject": "Hello", "text": "One line"},
    "memory.write": {"text": "Kim likes tea"},
    "memory.forget": {"query": "coffee"},
    "tickets.create": {"title": "Broken"},
    "tickets.close": {"id": 1},
    "channel.post": {"text": "hello"},
}
ELSEWHERE = {
    # blind: after a crash a person is asked, and nobody sends them again (tests/scenarios/test_lookups.py)
    "http.request",
    "mail.send",
    "sql.execute",
    # what they do are calls with keys of their own
    "agent.delegate",
    "tool.create_chain",
}


async def call(tool: Capability, args: Mapping[str, Any], world: CallContext) -> Any:
    needs = inspect.signature(tool.function).parameters
    result = tool.function(**args, **({"call": world} if "call" in needs else {}))
    return await result if inspect.isawaitable(result) else result


def content(folder: Path, stores: Stores) -> dict[str, Any]:
    """Read all that a call may have changed: files, tables of the workspace, and our own."""
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "store" not in path.parts and path.suffix != ".db"
    }
    for path in (*folder.glob("*.db"), *folder.glob("data/*.db")):
        with closing(sqlite3.connect(path)) as database:
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (name,) in names:
                files[f"{path.name}:{name}"] = database.execute(f"SELECT * FROM {name}").fetchall()  # type: ignore[assignment]
    ours = ("memories", "forgotten", "file_versions")
    tables = {name: _rows(stores, name) for name in ours}
    return {**files, **tables}


def _rows(stores: Stores, table: str) -> list[tuple[Any, ...]]:
    query = f"SELECT * FROM {table} ORDER BY 1"
    return stores.database.call("read", lambda c: [tuple(row) for row in c.execute(query)])


async def prepared(name: str, folder: Path, world: Callable[[str], CallContext]) -> dict[str, Any]:
    """Make what a call changes; return what of that its arguments have to name."""
    registry = load_registry(folder)
    if name in ("files.write", "files.restore"):
        await call(registry["files.write"], {"path": "a.txt", "text": "first"}, world("one"))
    if name == "files.restore":
        written = await call(registry["files.write"], CALLS["files.write"], world("two"))
        return {"version": written.version}
    if name == "tickets.close":
        await call(registry["tickets.create"], {"title": "Broken"}, world("one"))
    if name == "memory.forget":
        await call(registry["memory.write"], {"text": "Kim likes coffee"}, world("one"))
    return {}


def test_every_built_in_that_changes_something_is_called_twice_or_named(tmp_path: Path) -> None:
    changing = {tool.name for tool in load_registry(tmp_path) if tool.effect != "pure"}
    assert changing == CALLS.keys() | ELSEWHERE


@pytest.mark.sampled(3)
@pytest.mark.enable_socket
@pytest.mark.parametrize("name", CALLS)
async def test_the_second_call_under_a_key_changes_nothing_more(
    name: str, make_world: MakeWorld, stores: Stores, tmp_path: Path
) -> None:
    write_workspace(tmp_path)
    tool = load_registry(tmp_path).require(name)
    with Webhook(tmp_path / "hook.db", faults=0) as hook:
        flags = {"channels": {"team": {"url": hook.url}}, "egress": {"allow": [host_of(hook.url)]}}
        args = dict(CALLS[name]) | await prepared(name, tmp_path, lambda key: make_world(key, **flags))
        untouched = content(tmp_path, stores)
        first = await call(tool, args, make_world("key-1", **flags))
        once = content(tmp_path, stores)
        second = await call(tool, args, make_world("key-1", **flags))
        twice = content(tmp_path, stores)
    once.pop("hook.db:requests", None)
    twice.pop("hook.db:requests", None)  # the service hears both, and delivers one
    assert untouched != once
    assert twice == once
    assert second == first
