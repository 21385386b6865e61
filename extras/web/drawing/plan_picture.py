"""A plan as an SVG: steps as boxes, what waits for what as lines, how each stands by a mark and a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, tostring

from planwright.extras.web.drawing.layout import Place, lay_out
from planwright.presentation.printable import one_line
from planwright.presentation.run_view import State

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 208, 62, 56, 20, 10
MOST_LETTERS, MOST_CALLS = 24, 14
WIDEST = 12  # columns for which the style sheet knows how narrow a picture may get
# Each mark is drawn in a square of 16, so that a state can be told without its colour.
MARKS: dict[State, str] = {
    "pending": "M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12",
    "running": "M8 2a6 6 0 1 1-6 6",
    "waiting": "M8 1.5 14.5 8 8 14.5 1.5 8zM8 5v3.5M8 10.6v.4",
    "done": "M2.5 8.5 6.2 12.2 13.5 4.2",
    "failed": "M3.5 3.5l9 9M12.5 3.5l-9 9",
    "rejected": "M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12M4 12 12 4",
    "skipped": "M3 8h3M10 8h3",
}


@dataclass(frozen=True)
class DrawnStep:
    """A step as it is drawn."""

    id: str
    """Id of the step."""
    name: str
    """Name of what it calls."""
    state: State
    """How it stands."""
    detail: str
    """How it stands in words: its time, its attempts."""
    after: Sequence[str] = ()
    """Ids of the steps that it needs."""
    follows: Sequence[str] = ()
    """Ids of the steps that it waits for only because both use something."""
    gated: bool = False
    """Whether a person is asked about it."""
    risk: str = "None"
    """Risk of the call."""
    only_if: str = ""
    """Its condition in words; "" where it has none."""
    calls: Sequence[State] = ()
    """How the calls stand that are made within it."""


def draw_plan(steps: Sequence[DrawnStep]) -> str:
    """Draw a plan as an SVG; "" for one without steps. Each box leads to `#step-` and its number."""
    if not steps:
        return ""
    layout = lay_out({step.id: [*step.after, *step.follows] for step in steps})
    width = 2 * MARGIN + layout.columns * WIDTH + (layout.columns - 1) * GAP_X
    height = 2 * MARGIN + layout.rows * HEIGHT + (layout.rows - 1) * GAP_Y
    size = {"viewBox": f"0 0 {width} {height}", "width": str(width), "height": str(height)}
    kind = f"plan c{min(layout.columns, WIDEST)}"
    svg = Element("svg", {**size, "class": kind, "role": "group", "aria-label": _label(steps)})
    by_id = {step.id: step for step in steps}
    for (source, target), passed in layout.lines.items():
        _line(svg, passed, by_id[source], by_id[target])
    for number, step in enumerate(steps, 1):
        _box(svg, step, layout.places[step.id], f"#step-{number}")
    return tostring(svg, encoding="unicode", short_empty_elements=True)


def _label(steps: Sequence[DrawnStep]) -> str:
    done = sum(step.state == "done" for step in steps)
    return f"The plan: {len(steps)} steps, {done} done"


def _corner(place: Place) -> tuple[float, float]:
    return MARGIN + place.column * (WIDTH + GAP_X), MARGIN + place.row * (HEIGHT + GAP_Y)


def _line(svg: Element, passed: Sequence[Place], source: DrawnStep, target: DrawnStep) -> None:
    """Draw a line from the right of one box to the left of another, level where it passes others."""
    x, y = _corner(passed[0])
    path = f"M{x + WIDTH:g} {y + HEIGHT / 2:g}"
    here = x + WIDTH, y + HEIGHT / 2
    for place in passed[1:]:
        left, top = _corner(place)
        middle, bend = top + HEIGHT / 2, GAP_X * 0.55
        path += f"C{here[0] + bend:g} {here[1]:g} {left - bend:g} {middle:g} {left:g} {middle:g}"
        here = left, middle
        if place is not passed[-1]:
            path += f"H{left + WIDTH:g}"
            here = left + WIDTH, middle
    kind = " follows" if source.id not in target.after else ""
    state = " passed" if source.state == "done" else ""
    SubElement(svg, "path", {"class": f"edge{kind}{state}", "d": path})


def _box(svg: Element, step: DrawnStep, place: Place, href: str) -> None:
    x, y = _corner(place)
    kind = f"step {step.state}{' conditional' if step.only_if else ''}"
    link = SubElement(svg, "a", {"href": href, "class": kind})
    only_if = f". Only if {step.only_if}" if step.only_if else ""
    SubElement(link, "title").text = one_line(f"{step.id} {step.name}: {step.state}. {step.detail}{only_if}")
    box = {"x": f"{x:g}", "y": f"{y:g}", "width": str(WIDTH), "height": str(HEIGHT), "rx": "9"}
    SubElement(link, "rect", {**box, "class": "box"})
    mark = {"transform": f"translate({x + 12:g} {y + 12:g})", "class": "mark", "d": MARKS[step.state]}
    SubElement(link, "path", mark)
    _text(link, x + 36, y + 25, f"{step.id} {step.name}", "name")
    _text(link, x + 36, y + 44, step.detail or step.state, "detail")
    if step.gated:
        at = f"translate({x + WIDTH - 24:g} {y + 11:g})"
        SubElement(link, "path", {"transform": at, "class": "gate", "d": "M7 0 14 7 7 14 0 7z"})
    for number, state in enumerate(step.calls[:MOST_CALLS]):
        spot = {"x": f"{x + 36 + number * 11:g}", "y": f"{y + HEIGHT - 10:g}"}
        SubElement(link, "rect", {**spot, "width": "8", "height": "4", "rx": "2", "class": f"call {state}"})


def _text(parent: Element, x: float, y: float, text: str, kind: str) -> None:
    line = one_line(text)
    most = MOST_LETTERS - 2 if kind == "name" else MOST_LETTERS + 2
    line = line if len(line) <= most else f"{line[: most - 1]}…"
    SubElement(parent, "text", {"x": f"{x:g}", "y": f"{y:g}", "class": kind}).text = line
