"""Who holds runs of a store: processes, each of which locks a file of its own for as long as it lives.

The kernel drops the lock with the process, also after kill -9 or a new start of the machine, and shows it in
every container that shares the folder (fcntl(2), "Advisory record locking"). A process id tells less: it is
given away again, and means another process in another PID namespace.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import sqlite3
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from planwright.domain.clock import boot_id
from planwright.store.private_files import private_folder

Life = Literal["alive", "dead", "unknown"]


class Owner(NamedTuple):
    """A process that holds runs; `nonce` names its lock, and tells two agents of one process apart."""

    host: str
    """Name of the machine; "" in rows from before there were locks."""
    boot: str
    """Id of the boot of that machine."""
    namespace: str
    """PID namespace of the process."""
    pid: str
    """Its process id, as text."""
    started: str
    """When it started, in clock ticks since the boot, as text: it tells a process id used again apart."""
    nonce: str
    """Name of its lock file, made at random."""

    def __str__(self) -> str:
        return ":".join(self)

    @property
    def label(self) -> str:
        """Name the process for a person."""
        return f"process {self.pid} on {self.host}" if self.host else f"process {self.pid}"

    @property
    def in_sight(self) -> bool:
        """Whether its process id means the same here: on this boot, in this PID namespace."""
        return (self.boot, self.namespace) == (boot_id(), _namespace())

    def same_process_as(self, other: Owner) -> bool:
        """Say whether both are owners of one process; a host may be renamed while it lives."""
        return self[1:-1] == other[1:-1]


class OwnerLocks(Protocol):
    """How the owners of a store are told apart, living and dead."""

    def me(self) -> Owner:
        """Name this process as an owner; the first call takes its lock. Raises OSError or StoreFailed."""

    def life_of(self, text: str) -> Life:
        """Say whether the owner that a row names still lives."""

    def forget(self, text: str) -> None:
        """Remove what is left of an owner that has died."""

    def close(self) -> None:
        """Drop the lock of this process."""


class Owners:
    """The locks of a store's owners, in a folder beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._me: Owner | None = None
        self._lock = -1

    def me(self) -> Owner:
        """Name this process as an owner; the first call takes its lock. Raises OSError."""
        if self._me is None or self._me.pid != str(os.getpid()):  # a fork holds no lock of its parent
            owner = this_process()
            private_folder(self._folder)
            self._lock = os.open(self._folder / owner.nonce, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._me = owner
        return self._me

    def life_of(self, text: str) -> Life:
        """Say whether the owner that a row names still lives."""
        owner = owner_of(text)
        if not owner.host:  # of a store from before there were locks
            return "alive" if _status(owner.pid)[1] == owner.started else "dead"
        path = self._folder / owner.nonce
        if owner.same_process_as(this_process()):  # to open and close it would drop our lock
            return "alive" if path.exists() else "dead"
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return "dead"
        except OSError:
            return "unknown"
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return "alive"
        except OSError:
            return "unknown"
        finally:
            os.close(descriptor)
        return "dead"

    def close(self) -> None:
        """Drop the lock of this process, and its file."""
        me, self._me = self._me, None
        if me is not None and me.pid == str(os.getpid()):
            with contextlib.suppress(OSError):
                (self._folder / me.nonce).unlink()
            os.close(self._lock)

    def forget(self, text: str) -> None:
        """Remove the file of an owner that has died."""
        if self.life_of(text) == "dead":
            with contextlib.suppress(OSError):
                (self._folder / owner_of(text).nonce).unlink()


def this_process() -> Owner:
    """Name this process, as one of its owners of runs."""
    pid = str(os.getpid())  # numbers of processes and of namespaces come again: the start tells them apart
    host = socket.gethostname().replace(":", "-") or "localhost"
    return Owner(host, boot_id(), _namespace(), pid, _status("self")[1], uuid.uuid4().hex)


def owner_of(text: str) -> Owner:
    """Read an owner from a row; older rows name neither machine nor namespace, and mean this one."""
    parts = text.split(":")
    return Owner(*parts) if len(parts) == len(Owner._fields) else Owner("", "", "", *parts[:3])


def living_sender(
    connection: sqlite3.Connection, owner: str | None, mine: str = "", *, surely: bool = False
) -> str:
    """Name the process that began an effect, if it is another one and may still send it; else it is empty.

    With `surely` one counts whose life is known: of a worker that died on another machine nobody ever hears.
    """
    if not owner or owner == mine:
        return ""
    life_of = getattr(connection, "life_of", None)  # of a server, which keeps the locks itself
    if life_of is None:
        file = Path(connection.execute("PRAGMA database_list").fetchone()[2])
        life_of = Owners(folder_of(file)).life_of
    life = life_of(owner)
    return owner_of(owner).label if life == "alive" or (life == "unknown" and not surely) else ""


def sender_of(connection: sqlite3.Connection, effect: sqlite3.Row) -> str:
    """Name the process that may still send an effect, by its row; "" where none lives, or it has ended.

    A person may decide where nobody can tell: else an effect of a lost machine would be in doubt for good.
    """
    sent = effect["status"] in ("intent", "in_doubt") and effect["ended_at"] is None
    return living_sender(connection, effect["owner"], surely=True) if sent else ""


def is_held(owner: str | None, lease_until: float, owners: OwnerLocks, now: Callable[[], float]) -> bool:
    """Say by the row of a run whether a process works on it that lives, or reports and nobody can look at.

    `now` is the clock that leases are counted in. Raises StoreFailed.
    """
    if not lease_until or not owner:
        return False
    life = owners.life_of(owner)
    return life == "alive" or (life == "unknown" and lease_until > now())


def folder_of(database: Path) -> Path:
    """Name the folder of the owners of a store, beside its database."""
    return database.parent / "owners"


def is_stopped(owner: Owner) -> bool:
    """Say whether a process in sight was stopped (Ctrl-Z), and does nothing until it is woken."""
    return owner.in_sight and _status(owner.pid)[0] in ("T", "t")


def is_running(owner: Owner) -> bool:
    """Say whether a process in sight still runs; one that has ended and was not waited for does not."""
    state, started = _status(owner.pid)
    return started == owner.started and state not in ("Z", "X", "")


def _status(pid: str) -> tuple[str, str]:
    """Read a process's state, and its start in clock ticks since boot (proc(5)); empty when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid").removeprefix("pid:[").rstrip("]")
    except OSError:
        return ""
