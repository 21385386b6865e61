"""The picture of a plan: each step a box with a mark, a word and a link; no text of it can act."""

from __future__ import annotations

from typing import get_args
from xml.etree.ElementTree import fromstring

from planwright.extras.web.drawing.plan_picture import MARKS, DrawnStep, draw_plan
from planwright.presentation.run_view import State


def test_each_state_has_a_mark_and_a_class_of_its_own() -> None:
    assert set(MARKS) == set(get_args(State))
    assert len(set(MARKS.values())) == len(MARKS)
    for state in get_args(State):
        svg = fromstring(draw_plan([DrawnStep("s1", "mail.search", state, "in words")]))
        (link,) = svg.iter("a")
        assert link.get("class") == f"step {state}"
        assert [text.text for text in svg.iter("text")] == ["s1 mail.search", "in words"]


def test_what_waits_for_what_is_a_line_dashed_where_only_a_resource_is_shared() -> None:
    steps = [DrawnStep("a", "x", "done", ""), DrawnStep("b", "x", "pending", "", ["a"])]
    steps.append(DrawnStep("c", "x", "pending", "", [], ["a"], gated=True, calls=["done", "running"]))
    svg = fromstring(draw_plan(steps))
    lines = [path.get("class") for path in svg.findall("path")]
    assert sorted(map(str, lines)) == ["edge follows passed", "edge passed"]
    assert [path.get("class") for path in svg.iter("path")].count("gate") == 1
    assert [rect.get("class") for rect in svg.iter("rect")].count("call running") == 1


def test_hostile_names_are_text_on_one_line() -> None:
    nasty = '</text><script>x</script>\n\x1b[31m\u202e"><a href="javascript:x">'
    picture = draw_plan([DrawnStep(nasty, nasty, "failed", nasty)])
    svg = fromstring(picture)
    assert [element.tag for element in svg.iter()].count("script") == 0
    assert [link.get("href") for link in svg.iter("a")] == ["#step-1"]
    assert "\x1b" not in picture
    assert "\u202e" not in picture


def test_no_steps_are_no_picture() -> None:
    assert draw_plan([]) == ""
