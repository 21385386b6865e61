"""Where a session is struck, and by what: a process is killed, sessions of the store end, its server dies.

A process is killed at boundaries of commits, or short of a checkpoint of the graph, when all that was written
before that is on record. Which commits those are depends on how quick a machine is.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig

from planwright.checkpoints.saver import Saver
from planwright.checkpoints.thread_state.jobs import namespace_of

Strike = Literal["process", "checkpoint", "session", "server"]
MOST_DELAY_S = 0.004


@dataclass(frozen=True)
class Point:
    """Where a session is struck: at its n-th boundary, of all its processes together, and maybe once more."""

    shape: str
    at: int | None
    again: int | None = None
    strike: Strike = "process"
    server: str = ""

    @property
    def url(self) -> str:
        """The address of a store that nobody has used, of sessions by whose name they can be ended."""
        name = f"s{uuid.uuid4().hex[:12]}"
        return f"{self.server}{name}&application_name={name}" if self.server else ""


def stand_at_checkpoints(saver: Saver, trap: Callable[[str], None]) -> None:
    """Have a trap stand at each checkpoint, before it is written and when all before it is on record."""
    put = saver.aput

    async def aput(*args: Any) -> RunnableConfig:
        await saver.database.run("landed", lambda _: None)
        trap(f"before checkpoint {namespace_of(args[0]).partition(':')[0] or 'of the graph'}")
        return await put(*args)

    saver.aput = aput  # type: ignore[assignment,method-assign]


class Trap:
    """Count the boundaries of all processes of a session in one file, and strike at some of them."""

    def __init__(self, log: Path, point: Point, url: str) -> None:
        self._log = os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        self._seen = log.read_bytes().count(b"\n")
        self._point, self._url = point, url
        self._lock = threading.Lock()

    def __call__(self, name: str) -> None:
        """Stand at a boundary."""
        with self._lock:
            self._seen += 1
            strikes = self._seen in (self._point.at, self._point.again)
            os.write(self._log, f"{'! ' if strikes else ''}{name}\n".encode())
            if not strikes:
                return
            if self._point.strike in ("process", "checkpoint"):
                os.kill(os.getpid(), signal.SIGKILL)
            chance = random.Random(f"{self._point.shape} {self._seen}")
            delay_s = chance.choice((0, MOST_DELAY_S)) * chance.random()
        if delay_s:  # in the middle of one of the next transactions
            threading.Timer(delay_s, end_sessions, (self._url, self._point.strike)).start()
        else:
            end_sessions(self._url, self._point.strike)


def end_sessions(url: str, strike: Strike) -> None:
    """End the sessions of a store, or kill a process of the server, which begins anew with all it serves."""
    import psycopg

    query = "SELECT pid FROM pg_stat_activity WHERE application_name = $1 ORDER BY xact_start"
    with (
        contextlib.suppress(psycopg.OperationalError, ProcessLookupError),
        psycopg.connect(url, application_name="striker", autocommit=True) as session,
    ):
        name = url.rpartition("=")[2]
        pids = [row[0] for row in psycopg.RawCursor(session).execute(query, [name]).fetchall()]
        if strike == "server":
            for pid in pids[:1]:
                os.kill(pid, signal.SIGKILL)
            return
        for pid in pids:
            session.execute("SELECT pg_terminate_backend(%s)", [pid])
