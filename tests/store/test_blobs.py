"""Blobs: texts by their hash, and an error for one that was tampered with."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from planwright.domain.errors import RunError, StoreFailed
from planwright.store.blobs import Blobs

TEXT = "Grüße 🧾\r\n" * 1000


def path_of(folder: Path, digest: str) -> Path:
    return folder / digest[:2] / digest[2:]


def test_a_text_comes_back_as_it_was(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    digest = blobs.put(TEXT)
    assert digest == hashlib.sha256(TEXT.encode()).hexdigest()
    assert blobs.get(digest) == TEXT


def test_storing_a_text_again_changes_nothing(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    file = path_of(tmp_path, blobs.put(TEXT))
    before = file.stat()
    assert path_of(tmp_path, blobs.put(TEXT)) == file
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_nothing_but_the_text_is_left_behind(tmp_path: Path) -> None:
    digest = Blobs(tmp_path).put(TEXT)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path_of(tmp_path, digest)]


@pytest.mark.parametrize(
    "change", [b"", b"other", TEXT.encode() + b" "], ids=["emptied", "replaced", "longer"]
)
def test_a_changed_file_is_refused(tmp_path: Path, change: bytes) -> None:
    blobs = Blobs(tmp_path)
    digest = blobs.put(TEXT)
    path_of(tmp_path, digest).write_bytes(change)
    with pytest.raises(RunError, match=f"{digest[:12]} was changed") as refused:
        blobs.get(digest)
    assert "restore" in refused.value.next_step


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    digest = blobs.put(TEXT)
    path_of(tmp_path, digest).unlink()
    with pytest.raises(RunError, match=f"{digest[:12]} is gone"):
        blobs.get(digest)


def test_the_same_text_from_many_threads_is_stored_by_all(tmp_path: Path) -> None:
    def put(_: int) -> list[str]:
        return [Blobs(tmp_path).put(f"text {n}") for n in range(40)]

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(put, range(4))
    assert all(digests == first for digests in others)
    assert len({path for path in tmp_path.rglob("*") if path.is_file()}) == 40


def test_a_folder_that_cannot_be_written_is_a_fault_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("in the way")
    with pytest.raises(StoreFailed, match="cannot write to"):
        Blobs(tmp_path / "blobs").put("text")
