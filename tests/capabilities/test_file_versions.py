"""What a call replaces is kept under its key: once, for its tenant, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from planwright.capabilities.builtin import documents, files
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityForbidden, CapabilityRejected
from planwright.records.effects.file_versions import file_version
from planwright.records.stores import Stores
from planwright.security.jail import LARGEST

MakeWorld = Callable[..., CallContext]
OLD = b"\xff\x00old\r\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that is there before any call."""
    (tmp_path / "a.txt").write_bytes(OLD)
    return tmp_path / "a.txt"


def write(world: CallContext, text: str, name: str = "a.txt") -> str:
    written: files.Written = files.write.function(name, text, world)
    return written.version


def restore(world: CallContext, version: str, name: str = "a.txt") -> str:
    restored: files.RestoredFile = files.restore.function(name, version, world)
    return restored.version


def test_a_call_that_is_made_again_returns_the_version_of_the_first_time(
    make_world: MakeWorld, path: Path
) -> None:
    assert [write(make_world(), "new"), write(make_world(), "new")] == [file_version(OLD)] * 2
    assert write(make_world("key-2"), "new") == file_version(b"new")
    assert [restore(make_world("key-3"), file_version(OLD)) for _ in range(2)] == [file_version(b"new")] * 2
    assert path.read_bytes() == OLD


def test_what_a_person_wrote_between_two_attempts_is_kept_too(make_world: MakeWorld, path: Path) -> None:
    write(make_world(), "new")
    path.write_bytes(b"a person's")
    assert write(make_world(), "new") == file_version(b"a person's")
    restore(make_world("key-2"), file_version(b"a person's"))
    assert path.read_bytes() == b"a person's"


def test_a_new_file_goes_and_comes_back(make_world: MakeWorld, tmp_path: Path) -> None:
    assert write(make_world(), "new", "deep/b.md") == ""
    assert restore(make_world("key-2"), "", "deep/b.md") == file_version(b"new")
    assert not (tmp_path / "deep/b.md").exists()
    assert restore(make_world("key-2"), "", "deep/b.md") == file_version(b"new")
    assert restore(make_world("key-3"), file_version(b"new"), "./deep//b.md") == ""
    assert (tmp_path / "deep/b.md").read_bytes() == b"new"


def test_a_document_that_was_there_is_not_deleted_for_being_created_again(
    make_world: MakeWorld, tmp_path: Path
) -> None:
    first = documents.create.function("a.md", make_world(), text="x")
    again = documents.create.function("a.md", make_world("key-2"), text="x")
    assert (first.version, again.version) == ("", file_version((tmp_path / "a.md").read_bytes()))
    restore(make_world("key-3"), again.version, "a.md")
    assert (tmp_path / "a.md").exists()


def test_a_version_of_another_tenant_file_or_nobody_is_not_restored(
    make_world: MakeWorld, path: Path
) -> None:
    version = write(make_world(), "new")
    other = make_world().for_call("other", "run_2", "key-2")
    with pytest.raises(CapabilityRejected, match="has changed since, or no call"):
        restore(other, version)
    for name, wanted in (("b.txt", version), ("a.txt", "0" * 64), ("a.txt", "../../x"), ("a.txt", "")):
        with pytest.raises(CapabilityRejected, match="has changed since, or no call"):
            restore(make_world("key-3"), wanted, name)
    assert path.read_bytes() == b"new"
    with pytest.raises(CapabilityForbidden):
        restore(make_world("key-3"), version, "x.py")


def test_what_cannot_be_kept_is_not_replaced(make_world: MakeWorld, path: Path) -> None:
    with pytest.raises(CapabilityRejected, match="nothing keeps what a file held before"):
        write(replace(make_world(), file_versions=None), "new")
    path.write_bytes(bytes(LARGEST + 1))
    with pytest.raises(CapabilityRejected, match="larger than 5 MB"):
        write(make_world(), "new")
    assert path.stat().st_size == LARGEST + 1


def test_what_was_kept_and_then_changed_in_the_store_is_not_restored(
    make_world: MakeWorld, path: Path, tmp_path: Path, stores: Stores
) -> None:
    version = write(make_world(), "new")
    (tmp_path / "store" / "blobs" / version[:2] / version[2:]).write_bytes(b"another")
    with pytest.raises(Exception, match="was changed"):
        restore(make_world("key-2"), version)
    assert path.read_bytes() == b"new"
