"""Jobs in child processes that are killed when they use more than one job may; each child does many.

A child is started when none is idle, which costs 0.1 s, and is kept for the next job. Waiting for one
holds no lock of the interpreter.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
from functools import cache
from multiprocessing import Pipe
from typing import Any

from planwright.domain.errors import CapabilityRejected, OverLimit, SetupError
from planwright.sandbox.child import CPU_S, MEMORY

WALL_S = 30.0  # for what waits and uses no CPU: a locked file, a machine without a free moment
MOST_IDLE = 2


class JobFailed(CapabilityRejected):
    """A job raised what is no refusal of ours, did not end, or its process broke down: its effect is open."""


class Sandbox:
    """Run functions, by name, on plain data."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._owner = os.getpid()

    def run(self, job: str, *args: object) -> Any:
        """Call `module:function` with arguments that can be pickled, and return what it returns.

        Raises OverLimit where it needs more CPU, memory or levels than a job may use; what it raises of
        ours; and JobFailed for all else.
        """
        child = self._take()
        try:
            how, value, fit = child.ask(job, args)
        except BaseException:
            child.kill()
            raise
        if fit:
            self._put_back(child)
        else:
            child.kill()
        if how == "refused":
            kind, cause, next_step = value
            raise kind(cause, next_step)
        if how == "failed":
            raise JobFailed(value)
        if how != "done":
            raise OverLimit(_LIMITS[how])
        return value

    def close(self) -> None:
        """End the children that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.kill()

    def _take(self) -> _Child:
        with self._lock:
            if self._owner != os.getpid():  # forked: the children are those of the other process
                self._idle, self._owner = [], os.getpid()
            if self._idle:
                return self._idle.pop()
        return _Child()

    def _put_back(self, child: _Child) -> None:
        with self._lock:
            if len(self._idle) < MOST_IDLE:
                self._idle.append(child)
                return
        child.kill()


class _Child:
    """One child process, and the pipe to it."""

    def __init__(self) -> None:
        self._pipe, theirs = Pipe()
        with theirs:
            command = [sys.executable, "-P", "-m", "planwright.sandbox.child", str(theirs.fileno())]
            quiet = subprocess.DEVNULL
            try:
                self._process = subprocess.Popen(
                    command,
                    pass_fds=[theirs.fileno()],
                    stdin=quiet,
                    stdout=quiet,
                    stderr=quiet,
                    process_group=0,  # Ctrl-C is for whoever waits
                )
            except OSError as error:
                self._pipe.close()
                raise SetupError(f"cannot start {sys.executable}: {error}") from error

    def ask(self, job: str, args: tuple[object, ...]) -> tuple[str, Any, bool]:
        """Have one job done. Raises OverLimit or JobFailed when the child ends over it."""
        try:
            self._pipe.send((job, args))
            if not self._pipe.poll(WALL_S):
                raise JobFailed(f"it did not end within {WALL_S:g} s")
            answer: tuple[str, Any, bool] = self._pipe.recv()
        except (EOFError, ConnectionError) as error:
            ended = self._process.wait()
            if ended == -signal.SIGPROF:
                raise OverLimit(_LIMITS["cpu"]) from error
            raise JobFailed(f"what reads it broke down ({ended})") from error
        return answer

    def kill(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.kill()
        self._process.wait()


_LIMITS = {
    "cpu": f"it takes more than {CPU_S:g} s of CPU",
    "memory": f"it takes more than {MEMORY // 1_000_000} MB of memory",
    "levels": "it is nested too deeply",
}


@cache
def sandbox() -> Sandbox:
    """Return the sandbox of this process; its children end with it."""
    shared = Sandbox()
    atexit.register(shared.close)
    return shared
