"""Whether the write-ahead log of a file is whole: else the newest commits are gone.

Layout of log and index: sqlite.org/walformat.html. The log has to be looked at before anybody opens the file:
SQLite then makes the index anew from what it can read of the log, and writes over the rest. After a loss of
power the index may be ahead of the log, too, and the end of the log may be torn; that is what is said then:
commits that were not synced are gone.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import struct
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

_INDEX, _LOG_HEADER, _FRAME_HEADER = (
    struct.Struct("=16xI12x8s56xI"),
    struct.Struct(">8xI4x8s8x"),
    struct.Struct(">4xI8s8x"),
)
SET_ASIDE = "-wal.damaged-"
"""What the name of a damaged log that was set aside has after that of its file."""


def frames_lost(path: Path) -> int:
    """Count the frames that the log of a file lacks and that are not in the file itself; 0 for none."""
    try:
        index = path.with_name(f"{path.name}-shm").read_bytes()
    except OSError:
        return 0  # closed, or never opened: there is nothing to compare with
    if len(index) < _INDEX.size:
        return 0
    last, salt, in_file = _INDEX.unpack_from(index)
    in_log = _frames(_log(path), salt, last)
    return max(0, int(last) - max(int(in_file), in_log))


def frames_unread(path: Path) -> int:
    """Count the frames of commits in a log that stand behind a damaged one, where SQLite reads no further.

    0 for a log that is whole, for none, for one that is being written, and where it cannot be looked at.
    """
    try:
        data = b"" if _in_use(path) else _log(path).read_bytes()
        if len(data) < _LOG_HEADER.size:
            return 0
        with path.open("rb") as file:
            first = file.read(1 << 16)
        page = int.from_bytes(first[16:18], "big")  # sqlite.org/fileformat2.html, 1.3.2: 1 stands for 65,536
        page = 1 << 16 if page == 1 else page or _LOG_HEADER.unpack_from(data)[0]
        last = _last_commit(data, page)
        return max(0, last - _frames_read(first[:page], data)) if last else 0
    except OSError:
        return 0


def _last_commit(log: bytes, page: int) -> int:
    """Count the frames of a log up to the last that ends a commit, whether they can be read or not."""
    size, salt = _FRAME_HEADER.size + page, _LOG_HEADER.unpack_from(log)[1]
    starts = range(_LOG_HEADER.size, len(log) - size + 1, size)
    frames = [_FRAME_HEADER.unpack_from(log, start) for start in starts]
    if frames and all(salt_of_frame != salt for _, salt_of_frame in frames):
        salt = frames[0][1]  # the header is damaged
    commits = [n for n, (pages, salt_of_frame) in enumerate(frames, 1) if pages and salt_of_frame == salt]
    return max(commits, default=0)


def _frames_read(first_page: bytes, log: bytes) -> int:
    """Have SQLite read a copy of a log, which needs no more of its file than the first page; count frames."""
    with TemporaryDirectory(prefix="planwright-") as folder:
        copy = Path(folder) / "copy"
        copy.write_bytes(first_page)
        _log(copy).write_bytes(log)
        with suppress(sqlite3.Error), closing(sqlite3.connect(copy)) as connection:
            with suppress(sqlite3.Error):  # other pages are not there
                connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            index = copy.with_name("copy-shm").read_bytes()
            return int(_INDEX.unpack_from(index)[0])
    return 0


def set_aside(path: Path) -> Path | None:
    """Copy the log of a file beside it if SQLite would write over commits in it; None for one that is whole.

    Raises OSError.
    """
    if not frames_unread(path):
        return None
    log = _log(path)
    written_at = datetime.fromtimestamp(log.stat().st_mtime, UTC)
    copy = path.with_name(f"{path.name}{SET_ASIDE}{written_at:%Y%m%dT%H%M%SZ}")
    shutil.copy2(log, copy)
    return copy


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _in_use(path: Path) -> bool:
    """Say whether a process has a file open, which locks its index then (sqlite.org/walformat.html, 2.3.1).

    The index is not opened for that: to close it again would drop the locks of this process. Where the kernel
    does not list locks, nobody is seen.
    """
    try:
        inode = path.with_name(f"{path.name}-shm").stat().st_ino
        return re.search(rf":{inode} ", Path("/proc/locks").read_text("ascii")) is not None
    except OSError:
        return False


def _frames(log: Path, salt: bytes, otherwise: int) -> int:
    """Count the frames of a log; `otherwise` for one that is not of this index, which a writer began anew."""
    try:
        with log.open("rb") as file:
            header = file.read(_LOG_HEADER.size)
            size = file.seek(0, 2)
    except OSError:
        return 0
    if len(header) < _LOG_HEADER.size:
        return 0
    page, of_log = _LOG_HEADER.unpack(header)
    return (size - _LOG_HEADER.size) // (_FRAME_HEADER.size + page) if of_log == salt else otherwise
