"""The pictures show what is: the drawn graph is the graph, and no picture needs anything from elsewhere."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.docs.pages import ROOT

PICTURES = ROOT / "docs" / "pictures"
MOST_BOXES = 12
FROM_ELSEWHERE = re.compile(r"@import|@font-face|href|url\((?!#)|<script|<image|https?://(?!127\.0\.0\.1)")


def script(name: str) -> dict[str, Any]:
    """Load a script of the documents."""
    return runpy.run_path(str(ROOT / "docs" / name))


def test_the_drawn_graph_is_the_graph() -> None:
    drawing: Callable[[], str] = script("draw_graph.py")["drawing"]
    assert drawing() in (ROOT / "docs" / "architecture.md").read_text("utf-8"), "run: make docs"


def test_the_way_of_a_request_is_as_drawn_and_can_be_taken_in_at_once() -> None:
    drawn = script("draw_request.py")
    assert (PICTURES / "request.svg").read_text("utf-8") == drawn["picture"](), "run: make docs"
    assert len(drawn["BOXES"]) <= MOST_BOXES
    first_lines = (ROOT / "README.md").read_text("utf-8").splitlines()[:40]
    assert any("docs/pictures/request.svg" in line for line in first_lines)


def test_the_recorded_demo_shows_the_whole_job() -> None:
    texts = ElementTree.parse(PICTURES / "demo.svg").iter("{http://www.w3.org/2000/svg}text")
    shown = " ".join("".join(text.itertext()) for text in texts).replace("\N{NO-BREAK SPACE}", " ")
    for text in (
        "planwright demo",
        "approve?",
        "answered 503",
        "completed · planwright show",
        "EUR 4,310.50",
    ):
        assert text in shown, "run: make docs"


@pytest.mark.parametrize("picture", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_needs_nothing_from_elsewhere(picture: Path) -> None:
    text = picture.read_text("utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert (
        re.findall(r"@import|@font-face|href|url\((?!#)|<script|<image|https?://(?!127\.0\.0\.1)", text) == []
    )


def test_the_screen_of_the_recording_drops_what_was_written_over() -> None:
    screen: Callable[[str], str] = script("record_demo.py")["screen"]
    assert screen("first\r\n\x1b[2mlive\x1b[0m\r\x1b[2Ksecond\r\nlive\r\n\x1b[1A\x1b[2Kthird") == (
        "first\nsecond\nthird"
    )
