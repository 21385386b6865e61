"""Faults of the storage below the program: calls that fail, and a lock that another process holds."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from benchmarks.counted_stage import Stage, fork

Fault = Literal["EIO", "ENOSPC", "EROFS", "locked"]
FAULTS: tuple[Fault, ...] = get_args(Fault)
SOURCE = Path(__file__).with_suffix(".c")
LIBRARY, VARIABLE = "LD_PRELOAD", "STORAGE_FAULT"


@dataclass(frozen=True)
class Point:
    """Which write call fails, and how; of `locked`, before which commit. At 0 nothing fails."""

    shape: str
    fault: Fault
    at: int
    lasting: bool


def compiler() -> str:
    """Find a C compiler; empty when there is none."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), "")


def loaded(source: Path = SOURCE) -> bool:
    """Say whether the faults are loaded into this process."""
    return Path(os.environ.get(LIBRARY, "")).name == f"{source.stem}.so"


def start_again(folder: Path, arguments: Sequence[str], source: Path = SOURCE) -> int:
    """Compile the faults, and run this program once more with them; return its exit code."""
    library = folder / f"{source.stem}.so"
    subprocess.run(
        [compiler(), "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True
    )
    environment = {**os.environ, LIBRARY: str(library)}
    return subprocess.run([sys.executable, "-m", *arguments], env=environment, check=False).returncode


def arm(point: Point, store: Path) -> None:
    """Let a call of this process fail. Call it before any thread runs."""
    number = getattr(errno, point.fault, 0)
    at = 0 if point.fault == "locked" else point.at
    os.environ[VARIABLE] = f"{at}:{number}:{int(point.lasting)}:{store}/"


def calls() -> int:
    """Count the write calls of this process since it was armed."""
    return int(ctypes.CDLL(os.environ[LIBRARY]).storage_calls())


@dataclass
class Locker:
    """A process that takes the write lock of a database when it is told to, and holds it."""

    pid: int
    link: socket.socket
    held: bool = False

    @classmethod
    def start(cls) -> Locker:
        """Fork it; it ends with whoever holds the other end of its link."""
        ours, theirs = socket.socketpair()

        def work() -> None:
            ours.close()
            while path := theirs.recv(4096).decode():
                with closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as database:
                    database.execute("BEGIN IMMEDIATE")
                    theirs.sendall(b".")
                    if not theirs.recv(1):
                        break
                theirs.sendall(b".")

        pid = fork(work)
        theirs.close()
        return cls(pid, ours)

    def hold(self, path: Path) -> None:
        """Have it take the lock, and wait until it has it."""
        self._tell(str(path).encode())
        self.held = True

    def release(self) -> None:
        """Have it let go, and wait until it has."""
        self._tell(b".")
        self.held = False

    def _tell(self, word: bytes) -> None:
        self.link.sendall(word)
        self.link.recv(1)


class Trap:
    """Stand at every commit; before the n-th, the lock of its database goes to another process."""

    def __init__(self, point: Point, stage: Stage, locker: Locker) -> None:
        self._point, self._stage, self._locker = point, stage, locker
        self.commits = 0

    def __call__(self, name: str) -> None:
        """Count commits; lock before one of them, and let go after it where the lock does not last."""
        database, _, rest = name.partition(": ")
        if not rest.startswith("before"):
            if self._locker.held and not self._point.lasting:
                self._locker.release()
            return
        self.commits += 1
        if self._point.fault == "locked" and self.commits == self._point.at:
            self._locker.hold(self._stage.store / f"{database}.db")
