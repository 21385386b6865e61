"""Large values by content hash: `blobs/ab/cdef…`, written once and never changed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
from pathlib import Path

from planwright.domain.errors import RunError
from planwright.security.redaction.redactor import Redactor
from planwright.store.private_files import open_private, sync_folder
from planwright.store.store_errors import store_error


class Blobs:
    """A folder of immutable texts and files named by their sha256."""

    def __init__(self, folder: Path, redactor: Redactor | None = None) -> None:
        self._folder = folder
        self._redactor = redactor or Redactor()

    def put(self, text: str) -> str:
        """Store a text durably and return its hash; storing it again costs nothing."""
        return self.put_bytes(self._redactor.document(text).encode())

    def put_bytes(self, data: bytes) -> str:
        """Store bytes durably, as they are, and return their hash; who calls knows they hold no secret.

        Raises StoreFailed.
        """
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        draft = path.with_name(f".{uuid.uuid4().hex}")
        try:
            if not path.exists():
                with open_private(draft, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(path)
                sync_folder(path.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise store_error(path, error) from error
        return digest

    def get(self, digest: str) -> str:
        """Read a text. Raises RunError when it is gone or no longer matches its hash."""
        return self.get_bytes(digest).decode()

    def get_bytes(self, digest: str) -> bytes:
        """Read bytes. Raises RunError when they are gone or no longer match their hash."""
        try:
            data = self._path(digest).read_bytes()
        except OSError as error:
            raise gone(digest, str(error)) from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise changed(digest)
        return data

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest[2:]


def gone(digest: str, reason: str) -> RunError:
    """Say that a content is not there."""
    return RunError(
        f"the recorded result {digest[:12]} is gone: {reason}", "restore .planwright/blobs from a backup"
    )


def changed(digest: str) -> RunError:
    """Say that a content is not the one that was stored."""
    return RunError(f"the recorded result {digest[:12]} was changed", "restore .planwright/blobs")
