"""Whether the write-ahead log of a file is as long as its index says: else the newest commits are gone.

Layout of both files: sqlite.org/walformat.html. It has to be looked at before anybody opens the file, for
SQLite then makes the index anew from what is left of the log. After a loss of power the index may be ahead of
the log, too; that is what it says then: commits that were not synced are gone.
"""

from __future__ import annotations

import struct
from pathlib import Path

_INDEX, _LOG_HEADER = struct.Struct("=16xI12x8s56xI"), struct.Struct(">8xI4x8s8x")
_LOG_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24


def frames_lost(path: Path) -> int:
    """Count the frames that the log of a file lacks and that are not in the file itself; 0 for none."""
    try:
        index = path.with_name(f"{path.name}-shm").read_bytes()
    except OSError:
        return 0  # closed, or never opened: there is nothing to compare with
    if len(index) < _INDEX.size:
        return 0
    last, salt, in_file = _INDEX.unpack_from(index)
    in_log = _frames(path.with_name(f"{path.name}-wal"), salt, last)
    return max(0, int(last) - max(int(in_file), in_log))


def _frames(log: Path, salt: bytes, otherwise: int) -> int:
    """Count the frames of a log; `otherwise` for one that is not of this index, which a writer began anew."""
    try:
        with log.open("rb") as file:
            header = file.read(_LOG_HEADER_BYTES)
            size = file.seek(0, 2)
    except OSError:
        return 0
    if len(header) < _LOG_HEADER_BYTES:
        return 0
    page, of_log = _LOG_HEADER.unpack(header)
    return (size - _LOG_HEADER_BYTES) // (_FRAME_HEADER_BYTES + page) if of_log == salt else otherwise
