"""A copy of an example, and the programs in it, as somebody who tries it has them."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.desk import Desk, Outcome, environment
from tests.forked import Forked
from tests.patience import PATIENCE_S
from tests.server.conftest import javascript as javascript
from tests.wire.scripted_server import Reply, ScriptedServer

EXAMPLES = Path(__file__).parents[2] / "examples"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "workspace", ".planwright")


@dataclass(frozen=True)
class Example:
    """An example in a folder of its own."""

    name: str
    folder: Path

    @property
    def desk(self) -> Desk:
        """The command in the folder of the example."""
        return Desk(self.folder)

    def begin(self, module: str, *args: str, env: Mapping[str, str] | None = None, typed: str = "") -> Forked:
        """Start a program of the example in its folder; whatever is left of it ends with the block."""
        name = f"examples.{self.name}.{module}"
        return Forked(name, *args, folder=self.folder, env=environment(env), typed=typed)

    def run(self, module: str, *args: str, env: Mapping[str, str] | None = None, typed: str = "") -> Outcome:
        """Run a program of the example and wait for its end."""
        with self.begin(module, *args, env=env, typed=typed) as process:
            return Outcome(process.wait(PATIENCE_S), process.stdout, process.stderr)

    def rows(self, database: str, query: str) -> list[tuple[Any, ...]]:
        """Ask a database of the example."""
        with closing(sqlite3.connect(self.folder / database)) as connection:
            return connection.execute(query).fetchall()


@pytest.fixture
def example(tmp_path: Path) -> Callable[[str], Example]:
    """Copy an example, without what earlier runs have left in its folder."""

    def copy(name: str) -> Example:
        shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=LEFT_OUT)
        return Example(name, tmp_path / name)

    return copy


@dataclass(frozen=True)
class ServedModel:
    """A model behind real HTTP, and the environment that points a program at it."""

    server: ScriptedServer

    @property
    def env(self) -> dict[str, str]:
        """What a user sets for an endpoint of their own."""
        return {
            "OPENAI_API_KEY": "key-of-the-example",
            "OPENAI_BASE_URL": self.server.base_url,
            "NO_PROXY": "127.0.0.1",
        }


@pytest.fixture
def model() -> Iterator[Callable[..., ServedModel]]:
    """Serve a model that replies from a list."""
    with ExitStack() as running:

        def serve(*replies: Reply) -> ServedModel:
            return ServedModel(running.enter_context(ScriptedServer(replies)))

        yield serve
