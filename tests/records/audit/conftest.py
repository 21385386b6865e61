"""A store with a run that was approved, and one that waits."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.extras.demo.workspace import write_workspace
from planwright.graph.building import open_agent
from tests.opened_store import opened_store


def thread(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace: `done` was approved and has ended, `waits` waits at its gate."""
    folder = tmp_path_factory.mktemp("audited")
    write_workspace(folder)
    agent = open_agent(folder)
    try:
        agent.invoke({"messages": [("user", "Save hello to a.txt")]}, thread("done"))
        agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread("done"))
        agent.invoke({"messages": [("user", "Save hello to b.txt")]}, thread("waits"))
    finally:
        agent.close()
    return folder


@pytest.fixture
def store(played: Path) -> Iterator[sqlite3.Connection]:
    """A copy of its records in memory, where nothing keeps entries from being changed."""
    copy = sqlite3.connect(":memory:")
    with opened_store(played / ".planwright") as source:
        source.backup(copy)
    source.close()
    copy.row_factory = sqlite3.Row
    for (name,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        copy.execute(f"DROP TRIGGER {name}")
    yield copy
    copy.close()


@pytest.fixture
def run_id(store: sqlite3.Connection) -> str:
    """The run that has ended."""
    return str(store.execute("SELECT run_id FROM runs WHERE thread_id = 'done'").fetchone()[0])
