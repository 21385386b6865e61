"""Who holds a run: one process on one machine, and whether it still lives.

A process id alone says nothing: it may have been given away again, and the same number means another process
in another PID namespace (a container) or after a reboot.
"""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path
from typing import Literal, NamedTuple

from planwright.graph.clock import boot_id

Life = Literal["alive", "dead", "unknown"]
GONE = ("Z", "X", "x")  # states of a process that has ended and was not waited for (proc(5))


class Owner(NamedTuple):
    """A process that holds runs; `nonce` tells two agents of one process apart."""

    host: str
    boot: str
    namespace: str
    pid: str
    started: str
    nonce: str

    def __str__(self) -> str:
        return ":".join(self)

    @property
    def shown(self) -> str:
        """Name the process for a person."""
        return f"process {self.pid} on {self.host}" if self.host else f"process {self.pid}"


def this_process() -> Owner:
    """Name this process, as one of its owners of runs."""
    pid = os.getpid()
    place = (socket.gethostname().replace(":", "-"), boot_id(), _namespace())
    return Owner(*place, str(pid), _status(pid)[1], uuid.uuid4().hex[:8])


def owner_of(text: str) -> Owner:
    """Read an owner from a row; older rows name neither machine nor namespace, and mean this one."""
    parts = text.split(":")
    return (
        Owner(*parts) if len(parts) == len(Owner._fields) else Owner("", boot_id(), _namespace(), *parts[:3])
    )


def life_of(owner: Owner) -> Life:
    """Say whether a process still runs; nobody can tell from outside of its PID namespace.

    Another boot id is an earlier boot of this machine: SQLite's WAL works between processes of one kernel
    only (https://www.sqlite.org/wal.html), so no process of another kernel has this store open.
    """
    if owner.boot != boot_id():
        return "dead"
    if owner.namespace != _namespace():
        return "unknown"
    state, started = _status(int(owner.pid))
    return "alive" if started == owner.started and state not in GONE else "dead"


def living_sender(owner: str | None, mine: str = "") -> str:
    """Name the process that began an effect, if it is another one and lives; empty when it cannot send it."""
    if not owner or owner == mine or life_of(owner_of(owner)) != "alive":
        return ""
    return owner_of(owner).shown


def is_stopped(owner: Owner) -> bool:
    """Say whether a living process was stopped (Ctrl-Z), and does nothing until it is woken."""
    return life_of(owner) == "alive" and _status(int(owner.pid))[0] in ("T", "t")


def _status(pid: int) -> tuple[str, str]:
    """Read the state of a process, and when it started in clock ticks since boot; empty when it is gone."""
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
