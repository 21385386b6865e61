"""Whether the process that holds something still runs: a process id alone may have been given away again."""

from __future__ import annotations

from pathlib import Path


def alive(owner: str) -> bool:
    """Say whether the process that holds a lease still runs (same pid, same start time)."""
    pid, started, _ = owner.split(":")
    return started_at(int(pid)) == started


def started_at(pid: int) -> str:
    """Read when a process started, in clock ticks since boot; empty when it is gone or unknown."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
