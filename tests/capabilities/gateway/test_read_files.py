"""Which files a call passes on, by its declaration and its arguments, and what they hold."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated

import pytest
from pydantic import BaseModel, Field, JsonValue

from planwright.capabilities.builtin.files import write
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.gateway.read_files import files_read, same_files, shown_files

Path_ = Annotated[str, Field(json_schema_extra={"format": "path"})]


@capability("post.files", mode="local_write")
def post(
    one: Path_ = "",
    many: Annotated[list[str], Field(json_schema_extra={"format": "path"})] = [],  # noqa: B006
    perhaps: Path_ | None = None,
    text: str = "",
) -> str:
    """Post files."""
    return "posted"


class Sheet(BaseModel):
    """A page of a letter."""

    file: Path_
    title: str = ""


@capability("post.letter", mode="local_write")
def letter(
    first: Sheet | None = None,
    more: list[Sheet] = [],  # noqa: B006
    by_name: dict[str, Path_] = {},  # noqa: B006
    rows: list[list[Path_]] = [],  # noqa: B006
) -> str:
    """Post a letter."""
    return "posted"


@capability("post.look", mode="read_only")
def look(one: Path_) -> str:
    """Look at a file."""
    return one


@capability("post.ask", mode="network", effect="pure")
def ask(one: Path_) -> str:
    """Ask somebody outside about a file."""
    return one


@pytest.fixture
def world(make_world: Callable[..., CallContext]) -> CallContext:
    made = make_world()
    for name, data in (("a.md", b"text of a"), ("b.bin", b"\0\xff"), ("long.md", "\u00e9".encode() * 300)):
        (made.settings.workspace / name).write_bytes(data)
    return made


@pytest.mark.parametrize(
    ("called", "params", "paths"),
    [
        (post, {"one": "a.md"}, ["a.md"]),
        (ask, {"one": "a.md"}, ["a.md"]),
        (post, {"many": ["b.bin", "a.md"], "perhaps": "long.md"}, ["a.md", "b.bin", "long.md"]),
        (post, {"one": "{{steps.s1.output.path}}", "perhaps": None, "text": "a.md"}, []),
        (post, {"one": "gone.md"}, ["gone.md"]),
        (letter, {"first": {"file": "a.md", "title": "b.bin"}}, ["a.md"]),
        (letter, {"more": [{"file": "b.bin"}, {"file": "a.md"}]}, ["a.md", "b.bin"]),
        (letter, {"by_name": {"x": "a.md"}, "rows": [["long.md"], []]}, ["a.md", "long.md"]),
        (look, {"one": "a.md"}, []),
        (write, {"path": "a.md", "text": "new"}, []),
        (write, {"path": "./a.md", "text": "new"}, []),
    ],
    ids=[
        "one",
        "a read that tells others",
        "several",
        "not known",
        "gone",
        "in a field of an argument",
        "in a list of such",
        "under names, and in lists of lists",
        "a read",
        "what is overwritten",
        "spelled otherwise",
    ],
)
def test_the_files_of_a_call(
    called: Capability, params: dict[str, JsonValue], paths: list[str], world: CallContext
) -> None:
    assert [file.path for file in files_read(called, params, world)] == paths


def test_a_file_is_known_by_its_content(world: CallContext) -> None:
    (file,) = files_read(post, {"one": "a.md"}, world)
    assert (file.sha256, file.size) == (hashlib.sha256(b"text of a").hexdigest(), 9)
    assert file.beginning == "text of a"
    card = shown_files((file,))
    (world.settings.workspace / "a.md").write_bytes(b"other")
    assert same_files(card, (file,))
    assert not same_files(card, files_read(post, {"one": "a.md"}, world))
    assert not same_files({}, (file,))


@pytest.mark.parametrize("name", ["deploy.key", ".ci.yml", "plain.md"])
def test_a_file_that_is_not_read_is_known_by_its_content_and_not_shown(name: str, world: CallContext) -> None:
    place = world.settings.workspace / name
    key = f"-----BEGIN PRIVATE KEY-----\n{'QUJD' * 16}\n"
    place.write_text(key, "utf-8")
    (file,) = files_read(post, {"one": name}, world)
    assert (file.sha256, file.size) == (hashlib.sha256(key.encode()).hexdigest(), len(key))
    assert file.beginning == ""
    place.write_text("another", "utf-8")
    assert not same_files(shown_files((file,)), files_read(post, {"one": name}, world))


@pytest.mark.parametrize(("name", "beginning"), [("b.bin", ""), ("long.md", "\u00e9" * 200)])
def test_only_text_is_shown(name: str, beginning: str, world: CallContext) -> None:
    (file,) = files_read(post, {"one": name}, world)
    assert file.beginning == beginning


def test_a_call_that_only_reads_with_these_arguments_passes_nothing_on(world: CallContext) -> None:
    assert files_read(post, {"one": "a.md"}, world, "pure") == ()
