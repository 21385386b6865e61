"""A workspace and the command, as somebody at a shell has them.

Every command runs in a process of its own (tests/forked.py), started in the workspace folder with a
clean environment: no provider keys, no settings from outside.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.forked import Forked
from tests.opened_store import URL, opened_store
from tests.patience import PATIENCE_S

COMMAND = "planwright.cli.main"
STORE = ".planwright/planwright.db"
MOST_LINES = 6


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it printed where."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Read what was printed on stdout as JSON."""
        return json.loads(self.stdout)

    @property
    def printed(self) -> str:
        """All that was printed."""
        return self.stdout + self.stderr


class Desk:
    """Run commands in one workspace, and look into what they leave there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *args: str, env: Mapping[str, str] | None = None, typed: str = "") -> Outcome:
        """Run a command without a terminal and wait for its end. Its stdin holds what was `typed`."""
        with self.begin(*args, env=env, typed=typed) as process:
            return Outcome(process.wait(PATIENCE_S), process.stdout, process.stderr)

    def begin(self, *args: str, env: Mapping[str, str] | None = None, typed: str = "") -> Forked:
        """Start a command and let it run; whatever is left of it ends with the block."""
        return Forked(COMMAND, *args, folder=self.folder, env=environment(env), typed=typed)

    def start_cold(
        self,
        *args: str,
        python: Sequence[str] = (),
        way: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Run a command as a shell does: a new interpreter, started through `way`, loads it first."""
        done = subprocess.run(
            [*way, *command(*python), *args],
            cwd=self.folder,
            env=environment(env),
            input="",
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def settings(self, text: str) -> None:
        """Write the workspace's settings."""
        (self.folder / "planwright.toml").write_text(text, encoding="utf-8")

    def rows(self, query: str, database: str = STORE) -> list[tuple[Any, ...]]:
        """Ask a database of the workspace, without the program in between."""
        path = self.folder / database
        opened = opened_store(path.parent) if database == STORE else sqlite3.connect(path)
        with closing(opened) as connection:
            return [tuple(row) for row in connection.execute(query)]

    def change(self, statement: str) -> None:
        """Change the records of the workspace, as time or an accident would."""
        with closing(opened_store(self.folder / ".planwright")) as connection, connection:
            connection.execute(statement)


def command(*python: str) -> list[str]:
    """Spell the command; -P as for the installed script, which never imports from the current folder."""
    return [sys.executable, "-P", *python, "-m", COMMAND]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Take the environment of a shell that knows of no provider and no proxy, 200 columns wide."""
    outside = ("OPENAI_", "PLANWRIGHT_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(outside)}
    kept |= {URL: os.environ[URL]} if URL in os.environ else {}
    return {**kept, "COLUMNS": "200", **(more or {})}


def refusal(outcome: Outcome) -> str:
    """Return the message of a refused command, once it is sure to be short, helpful and no traceback."""
    lines = outcome.stderr.splitlines()
    assert outcome.stdout == ""
    assert "Traceback" not in outcome.stderr
    assert 2 <= len(lines) <= MOST_LINES, outcome.stderr
    assert lines[0].startswith("error: ")
    assert lines[-1].startswith("  next: ")
    return outcome.stderr


def wait_until(true: Callable[[], bool], seconds: float = PATIENCE_S) -> bool:
    """Wait for something to become true, no longer than it may take."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
