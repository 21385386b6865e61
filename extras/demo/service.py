"""Starts the demo's webhook as a child process and ends it again."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from planwright.extras.demo.webhook import HOOK_PATH

START_SECONDS = 10
STOP_SECONDS = 5
GREETING = "listening on "


class Webhook:
    """Runs the webhook for the length of a `with` block."""

    def __init__(self, log: Path, faults: int = 1) -> None:
        self.log = log
        self._faults = faults
        self._process: subprocess.Popen[str] | None = None
        self._origin = ""

    @property
    def url(self) -> str:
        """Where to post messages; only known inside the `with` block."""
        if self._process is None:
            raise RuntimeError("the webhook is not running")
        return self._origin + HOOK_PATH

    def __enter__(self) -> Self:
        # -P: a json.py in the current folder must not stand in for the real one.
        # A new session: Ctrl-C in the terminal is for the program, which then ends the webhook.
        module = ["-P", "-m", "planwright.extras.demo.webhook"]
        self._process = subprocess.Popen(
            [sys.executable, *module, "--log", str(self.log), "--faults", str(self._faults)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            self._origin = _read_origin(self._process)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        """End the process and wait until it is gone."""
        process, self._process = self._process, None
        if process is None:
            return
        with process:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _read_origin(process: subprocess.Popen[str]) -> str:
    """Wait for the line that says where the webhook listens, and return the address in it."""
    if process.stdout is None:
        raise RuntimeError("the webhook was started without a pipe for its output")
    # Reading a pipe has no time limit of its own; killing the process ends the read.
    limit = threading.Timer(START_SECONDS, process.kill)
    limit.start()
    try:
        line = process.stdout.readline()
    finally:
        limit.cancel()
    if not line.startswith(GREETING):
        raise RuntimeError(f"the webhook did not start within {START_SECONDS} s")
    return line.removeprefix(GREETING).strip()
