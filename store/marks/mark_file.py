"""The file of a mark: the newest effect that was begun in a store, and what is known of those before it.

It lies beside the store, not in it, so it stays where it is when the store is put back or loses its end. All
of it are slots of one size that are overwritten in place: nothing has to be cut off or renamed, whichever
processes write, and a sync is one page. The first is the head. A slot that cannot be read says nothing.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from planwright.domain.risk import Effect
from planwright.store.private_files import FILE_MODE, lock_alone, private_folder, sync_folder

SLOT = 1024
"""Bytes of a slot; whole ones fit into the sectors of a disk, so writing one damages no other."""
SLOTS = 1023
"""Effects of which there are details: as many slots, the newest in each. With the head it is 1 MB at most."""
GROWTH = 64
"""Slots by which the file grows at once."""
_CHECK = 8


class Head(NamedTuple):
    """An entry of the audit chain, which all entries before it follow from."""

    n: int
    """Number of the entry."""
    hash: str
    """Its hash, as 64 hex digits."""


class BegunEffect(BaseModel):
    """An effect as it was begun: enough to look for it, and to put it on record again; no arguments."""

    model_config = ConfigDict(frozen=True)
    n: int
    """Number of the entry of the audit chain that it was begun with."""
    hash: str
    """Hash of that entry."""
    place: int
    """Number of its row; effects that follow each other have others in the mark."""
    key: str
    """Idempotency key in the ledger, 64 hex digits."""
    first_key: str | None
    """Key that its receiver was sent where that is another; None where it is the same."""
    run_id: str
    """Id of the run that it was begun in."""
    thread_id: str
    """Thread of that run."""
    step_uid: str
    """Uid of the step or call that had it."""
    attempt: int
    """Number of the attempt."""
    ordinal: int
    """Number of the effect within the attempt."""
    capability: str
    """Name of the capability."""
    effect: Effect
    """Its effect class."""
    args_hash: str
    """Hash of its arguments."""
    unasked: int
    """1 where no person decided over it, else 0."""
    intended_at: str
    """When it was begun, in ISO 8601."""

    @property
    def head(self) -> Head:
        """The entry that it was begun with."""
        return Head(self.n, self.hash)

    @property
    def sent_key(self) -> str:
        """The key that its receiver may know it by."""
        return self.first_key or self.key


class MarkFile:
    """The file at one path."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def head(self) -> Head | None:
        """Read the newest entry; None where there is no mark. Raises OSError."""
        with self._opened() as descriptor:
            if descriptor < 0:
                return None
            if (head := _head(descriptor)) is not None:
                return head
        return max((effect.head for effect in self.effects()), default=None)

    def effects(self) -> list[BegunEffect]:
        """Read the effects, in the order they were begun. Raises OSError."""
        with self._opened() as descriptor:
            data = b"" if descriptor < 0 else os.pread(descriptor, SLOT * (SLOTS + 1), 0)
        texts = (_text(data[place : place + SLOT]) for place in range(SLOT, len(data), SLOT))
        effects = []
        for text in filter(None, texts):
            with contextlib.suppress(ValidationError):  # of another version of this program
                effects.append(BegunEffect.model_validate_json(text))
        return sorted(effects, key=lambda effect: effect.n)

    def write(self, head: Head, effects: Iterable[BegunEffect] = (), instead_of: Head | None = None) -> None:
        """Raise the mark to a head, and return when the disk has it. Raises OSError.

        It is lowered only where it still stands at `instead_of`.
        """
        private_folder(self.path.parent)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            lock_alone(descriptor)
            size = os.fstat(descriptor).st_size
            before = _head(descriptor)
            for effect in effects:
                size = _write(descriptor, 1 + effect.place % SLOTS, effect.model_dump_json(), size)
            if before is None or before == instead_of or before.n < head.n:
                _write(descriptor, 0, json.dumps(head), size)
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)
        if before is None:
            sync_folder(self.path.parent)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        try:
            descriptor = os.open(self.path, os.O_RDONLY)
        except FileNotFoundError:
            yield -1
            return
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def _head(descriptor: int) -> Head | None:
    text = _text(os.pread(descriptor, SLOT, 0))
    return Head(*json.loads(text)) if text else None


def _write(descriptor: int, number: int, text: str, size: int) -> int:
    """Write a slot, and return the size of the file; what does not fit the head tells of all the same.

    A file that grew with each slot would have the disk write down its new size each time (3 to 10 times the
    time of a sync on ext4), so it grows by many.
    """
    body = text.encode()
    if len(body) > SLOT - _CHECK - 1:
        return size
    if (number + 1) * SLOT > size:
        grown = min(SLOT * (number // GROWTH + 1) * GROWTH, SLOT * (SLOTS + 1))
        _put(descriptor, bytes(grown - size), size)
        size = grown
    _put(descriptor, body.ljust(SLOT - _CHECK - 1) + b"%08x\n" % zlib.crc32(body), number * SLOT)
    return size


def _put(descriptor: int, data: bytes, place: int) -> None:
    if os.pwrite(descriptor, data, place) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _text(slot: bytes) -> str:
    """Read the text of a slot; "" for one that is empty, or is not as it was written."""
    body, check = slot[: -_CHECK - 1].rstrip(b" \0"), slot[-_CHECK - 1 : -1]
    return body.decode() if body and check == b"%08x" % zlib.crc32(body) else ""
