"""The workspace jail: files below one folder, and no way out of it.

A path is opened component by component, relative to the descriptor of its parent and without
following links, so that a link swapped in between a check and its use leads nowhere.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from planwright.graph.errors import CapabilityForbidden, CapabilityRejected

# Ours, git's, and the LangGraph server's, whose pickles run code when it reads them; and what says what a
# call may do: no call changes that, or reads the keys that may stand in it.
HIDDEN = (".planwright", ".git", ".langgraph_api", "planwright.toml", "policy.toml")
MAX_PATH, MAX_NAME = 1024, 200
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a named pipe must not block
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Jail:
    """Read and write files inside a folder."""

    def __init__(self, root: Path, hidden: tuple[str, ...] = HIDDEN) -> None:
        self.root = root.resolve()
        self._hidden = tuple(PurePosixPath(name) for name in hidden)

    def check(self, path: str) -> tuple[str, ...]:
        """Split a path into its components. Raises CapabilityRejected when it may lead outside."""
        if "\0" in path or "\\" in path or not _encodable(path):
            raise _outside(path, "it holds a character no file name here has")
        pure = PurePosixPath(path)
        if len(path) > MAX_PATH or any(len(part.encode()) > MAX_NAME for part in pure.parts):
            raise _outside(f"{path[:40]}…", "it is too long")
        if pure.is_absolute() or path.startswith("~"):
            raise _outside(path, "it is absolute")
        if ".." in pure.parts:
            raise _outside(path, "it climbs out with `..`")
        if any(pure.is_relative_to(hidden) for hidden in self._hidden):
            raise _outside(path, "that belongs to the program")
        self._refuse_links(pure)
        return pure.parts

    def read(self, path: str, limit: int = 5_000_000) -> str:
        """Read a text file."""
        with self._parent(path) as (folder, name):
            try:
                descriptor = os.open(name, _READ, dir_fd=folder)
            except OSError as error:
                raise _no_file(path, error) from error
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.close(descriptor)
                raise CapabilityRejected(f"{path} is not a file")
            with open(descriptor, "rb") as file:
                data = file.read(limit + 1)
        if len(data) > limit:
            raise CapabilityRejected(f"{path} is larger than {limit // 1_000_000} MB")
        return data.decode("utf-8", errors="replace")

    def write(self, path: str, text: str) -> int:
        """Write a text file in one step: readers see the old content or the new. Returns bytes."""
        data = text.encode()
        with self._parent(path, create=True) as (folder, name):
            draft = f".{uuid.uuid4().hex}.draft"
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                with open(os.open(draft, flags, 0o644, dir_fd=folder), "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError as error:
                with suppress(OSError):
                    os.unlink(draft, dir_fd=folder)
                raise CapabilityRejected(f"cannot write {path}: {error.strerror}") from error
        return len(data)

    def files(self, path: str = ".") -> Iterator[str]:
        """Walk the files below a folder, as sorted relative paths; links and hidden files stay out."""
        start = self.root.joinpath(*self.check(path))
        if not start.is_dir():
            raise CapabilityRejected(f"there is no folder {path} in the workspace")
        for folder, subfolders, names in os.walk(start, followlinks=False):
            here = PurePosixPath(Path(folder).relative_to(self.root).as_posix())
            subfolders[:] = sorted(
                name for name in subfolders if not name.startswith(".") and here / name not in self._hidden
            )
            for name in sorted(names):
                file = Path(folder, name)
                if not name.startswith(".") and here / name not in self._hidden and not file.is_symlink():
                    yield file.relative_to(self.root).as_posix()

    def _refuse_links(self, pure: PurePosixPath) -> None:
        place = self.root
        for part in pure.parts:
            place = place / part
            if place.is_symlink():
                raise _outside(pure.as_posix(), f"{part} is a symbolic link")

    @contextmanager
    def _parent(self, path: str, create: bool = False) -> Iterator[tuple[int, str]]:
        parts = self.check(path)
        if not parts:
            raise CapabilityRejected(f"`{path}` names no file")
        folder = os.open(self.root, _FOLDER)
        try:
            for part in parts[:-1]:
                folder = _enter(folder, part, path, create)
            yield folder, parts[-1]
        finally:
            os.close(folder)


def _enter(folder: int, part: str, path: str, create: bool) -> int:
    try:
        if create:
            with suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=folder)
        inner = os.open(part, _FOLDER, dir_fd=folder)
    except OSError as error:
        raise _no_file(path, error) from error
    os.close(folder)
    return inner


def _encodable(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _outside(path: str, why: str) -> CapabilityForbidden:
    return CapabilityForbidden(
        f"the path {path!r} is outside the workspace: {why}",
        "name a file below the workspace folder, relative to it",
    )


def _no_file(path: str, error: OSError) -> CapabilityRejected:
    return CapabilityRejected(f"cannot open {path}: {error.strerror}", "see what is there with: files.list")
