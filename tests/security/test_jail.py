"""The workspace jail: no path leads out of it, into the program's own files, or into a hang."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from planwright.domain.errors import CapabilityRejected
from planwright.security.jail import Jail

SECRET = "the secret"
Do = Callable[[Jail, str], object]
DEEDS: dict[str, Do] = {
    "read": lambda jail, path: jail.read(path),
    "write": lambda jail, path: jail.write(path, "mine now"),
    "list": lambda jail, path: list(jail.files(path)),
}
HOSTILE = [
    "..", "../", "../secret.txt", "../../secret.txt", "notes/..", "notes/../..",
    "notes/../../secret.txt", "./../secret.txt", "notes/./../../secret.txt", "..//secret.txt",
    "notes/sub/../../../secret.txt", ".../../secret.txt", "/", "//", "/secret.txt", "//secret.txt",
    "/etc/passwd", "/proc/self/environ", "/dev/stdin", "{root}/notes/a.txt", "{outside}/secret.txt",
    "~", "~/secret.txt", "~root/.ssh/id_rsa", "~\0", "\0", "a\0b", "notes/a.txt\0", "notes\0/../..",
    "..\\secret.txt", "notes\\a.txt", "C:\\secret.txt", "\\\\host\\share", ".planwright",
    ".planwright/planwright.db", "./.planwright/planwright.db", ".//.planwright/planwright.db",
    ".planwright/blobs/ab/cd", ".git", ".git/config", "./.git/hooks/pre-commit", "link.txt",
    ".langgraph_api", ".langgraph_api/store.pckl",
    "link-to-folder", "link-to-folder/secret.txt", "link-to-folder/new.txt", "link-to-root/etc/passwd",
    "link-to-itself", "link-inside", "link-inside/a.txt", "dangling", "dangling/x", "notes/link.txt",
    "notes/sub/link-up/secret.txt", "x" * 300, "notes/" + "x" * 300, "x/" * 3000 + "y", "\ud83e",
    "notes/\ud83e.txt",
]  # fmt: skip


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET)
    return folder


@pytest.fixture
def jail(tmp_path: Path, outside: Path) -> Jail:
    root = tmp_path / "outside" / "root"
    for folder in ("notes/sub", ".planwright/blobs/ab", ".git/hooks", "notes/.hidden"):
        (root / folder).mkdir(parents=True)
    for file in (
        ".planwright/planwright.db",
        ".planwright/blobs/ab/cd",
        ".git/config",
        ".git/hooks/pre-commit",
    ):
        (root / file).write_text(SECRET)
    for file in ("notes/a.txt", "notes/sub/b.txt", "z.md", "notes/.dotfile", "notes/.hidden/c.txt"):
        (root / file).write_text(f"content of {file}")
    (root / "link.txt").symlink_to(outside / "secret.txt")
    (root / "notes/link.txt").symlink_to("../../secret.txt")
    (root / "link-to-folder").symlink_to(outside)
    (root / "link-to-root").symlink_to("/")
    (root / "link-to-itself").symlink_to("link-to-itself")
    (root / "link-inside").symlink_to("notes")
    (root / "dangling").symlink_to("nowhere")
    (root / "notes/sub/link-up").symlink_to("../../..")
    return Jail(root)


def everything(folder: Path) -> dict[str, str]:
    """Read every plain file below a folder, links not followed."""
    found: dict[str, str] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            file = Path(place, name)
            if file.is_file() and not file.is_symlink():
                found[str(file)] = file.read_text()
    return found


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: ascii(path[:30]))
def test_a_hostile_path_is_rejected_and_nothing_changes(
    jail: Jail, outside: Path, path: str, deed: str
) -> None:
    before = everything(outside)
    with pytest.raises(CapabilityRejected):
        DEEDS[deed](jail, path.format(root=jail.root, outside=outside))
    after = everything(outside)
    assert before == {path: text for path, text in after.items() if path in before}
    assert [path for path in after if path not in before] == []


def test_the_list_of_hostile_paths_is_long_enough() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 40


@pytest.mark.parametrize(
    "path", ["notes/a.txt", "./notes/a.txt", "notes//a.txt", "notes/./a.txt", "notes/a.txt/"]
)
def test_a_path_inside_is_read(jail: Jail, path: str) -> None:
    assert jail.read(path) == "content of notes/a.txt"


@pytest.mark.parametrize(
    "path", ["new.txt", "notes/new.txt", "a/b/c/new.txt", "...", "..new", "-rf", "ü 🧾.txt", "a b"]
)
def test_a_path_inside_is_written_with_its_folders(jail: Jail, path: str) -> None:
    assert jail.write(path, "Grüße") == 7
    assert (jail.root / path).read_text(encoding="utf-8") == "Grüße"


def test_a_file_is_replaced_as_a_whole(jail: Jail) -> None:
    jail.write("notes/a.txt", "short")
    assert (jail.root / "notes/a.txt").read_text() == "short"


@pytest.mark.parametrize("path", ["missing.txt", "missing/a.txt", "notes/a.txt/b", "notes", ".", ""])
def test_what_is_no_file_cannot_be_read(jail: Jail, path: str) -> None:
    with pytest.raises(CapabilityRejected):
        jail.read(path)


@pytest.mark.parametrize("path", ["notes", ".", "", "notes/a.txt/b"])
def test_what_is_no_file_cannot_be_written_and_no_draft_stays_behind(jail: Jail, path: str) -> None:
    before = everything(jail.root)
    with pytest.raises(CapabilityRejected):
        jail.write(path, "x")
    assert everything(jail.root) == before


@pytest.mark.parametrize("path", ["missing", "notes/a.txt"])
def test_what_is_no_folder_cannot_be_listed(jail: Jail, path: str) -> None:
    with pytest.raises(CapabilityRejected, match="there is no folder"):
        list(jail.files(path))


def test_a_listing_leaves_out_links_and_hidden_files(jail: Jail) -> None:
    assert list(jail.files()) == ["z.md", "notes/a.txt", "notes/sub/b.txt"]
    assert list(jail.files("notes")) == ["notes/a.txt", "notes/sub/b.txt"]


def test_a_file_that_is_too_large_is_rejected(jail: Jail) -> None:
    (jail.root / "large.txt").write_bytes(b"x" * 11)
    assert jail.read("large.txt", limit=11) == "x" * 11
    with pytest.raises(CapabilityRejected, match="larger than"):
        jail.read("large.txt", limit=10)


def test_a_file_that_is_no_text_is_read_with_marks(jail: Jail) -> None:
    (jail.root / "image").write_bytes(b"\x89PNG\xff")
    assert jail.read("image") == "\ufffdPNG\ufffd"


@pytest.fixture
def pipe(jail: Jail) -> Iterator[str]:
    """A named pipe nobody writes to; opened and closed at the end, to free who waits for it."""
    path = jail.root / "pipe"
    os.mkfifo(path)
    yield "pipe"
    os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))


def test_a_named_pipe_is_rejected_and_nobody_waits_for_it(jail: Jail, pipe: str) -> None:
    said: list[str] = []

    def read() -> None:
        try:
            said.append(jail.read(pipe))
        except CapabilityRejected as error:
            said.append(error.cause)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(3)
    assert said == ["pipe is not a file"]


def test_writers_of_the_same_file_do_not_disturb_each_other(jail: Jail) -> None:
    def write(writer: int) -> None:
        for _ in range(50):
            jail.write("shared.txt", str(writer) * 5000)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    text = jail.read("shared.txt")
    assert len(text) == 5000
    assert len(set(text)) == 1
    assert [name for name in os.listdir(jail.root) if name.endswith(".draft")] == []


def test_a_link_that_is_swapped_in_leads_nowhere(jail: Jail, outside: Path) -> None:
    """Turn a folder into a link to the outside and back, as fast as possible, while using it."""
    door, stop = jail.root / "door", threading.Event()

    def swap() -> None:
        while not stop.wait(0.0002):
            shutil.rmtree(door, ignore_errors=True)
            with suppress(FileExistsError):
                door.symlink_to(outside)
            stop.wait(0.0002)
            with suppress(OSError):
                door.unlink()

    seen = {"through": 0, "rejected": 0}
    with ThreadPoolExecutor(1) as pool:
        swapping = pool.submit(swap)
        for deed in ("write", "read", "list") * 2000:
            try:
                assert DEEDS[deed](jail, "door" if deed == "list" else "door/secret.txt") != SECRET
                seen["through"] += 1
            except CapabilityRejected:
                seen["rejected"] += 1
            if min(seen.values()) >= 100:
                break
        stop.set()
        swapping.result(10)
    assert min(seen.values()) > 0
    assert sorted(os.listdir(outside)) == ["root", "secret.txt"]
    assert (outside / "secret.txt").read_text() == SECRET
