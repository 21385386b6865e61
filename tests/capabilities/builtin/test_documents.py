"""documents.create: text stays text, whatever it looks like, and nothing that is there is lost."""

from __future__ import annotations

import csv
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.builtin import documents
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityForbidden, CapabilityRejected

MakeWorld = Callable[..., CallContext]


def create(world: CallContext, path: str, **args: Any) -> documents.Document:
    made = documents.create.function(path, world, **args)
    assert isinstance(made, documents.Document)
    return made


@pytest.fixture
def world(make_world: MakeWorld) -> CallContext:
    return make_world()


def test_a_csv_has_its_rows_under_its_columns(world: CallContext, tmp_path: Path) -> None:
    made = create(
        world, "out/a.csv", columns=["name", "n"], rows=[['Ärger, "groß"', 1], ["two\nlines", None]]
    )
    with (tmp_path / "out" / "a.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["name", "n"], ['Ärger, "groß"', "1"], ["two\nlines", ""]]
    assert (made.path, made.format, made.rows) == ("out/a.csv", "csv", 2)


def test_objects_of_other_capabilities_become_rows(world: CallContext, tmp_path: Path) -> None:
    create(world, "a.csv", rows=[{"id": 1, "tags": ["x"]}, {"id": 2, "more": True}])
    assert (tmp_path / "a.csv").read_text().splitlines() == ["id,tags,more", "1,['x'],", "2,,True"]


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    "cell",
    ["=1+1", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1",
     "=HYPERLINK(1)",
     "＝1+1", "＋1", "－1+1", "＠SUM(A1)", "+", "-", "=", "--", "-x", "+49 (0)30 1234"],
    ids=ascii,
)  # fmt: skip
@pytest.mark.parametrize("place", ["cell", "column"])
def test_a_formula_is_text_in_a_csv(world: CallContext, tmp_path: Path, cell: str, place: str) -> None:
    create(world, "a.csv", **({"rows": [[cell]]} if place == "cell" else {"columns": [cell]}))
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [[f"'{cell}"]]


@pytest.mark.parametrize(
    "cell", ["-5", "+5", "-1,234.50", "5%", "a=b", "x@example.com", "1-2", -5, 2.5, True]
)
def test_what_is_no_formula_stays_as_it_is_in_a_csv(world: CallContext, tmp_path: Path, cell: Any) -> None:
    create(world, "a.csv", rows=[[cell]])
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [[str(cell)]]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)> \"'&amp; </title></td>"


def test_a_tag_is_text_in_an_html_page(world: CallContext, tmp_path: Path) -> None:
    create(
        world,
        "a.html",
        title=EVIL,
        text=f"{EVIL}\n\n{EVIL}",
        columns=[EVIL],
        rows=[[EVIL], [{"a": 1}.__str__()]],
    )
    parsed = Tags()
    parsed.feed((tmp_path / "a.html").read_text())
    assert parsed.seen == {"html", "head", "meta", "title", "body", "h1", "p", "table", "tr", "th", "td"}
    assert parsed.text.count(EVIL) == 6


def test_a_markdown_document_has_a_title_text_and_a_table(world: CallContext, tmp_path: Path) -> None:
    create(
        world, "a.md", title="Open\ntickets", text="Two.", columns=["id", "what"], rows=[[1, "a|b\nc"], [2]]
    )
    assert (tmp_path / "a.md").read_text() == (
        "# Open tickets\n\nTwo.\n\n| id | what |\n| --- | --- |\n| 1 | a\\|b c |\n| 2 |  |\n"
    )


def test_the_same_call_again_finds_its_document(world: CallContext, tmp_path: Path) -> None:
    assert create(world, "a.md", text="x") == create(world, "a.md", text="x")
    assert [path.name for path in tmp_path.glob("*.md")] == ["a.md"]


@pytest.mark.parametrize("there", ["another", "x" * 100, "", "y\n"])
def test_another_document_that_is_there_is_left_alone(world: CallContext, tmp_path: Path, there: str) -> None:
    (tmp_path / "a.md").write_text(there)
    with pytest.raises(CapabilityRejected, match="is there already"):
        create(world, "a.md", text="x")
    assert (tmp_path / "a.md").read_text() == there


@pytest.mark.parametrize("path", ["a.txt", "a", "a.csv.exe", ".csv", "a.py", "notes/"])
def test_another_ending_is_refused_before_anything_is_shown(world: CallContext, path: str) -> None:
    with pytest.raises(CapabilityRejected, match=r"is no \.md, \.csv or \.html"):
        documents.create.check({"path": path}, world)


@pytest.mark.parametrize("path", ["../a.md", "/tmp/a.md", ".planwright/a.md", ".git/a.md", "link.md"])
def test_a_path_outside_is_refused(world: CallContext, tmp_path: Path, path: str) -> None:
    (tmp_path / "link.md").symlink_to("/tmp/elsewhere.md")
    for do in (lambda: documents.create.check({"path": path}, world), lambda: create(world, path, text="x")):
        with pytest.raises(CapabilityForbidden, match="outside the workspace"):
            do()


def test_a_csv_with_words_beside_its_rows_is_refused(world: CallContext) -> None:
    with pytest.raises(CapabilityRejected, match=r"a \.csv has columns and rows only"):
        create(world, "a.csv", title="x")


def test_rows_that_have_none_of_the_columns_are_refused() -> None:
    with pytest.raises(CapabilityRejected, match="row 2 has none of the columns Title"):
        documents._table(["Title"], [{"Title": "a"}, {"title": "b"}])
    assert documents._table(["Title", "More"], [{"Title": "a"}, ["b", "c"]]) == (
        ["Title", "More"],
        [["a", None], ["b", "c"]],
    )
