"""Scripted servers that end with the test, and a fresh demo workspace."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from planwright.extras.demo.workspace import write_workspace
from tests.wire.scripted_server import Reply, ScriptedServer

Serve = Callable[..., ScriptedServer]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start a server with the given replies, out of reach of any proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ExitStack() as running:

        def serve(*replies: Reply) -> ScriptedServer:
            return running.enter_context(ScriptedServer(replies))

        yield serve


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo workspace, written once."""
    folder = tmp_path_factory.mktemp("template") / "workspace"
    write_workspace(folder)
    return folder


@pytest.fixture
def workspace(template: Path, tmp_path: Path) -> Path:
    """A copy of the demo workspace."""
    shutil.copytree(template, tmp_path / "workspace")
    return tmp_path / "workspace"
