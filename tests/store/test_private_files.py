"""Whatever the umask, and however open it was: the store and all that is in it is its owner's alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from planwright.graph.building import open_agent
from planwright.records.stores import open_stores
from planwright.store.private_files import (
    alone_in,
    lock_alone,
    open_private,
    private_database,
    private_folder,
    read_private,
    secret_of,
    write_private,
)
from planwright.store.store_errors import store_error

pytestmark = pytest.mark.sqlite


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """Give everybody all rights to new files."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """Name what somebody else may touch, under a folder and itself."""
    return [str(path) for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077]


def test_a_run_leaves_nothing_open_to_others(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("frost alert " * 1000, "utf-8")
    agent = open_agent(tmp_path)
    given = {"messages": [{"role": "user", "content": "Read long.txt and summarize it"}]}
    assert agent.invoke(given, {"configurable": {"thread_id": "t"}})["status"] == "completed"
    store = tmp_path / ".planwright"
    names = {path.name for path in store.rglob("*")}
    assert {"planwright.db", "planwright.db-wal", "planwright.db-shm", "blobs"} <= names
    assert open_to_others(store) == []
    agent.close()
    assert open_to_others(store) == []


def test_a_store_that_was_open_is_closed_when_it_is_opened(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    stores = open_stores(folder)
    digest = stores.blobs.put("secret")
    stores.database.call("open", lambda connection: None)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    stores.close()
    again = open_stores(folder)
    again.database.call("open", lambda connection: None)
    assert open_to_others(folder) == []
    assert again.blobs.get(digest) == "secret"
    again.close()


def test_a_link_out_of_the_store_is_not_followed(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside.txt", tmp_path / "store"
    outside.write_text("mine", "utf-8")
    folder.mkdir()
    (folder / "link").symlink_to(outside)
    private_folder(folder)
    assert stat.S_IMODE(outside.stat().st_mode) == 0o666


def test_a_database_is_made_once_and_never_emptied(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.db"
    private_database(path)
    path.write_text("rows", "utf-8")
    path.chmod(0o644)
    private_database(path)
    assert path.read_text("utf-8") == "rows"
    assert open_to_others(tmp_path / "deep") == []


def test_a_file_that_was_open_is_closed_when_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "store" / "allow.jsonl"
    write_private(path, "one\n")
    path.chmod(0o666)
    with open_private(path, "a", encoding="utf-8") as file:
        file.write("two\n")
    assert path.read_text("utf-8") == "one\ntwo\n"
    assert open_to_others(path.parent) == []


def test_what_others_may_have_written_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "token"
    assert read_private(path) == ""
    write_private(path, "ours")
    assert read_private(path) == "ours"
    path.chmod(0o660)
    assert read_private(path) == ""


def test_a_secret_is_made_once_for_its_owner_alone_and_anew_where_others_may_have_written_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store" / "some.key"
    made: list[bytes] = []
    first = secret_of(path, made.append)
    assert (secret_of(path, made.append), len(first), path.stat().st_mode & 0o077) == (first, 64, 0)
    path.chmod(0o666)
    assert secret_of(path, made.append) != first
    assert path.stat().st_mode & 0o077 == 0


def test_nobody_waits_for_ever_for_a_process_that_stands_still_with_a_lock(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        with alone_in(tmp_path), pytest.raises(TimeoutError) as raised:  # another opening is another owner
            lock_alone(descriptor, 0.02)
        assert store_error(tmp_path, raised.value).cause == f"{tmp_path} is locked by another program"
        lock_alone(descriptor, 0.02)
    finally:
        os.close(descriptor)
