"""Somebody at a terminal: the command on a pseudo-terminal, its stdout there too or in a pipe.

The terminal is a dumb one of 200 columns, unless it is given a size: then it can be drawn on.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cli.desk import COMMAND, environment
from tests.forked import Forked
from tests.patience import PATIENCE_S


class Typist:
    """Start a command on a terminal, read what it shows, and type."""

    def __init__(
        self,
        folder: Path,
        *args: str,
        redirected: bool = False,
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] | None = None,
    ) -> None:
        self.screen = ""
        self._master, slave = pty.openpty()
        shell = environment({"TERM": "xterm-256color" if size else "dumb", **(env or {})})
        if size:
            termios.tcsetwinsize(slave, (size[1], size[0]))
            del shell["COLUMNS"]
        self._process = Forked(
            COMMAND, *args, folder=folder, env=shell, terminal=slave, redirected=redirected
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.__exit__(kind, error, trace)
        os.close(self._master)

    def read_until(self, text: str, after: str = "") -> None:
        """Read the screen until a text shows, or shows after another. Fails when it does not in time."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.screen.partition(after)[2] if after else text not in self.screen:
            assert self._read(deadline - time.monotonic()), f"{text!r} never showed:\n{self.screen}"

    def type(self, text: str) -> None:
        """Type a text."""
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self._process.send(signal.SIGINT)

    def kill(self) -> None:
        """Kill it, as a machine without power does."""
        self._process.send(signal.SIGKILL)

    def finish(self) -> tuple[int, str]:
        """Wait for the end. Returns the exit code and what went to a redirected stdout."""
        deadline = time.monotonic() + PATIENCE_S
        while self._read(deadline - time.monotonic()):
            pass
        return self._process.wait(PATIENCE_S), self._process.stdout

    def _read(self, seconds: float) -> bool:
        """Read what is there, or false when the time is up or the terminal is gone."""
        ready, _, _ = select.select([self._master], [], [], max(0, seconds))
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux's way to say that the other end is closed
            return False
        self.screen += data.decode("utf-8", errors="replace").replace("\r\n", "\n")
        return bool(data)
