"""A machine of their own for benchmarks: what they write is trusted there, and on this one nothing changes.

Folders are made in memory where there is some: what a machine loses without power is not what is tried, but
where a benchmark says so.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

MARK = "BENCHMARKS_GROUND"
MEMORY = Path("/dev/shm")


def stand_on_own_ground() -> None:
    """Make the ground, once for all processes of a benchmark; tests bring one of their own."""
    if MARK in os.environ or "PYTEST_VERSION" in os.environ:
        return
    from planwright.store.folder_trust import trust_below

    memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    ground = tempfile.mkdtemp(prefix="benchmarks-", dir=memory)
    os.environ |= {MARK: ground, "TMPDIR": ground, "XDG_STATE_HOME": f"{ground}/state"}
    tempfile.tempdir = ground
    trust_below(Path(ground))
    trust_below(Path.cwd())  # some write there, as `/tmp` may be memory
    atexit.register(_leave, ground, os.getpid())


def _leave(ground: str, pid: int) -> None:
    if os.getpid() == pid:  # a fork of it has the same end
        shutil.rmtree(ground, ignore_errors=True)
