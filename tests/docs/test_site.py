"""The site holds every page; `make docs-site` builds it, and fails for a link that leads nowhere."""

from __future__ import annotations

import re
import runpy

import pytest

from tests.docs.pages import PAGES, ROOT


def test_every_page_is_in_the_navigation_once() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    entries = re.findall(r"^ +- (?:\w+: )?([\w./-]+\.md)$", navigation, re.MULTILINE)
    pages = {page.relative_to(ROOT).as_posix() for page in PAGES} | {"CHANGELOG.md"}
    assert sorted(entries) == sorted(pages)


def test_the_list_of_decisions_names_each_with_its_title() -> None:
    folder = ROOT / "docs" / "decisions"
    titles = {path.name: path.read_text("utf-8").splitlines()[0] for path in folder.glob("0*.md")}
    rows = re.findall(r"^- \[(\d+)\]\((.+?)\) (.+)$", (folder / "README.md").read_text("utf-8"), re.MULTILINE)
    assert {name: f"# {number} {title}" for number, name, title in rows} == titles


def test_both_tables_name_every_example() -> None:
    examples = {path.parent.name for path in (ROOT / "examples").glob("*/README.md")}
    for page, start in (("examples/README.md", ""), ("README.md", "examples/")):
        text = (ROOT / page).read_text("utf-8")
        assert set(re.findall(rf"\]\({start}(\w+)/README\.md\)", text)) == examples, page


@pytest.mark.parametrize(
    "tag", ['<script src="https://cdn.example/x.js">', "<img alt='' src='//cdn.example/x.png'>"]
)
def test_what_a_page_loads_from_elsewhere_is_noticed(tag: str) -> None:
    build = runpy.run_path(str(ROOT / "docs" / "build_site.py"))
    assert build["LOADS"].findall(f'<a href="https://example.org"></a>{tag}') != []
    assert build["LOADS"].findall('<a href="https://example.org"></a><script src="a/b.js">') == []
