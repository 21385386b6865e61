"""Mail as it lies on a disk: a maildir, an mbox file, or a folder of .eml and mbox files."""

from __future__ import annotations

import mailbox
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from planwright.domain.errors import CapabilityRejected

LARGEST = 1_000_000  # bytes of a message that are read: its text stands before what is attached
LARGEST_MBOX = 500_000_000  # bytes; each search goes through all of it
_MBOX_BEGINS = b"From "  # RFC 4155


@dataclass(frozen=True)
class StoredMail:
    """A message as it is stored, or why it cannot be read."""

    name: str
    """Name of its file, or of its mbox with its number, below the place of the mail."""
    data: bytes = b""
    """Its first bytes, up to the largest that is read."""
    unreadable: str = ""
    """Why it cannot be read; "" where it can."""


def stored_mails(place: Path) -> Iterator[StoredMail]:
    """Walk the messages at a place. Raises CapabilityRejected where there is no mail.

    Hidden folders (`.Drafts`) and links are left out; a folder that is a maildir may hold files beside it.
    """
    if place.is_file():
        yield from _mbox(place, place.name) if _is_mbox(place) else [_file(place, place.name)]
        return
    if not holds_mail(place):
        raise CapabilityRejected(
            f"there is no mail at {place}: no maildir, no .eml and no mbox file",
            "set sources.mail in planwright.toml",
        )
    if (place / "cur").is_dir():
        yield from _maildir(place)
    for path in _files(place):
        name = str(path.relative_to(place))
        yield from _mbox(path, name) if _is_mbox(path) else [_file(path, name)]


def holds_mail(place: Path) -> bool:
    """Say whether there is mail at a place."""
    return place.is_file() or (place / "cur").is_dir() or next(_files(place), None) is not None


def _maildir(place: Path) -> Iterator[StoredMail]:
    box = mailbox.Maildir(place, create=False)
    for key in box.keys():  # noqa: SIM118 - a Maildir is no dict
        try:
            with box.get_file(key) as file:
                yield StoredMail(key, bytes(file.read(LARGEST)))
        except (OSError, KeyError):  # another program has moved or deleted it meanwhile
            continue


def _files(place: Path) -> Iterator[Path]:
    """Walk the .eml and mbox files below a folder, sorted, except in the folders of a maildir."""
    for folder, folders, names in os.walk(place):
        maildir = {"cur", "new", "tmp"} if "cur" in folders else set()
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in maildir)
        for name in sorted(names):
            path = Path(folder, name)
            plain = not name.startswith(".") and stat.S_ISREG(path.lstat().st_mode)
            if plain and (path.suffix.lower() == ".eml" or _is_mbox(path)):
                yield path


def _is_mbox(path: Path) -> bool:
    """Say whether a file is an mbox: by its ending, or where it has none by its beginning."""
    if path.suffix.lower() in (".mbox", ".mbx"):
        return True
    if path.suffix:
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_MBOX_BEGINS)) == _MBOX_BEGINS
    except OSError:
        return False


def _mbox(path: Path, name: str) -> Iterator[StoredMail]:
    try:
        if path.stat().st_size > LARGEST_MBOX:
            yield StoredMail(name, unreadable=f"the mbox is larger than {LARGEST_MBOX // 1_000_000} MB")
            return
        box = mailbox.mbox(path, create=False)
        try:
            keys = list(box.keys())
            for number, key in enumerate(keys, 1):
                with box.get_file(key) as file:
                    yield StoredMail(f"{name}#{number}", bytes(file.read(LARGEST)))
            if not keys and path.stat().st_size:
                yield StoredMail(name, unreadable="it is no mbox: it does not begin with a line From")
        finally:
            box.close()
    except OSError as error:
        yield StoredMail(name, unreadable=error.strerror or "it cannot be read")


def _file(path: Path, name: str) -> StoredMail:
    try:
        with path.open("rb") as file:
            return StoredMail(name, file.read(LARGEST))
    except OSError as error:
        return StoredMail(name, unreadable=error.strerror or "it cannot be read")
