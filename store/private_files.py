"""Files that only their owner may read or write, whatever the umask: the store and all that is in it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex
from time import monotonic, sleep
from typing import IO, Any

FOLDER_MODE = 0o700
FILE_MODE = 0o600
OTHERS = stat.S_IRWXG | stat.S_IRWXO
SECRET_BYTES = 32
LOCK_S = 10.0  # a lock is held for the time of a few writes
LOOKS_S = 0.002


def private_folder(folder: Path) -> Path:
    """Make a folder for its owner alone. One that was open to others is closed, with all that is in it.

    Raises OSError.
    """
    if not folder.is_dir():
        for part in reversed((folder, *folder.parents)):
            if not part.exists():
                part.mkdir(FOLDER_MODE, exist_ok=True)
    if is_open_to_others(folder):
        folder.chmod(FOLDER_MODE)
        close_to_others(folder)
    return folder


def is_open_to_others(folder: Path) -> bool:
    """Say whether anybody but the owner has rights in a folder; none that we made is. Raises OSError."""
    return bool(folder.stat().st_mode & OTHERS)


def close_to_others(folder: Path) -> None:
    """Take the rights of everybody but the owner from all that is in a folder.

    What goes away meanwhile, or is not ours, stays as it is: nobody else gets into the folder.
    """
    for place, folders, files in os.walk(folder):
        for path in (Path(place, name) for name in (*folders, *files)):
            with contextlib.suppress(OSError):
                mode = path.lstat().st_mode
                if mode & OTHERS and not stat.S_ISLNK(mode):
                    path.chmod(stat.S_IMODE(mode) & ~OTHERS)


def open_private(path: Path, mode: str, **options: Any) -> IO[Any]:
    """Open a file as `open` does, in a private folder and for its owner alone. Raises OSError."""
    private_folder(path.parent)
    file: IO[Any] = open(path, mode, opener=_opener, **options)  # noqa: SIM115 - the caller closes it
    return file


def write_private(path: Path, text: str) -> None:
    """Write a text file, in a private folder and for its owner alone. Raises OSError."""
    with open_private(path, "w", encoding="utf-8") as file:
        file.write(text)


def read_private(path: Path) -> str:
    """Read a text file that only we may read or write; "" for none, and for one that others may have written.

    Raises OSError.
    """
    with contextlib.suppress(FileNotFoundError), path.open(encoding="utf-8", errors="replace") as file:
        status = os.fstat(file.fileno())
        if status.st_uid == os.geteuid() and not status.st_mode & OTHERS:
            return file.read()
    return ""


def replace_private(path: Path, text: str) -> None:
    """Replace a text file at once: a reader, or a crash, meets the old text or the new. Raises OSError."""
    written = path.with_suffix(".new")
    with open_private(written, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    written.replace(path)
    sync_folder(path.parent)


def secret_of(path: Path, trust: Callable[[bytes], None]) -> bytes:
    """Read the secret that a file keeps for all processes of a store; the first of them makes it.

    `trust` is called with a new one before it is there; where that fails, none is. Raises OSError.
    """
    with alone_in(path.parent):
        text = read_private(path).strip()
        if len(text) != 2 * SECRET_BYTES:
            trust((text := token_hex(SECRET_BYTES)).encode())
            replace_private(path, text)
    return text.encode()


def sync_folder(folder: Path) -> None:
    """Let a loss of power not undo a renaming in a folder (fsync(2)), where that can be asked."""
    with contextlib.suppress(OSError):  # the file is renamed already
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread is in here with a folder: to read, change and replace a file.

    Raises OSError, as `lock_alone` does for a process that stands still in here.
    """
    descriptor = os.open(private_folder(folder), os.O_RDONLY)
    try:
        lock_alone(descriptor)
        yield
    finally:
        os.close(descriptor)


def lock_alone(descriptor: int, longest_s: float = LOCK_S) -> None:
    """Lock what is open for this process alone (flock(2)), once nobody else has it.

    Raises TimeoutError after so many seconds: a process that was stopped keeps what it has locked.
    """
    deadline = monotonic() + longest_s
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > deadline:
                cause = f"another process has had it locked for {longest_s:.0f} s"
                raise TimeoutError(errno.ETIMEDOUT, cause) from None
            sleep(LOOKS_S)


def private_database(path: Path) -> None:
    """Make the file of a database, and close one that was open to others. Raises OSError.

    SQLite gives `-wal` and `-shm` the mode of the database (sqlite.org/wal.html). A file that is there is not
    opened: closing it would drop the locks that this process holds on it (sqlite.org/howtocorrupt.html, 2.2).
    """
    private_folder(path.parent)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with contextlib.suppress(FileNotFoundError):
            if file.stat().st_mode & OTHERS:
                file.chmod(FILE_MODE)


def _opener(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, FILE_MODE)
    if os.fstat(descriptor).st_mode & OTHERS:
        os.fchmod(descriptor, FILE_MODE)
    return descriptor
