"""Bars: as high as their amounts, with the amounts in words."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from planwright.extras.web.drawing.bars import HEIGHT, WIDE, Bar, draw_bars, draw_share


def test_the_highest_fills_the_picture_and_none_has_no_height() -> None:
    picture = ElementTree.fromstring(draw_bars([Bar("a", 0), Bar("b", 5), Bar("<c>", 10)], "three"))
    heights = [float(rect.attrib["height"]) for rect in picture.iter("rect")]
    assert heights == [0, HEIGHT / 2, HEIGHT]
    assert [title.text for title in picture.iter("title")] == ["a", "b", "<c>"]
    assert picture.attrib["aria-label"] == "three"


def test_what_is_little_can_be_seen_and_nothing_draws_nothing() -> None:
    picture = ElementTree.fromstring(draw_bars([Bar("a", 1), Bar("b", 1e9)], "two"))
    assert min(float(rect.attrib["height"]) for rect in picture.iter("rect")) == 1
    assert draw_bars([Bar("a", 0)], "none") == ""
    assert draw_bars([], "none") == ""


@pytest.mark.parametrize(("share", "width"), [(0, 0), (0.5, WIDE / 2), (1, WIDE), (3, WIDE)])
def test_a_share_is_never_wider_than_the_whole(share: float, width: float) -> None:
    picture = ElementTree.fromstring(draw_share(share, "share"))
    assert float(list(picture.iter("rect"))[1].attrib["width"]) == width
