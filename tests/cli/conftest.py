"""A fresh demo workspace for each test, and one whose request waits for approval."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from planwright.extras.demo.workspace import write_workspace
from planwright.graph.building import build_graph
from planwright.settings.settings import load
from tests.cli.desk import Desk

STORE = ".planwright"


@dataclass(frozen=True)
class Waiting:
    """A run that stopped at the gate of its plan."""

    gate_id: str
    thread_id: str
    run_id: str
    plan_hash: str


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo workspace, written once."""
    folder = tmp_path_factory.mktemp("template") / "desk"
    write_workspace(folder)
    return folder


@pytest.fixture
def desk(template: Path, tmp_path: Path) -> Desk:
    """A copy of the demo workspace."""
    shutil.copytree(template, tmp_path / "desk")
    return Desk(tmp_path / "desk")


def ask(folder: Path, request: str) -> Waiting:
    """Ask for something in Python, where it costs no start of the command, and stop at its gate."""
    agent = build_graph(load(folder))
    try:
        thread = str(uuid.uuid4())
        out = agent.invoke(
            {"messages": [{"role": "user", "content": request}]}, {"configurable": {"thread_id": thread}}
        )
    finally:
        agent.close()
    shown: dict[str, Any] = out["__interrupt__"][0].value
    return Waiting(shown["gate_id"], thread, shown["run_id"], shown["plan_hash"])


def reject(folder: Path, waiting: Waiting) -> None:
    """Answer a gate in Python."""
    agent = build_graph(load(folder))
    try:
        agent.invoke(
            Command(resume={"decisions": [{"type": "reject"}]}),
            {"configurable": {"thread_id": waiting.thread_id}},
        )
    finally:
        agent.close()


@pytest.fixture(scope="session")
def asked(template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Waiting]:
    """The store of a request to write note.md that waits for approval, made once."""
    folder = tmp_path_factory.mktemp("asked") / "desk"
    shutil.copytree(template, folder)
    waiting = ask(folder, "Save hello to note.md")
    return folder / STORE, waiting


@pytest.fixture
def waiting(desk: Desk, asked: tuple[Path, Waiting]) -> Waiting:
    """A request to write note.md that waits for approval, in a copy of its store."""
    store, waiting = asked
    shutil.copytree(store, desk.folder / STORE)
    return waiting
