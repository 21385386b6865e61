"""The workspace jail: files below one folder, and no way out of it.

A path is opened component by component, relative to the descriptor of its parent and without
following links, so that a link swapped in between a check and its use leads nowhere.
"""

from __future__ import annotations

import hashlib
import os
import stat
import unicodedata
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from planwright.domain.errors import CapabilityForbidden, CapabilityRejected
from planwright.security.key_files import ReadableFiles, folded_parts
from planwright.security.redaction.key_forms import holds_private_key

# Ours, git's, and the LangGraph server's, whose pickles run code when it reads them; and files that
# hold keys or start programs. Wherever they are: a workspace may hold another one.
HIDDEN = (".planwright", ".git", ".langgraph_api", "planwright.toml", "policy.toml", ".mcp.json", ".env")
DECISIONS = "decisions"  # the folder of the decision catalog; what else is in one of that name is anybody's
READ_ONLY = ("langgraph.json",)
_NEVER = "no setting lets it be read or written: name another file"
_ELSEWHERE = "no setting allows it: write a file of another name"
MAX_PATH, MAX_NAME, LARGEST = 1024, 200, 5_000_000
# A named pipe must not block.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Jail:
    """Read and write files inside a folder.

    What is in HIDDEN is out of reach wherever it stands, what is in `hidden` at its path from the root;
    `read_only` paths can be read and not written; `reading` says what is read.
    """

    def __init__(
        self,
        root: Path,
        hidden: tuple[str, ...] = (),
        read_only: tuple[str, ...] = READ_ONLY,
        reading: ReadableFiles | None = None,
    ) -> None:
        self.root = root.resolve()
        self._reading = reading or ReadableFiles()
        self._hidden = tuple(folded_parts(PurePosixPath(name).parts) for name in hidden)
        self._read_only = tuple(folded_parts(PurePosixPath(name).parts) for name in read_only)

    def check(self, path: str, *, write: bool = False) -> tuple[str, ...]:
        """Split a path into its components. Raises CapabilityForbidden when it may lead outside."""
        if "\\" in path or not _speakable(path):
            raise _outside(path, "it holds a character no file name here has")
        pure = PurePosixPath(path)
        if len(path) > MAX_PATH or any(len(part.encode()) > MAX_NAME for part in pure.parts):
            raise _outside(f"{path[:40]}…", "it is too long")
        if pure.is_absolute() or path.startswith("~"):
            raise _outside(path, "it is absolute")
        if ".." in pure.parts:
            raise _outside(path, "it climbs out with `..`")
        if self._hides(pure.parts):
            raise _outside(path, "that belongs to the program, or holds its keys", _NEVER)
        names = folded_parts(pure.parts)
        if write and any(names[: len(reserved)] == reserved for reserved in self._read_only):
            raise CapabilityForbidden(f"{path} decides what may run; it can be read, not written", _ELSEWHERE)
        self._refuse_links(pure)
        return pure.parts

    def check_readable(self, path: str) -> tuple[str, ...]:
        """Split the path of a file that is to be read. Raises CapabilityForbidden where it is not."""
        parts = self.check(path)
        if why := self._reading.why_not(parts):
            raise _not_read(path, why)
        return parts

    def read(self, path: str, limit: int = LARGEST) -> str:
        """Read a text file."""
        return self.read_bytes(path, limit).decode("utf-8", errors="replace")

    def read_bytes(self, path: str, limit: int = LARGEST) -> bytes:
        """Read a plain file that has no other name, which might be one outside."""
        with self._opened(path) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise CapabilityRejected(f"{path} is larger than {limit / 1_000_000:g} MB")
        if holds_private_key(data) and not self._reading.lists(self.check(path)):
            raise _not_read(path, "a private key is in it")
        return data

    def beginning(self, path: str, size: int) -> tuple[bytes, int] | None:
        """Read the first bytes of a file, and its mode; None where there is none."""
        try:
            with self._opened(path) as file:
                return file.read(size), os.fstat(file.fileno()).st_mode
        except CapabilityRejected as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def digest(self, path: str, first: int) -> tuple[str, int, bytes] | None:
        """Hash a file of any size: its SHA-256 in hex, its size, its first bytes; None for no file.

        Of a file that is not read there are no bytes: a program that opens it by itself may pass it on, and
        what is approved is its content all the same.
        """
        parts = self.check(path)
        try:
            with self._opened(path, readable=False) as file:
                beginning = b"" if self._reading.why_not(parts) else file.read(first)
                if holds_private_key(beginning) and not self._reading.lists(parts):
                    beginning = b""
                file.seek(0)
                hashed = hashlib.sha256()
                while block := file.read(1 << 20):
                    hashed.update(block)
                return hashed.hexdigest(), file.tell(), beginning
        except CapabilityRejected as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def write(self, path: str, text: str) -> int:
        """Write a text file in one step: readers see the old content or the new. Returns bytes."""
        return self.write_bytes(path, text.encode())

    def write_bytes(self, path: str, data: bytes) -> int:
        """Write a file in one step, as a new file: other names of an old one keep the old content."""
        with self._parent(path, write=True) as (folder, name):
            draft = f".{uuid.uuid4().hex}.draft"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                _replaceable(path, name, folder)
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

    def remove(self, path: str) -> None:
        """Delete a plain file."""
        with self._parent(path, write=True) as (folder, name):
            try:
                _plain(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
                os.unlink(name, dir_fd=folder)
                os.fsync(folder)
            except OSError as error:
                raise _no_file(path, error) from error

    def make_folder(self, path: str) -> None:
        """Make a folder, and those above it, unless they are there."""
        os.close(self._descend(self.check(path, write=True), path, create=True))

    def files(self, path: str = ".") -> Iterator[str]:
        """Walk the plain files below a folder, as sorted relative paths; links and hidden files stay out.

        A folder that goes away, or turns into a link, on the way is left out.
        """
        start = PurePosixPath(*self.check(path))
        try:
            pending, entries = [start], self._entries(start)
        except CapabilityRejected as error:
            raise CapabilityRejected(f"there is no folder {path} in the workspace") from error
        while pending:
            here = pending.pop()
            if here != start:
                try:
                    entries = self._entries(here)
                except CapabilityRejected:
                    continue
            folders, names = entries
            yield from (str(here / name) for name in names)
            pending += [here / name for name in reversed(folders) if not self._hides((here / name).parts)]

    def _entries(self, here: PurePosixPath) -> tuple[list[str], list[str]]:
        """List the names of the folders and plain files in a folder."""
        folder = self._descend(here.parts, str(here))
        try:
            with os.scandir(folder) as entries:
                visible = [e for e in entries if self._lists(here, e.name) and _speakable(e.name)]
                folders = sorted(entry.name for entry in visible if entry.is_dir(follow_symlinks=False))
                names = sorted(entry.name for entry in visible if entry.is_file(follow_symlinks=False))
        except OSError as error:
            raise _no_file(str(here), error) from error
        finally:
            os.close(folder)
        return folders, [name for name in names if not self._hides((here / name).parts)]

    def _lists(self, here: PurePosixPath, name: str) -> bool:
        return not name.startswith(".") or self._reading.lists((here / name).parts)

    def _hides(self, parts: tuple[str, ...]) -> bool:
        names = folded_parts(parts)
        if any(part in HIDDEN for part in names):
            return True
        if names[-2:-1] == (DECISIONS,) and names[-1].endswith(".toml"):
            return True
        return any(names[: len(hidden)] == hidden for hidden in self._hidden)

    def _refuse_links(self, pure: PurePosixPath) -> None:
        place = self.root
        for part in pure.parts:
            place = place / part
            if os.path.islink(place):
                raise _outside(pure.as_posix(), f"{part} is a symbolic link")

    @contextmanager
    def _opened(self, path: str, *, readable: bool = True) -> Iterator[BinaryIO]:
        """Open a plain file for reading; `readable` where it has to be one that is read."""
        if readable:
            self.check_readable(path)
        with self._parent(path) as (folder, name):
            try:
                _plain(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
                descriptor = os.open(name, _READ, dir_fd=folder)
            except OSError as error:
                raise _no_file(path, error) from error
            with open(descriptor, "rb") as file:
                _plain(path, os.fstat(descriptor))
                yield file

    @contextmanager
    def _parent(self, path: str, *, write: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder a path lies in, made if it is to be written."""
        parts = self.check(path, write=write)
        if not parts:
            raise CapabilityRejected(f"`{path}` names no file")
        folder = self._descend(parts[:-1], path, create=write)
        try:
            yield folder, parts[-1]
        finally:
            os.close(folder)

    def _descend(self, parts: tuple[str, ...], path: str, *, create: bool = False) -> int:
        """Go down folder by folder, following nothing, and return the descriptor of the last."""
        try:
            folder = os.open(self.root, _FOLDER)
        except OSError as error:
            raise _no_file(path, error) from error
        for part in parts:
            try:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=folder)
                inner = os.open(part, _FOLDER, dir_fd=folder)
            except OSError as error:
                raise _no_file(path, error) from error
            finally:
                os.close(folder)
            folder = inner
        return folder


def _plain(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise CapabilityRejected(f"{path} is not a file")
    if status.st_nlink > 1:
        raise _outside(path, "it is a hard link, and its other name may be anywhere")


def _replaceable(path: str, name: str, folder: int) -> None:
    """Raise CapabilityRejected where something else than a file stands: a pipe, a device, a folder."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise CapabilityRejected(f"cannot write {path}: something that is no file is there")


def _speakable(path: str) -> bool:
    """Say whether a path has no control characters, which forge lines, and no half characters."""
    return not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in path)


def _outside(
    path: str, why: str, next_step: str = "name a file below the workspace folder, relative to it"
) -> CapabilityForbidden:
    return CapabilityForbidden(f"the path {path!r} is outside the workspace: {why}", next_step)


def _not_read(path: str, why: str) -> CapabilityForbidden:
    return CapabilityForbidden(
        f"{path} is not read: {why}", f'list it in planwright.toml: [files] readable = ["{path}"]'
    )


def _no_file(path: str, error: OSError) -> CapabilityRejected:
    return CapabilityRejected(f"cannot open {path}: {error.strerror}", "see what is there with: files.list")
