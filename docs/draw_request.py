"""`make docs`: draw the way of a request into docs/pictures/request.svg."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

PICTURE = Path(__file__).parent / "pictures" / "request.svg"
WIDTH, HEIGHT = 1010, 452
BOX_HEIGHT = 76

_STYLE = """
  .panel { fill: #ffffff; stroke: #d8dee4 }
  .box { fill: #f6f8fa; stroke: #8c959f }
  .person { fill: #fff4d6; stroke: #bf8700 }
  .record { fill: #ddf4ff; stroke: #0969da }
  .title { font: 600 16px sans-serif; fill: #1f2328; text-anchor: middle }
  .line { font: 12px sans-serif; fill: #59636e; text-anchor: middle }
  .label { font: italic 12px sans-serif; fill: #59636e }
  .arrow { fill: none; stroke: #59636e; stroke-width: 1.6; marker-end: url(#head) }
  .back { stroke-dasharray: 5 4 }
  #head path { fill: #59636e }
  @media (prefers-color-scheme: dark) {
    .panel { fill: #0d1117; stroke: #30363d }
    .box { fill: #161b22; stroke: #6e7681 }
    .person { fill: #3a2d0a; stroke: #d29922 }
    .record { fill: #0c2d4d; stroke: #4493f8 }
    .title { fill: #f0f6fc }
    .line, .label { fill: #9198a1 }
    .arrow { stroke: #9198a1 }
    #head path { fill: #9198a1 }
  }
"""


class Box(NamedTuple):
    """A box of the picture: where it stands, and what is written in it."""

    x: int
    """Left edge, in units of the picture."""
    y: int
    """Upper edge, in the same units."""
    width: int
    """Width; all boxes have the same height."""
    title: str
    """The word in bold."""
    lines: tuple[str, ...]
    """Lines below the title."""
    kind: str = "box"
    """Class of the style sheet, which gives the colour."""
    copies: int = 1
    """How many boxes lie behind each other, this one on top."""


class Arrow(NamedTuple):
    """An arrow through points, and the words beside it."""

    points: tuple[tuple[int, int], ...]
    """Corners of the line, from its beginning to its head."""
    label: str = ""
    """Words beside it; "" for none."""
    at: tuple[int, int] = (0, 0)
    """Where these words begin."""
    back: bool = False
    """Whether the line is dashed: a way back."""


BOXES = (
    Box(30, 56, 150, "Request", ("terminal, Python,", "Studio, SDKs")),
    Box(232, 56, 180, "Plan", ("typed steps, by a model or", "by the embedded planner")),
    Box(464, 56, 154, "Verify", ("by rules and policy,", "not by a model")),
    Box(
        670,
        56,
        230,
        "A person approves",
        ("exactly what will run:", "its hash is checked at each call"),
        "person",
    ),
    Box(30, 216, 156, "Steps", ("in parallel, as soon as", "their inputs are there"), copies=3),
    Box(234, 216, 150, "Gates", ("policy, and a person", "for each risky call"), "person"),
    Box(424, 216, 154, "Ledger", ("each effect is recorded", "before it is made"), "record"),
    Box(618, 216, 156, "Critic", ("judges what is on", "record, not words")),
    Box(814, 216, 150, "Answer", ("from the results", "and nothing else")),
    Box(
        30,
        352,
        290,
        "Resume",
        ("after kill -9, by the thread id:", "what is recorded is not done again"),
        "record",
    ),
    Box(
        424,
        352,
        290,
        "Fork",
        ("the same plan, approved once more:", "steps that are done keep their results"),
        "record",
    ),
)

ARROWS = (
    Arrow(((180, 94), (230, 94))),
    Arrow(((412, 94), (462, 94))),
    Arrow(((618, 94), (668, 94))),
    Arrow(((541, 56), (541, 32), (322, 32), (322, 54)), "findings", (406, 26), back=True),
    Arrow(((694, 132), (694, 174), (108, 174), (108, 214)), "approved", (370, 168)),
    Arrow(((196, 254), (232, 254))),
    Arrow(((384, 254), (422, 254))),
    Arrow(((578, 254), (616, 254))),
    Arrow(((774, 254), (812, 254))),
    Arrow(((734, 216), (734, 134)), "not accepted", (744, 180), back=True),
    Arrow(((108, 352), (108, 304)), back=True),
    Arrow(((714, 390), (984, 390), (984, 94), (902, 94)), back=True),
)


def picture() -> str:
    """Draw the whole picture as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        ' aria-label="The way of a request">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
        ' orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
        f'<rect class="panel" x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="10"/>',
        *map(_drawn_arrow, ARROWS),
        *map(_drawn_box, BOXES),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _drawn_box(box: Box) -> str:
    middle, top = box.x + box.width / 2, box.y + 27
    shapes = [
        f'<rect class="{box.kind}" x="{box.x + 5 * n}" y="{box.y + 5 * n}" width="{box.width}"'
        f' height="{BOX_HEIGHT}" rx="8"/>'
        for n in reversed(range(box.copies))
    ]
    title = f'<text class="title" x="{middle:g}" y="{top}">{escape(box.title)}</text>'
    lines = [
        f'<text class="line" x="{middle:g}" y="{top + 20 + 17 * n}">{escape(line)}</text>'
        for n, line in enumerate(box.lines)
    ]
    return "\n".join((*shapes, title, *lines))


def _drawn_arrow(arrow: Arrow) -> str:
    way = "M" + "L".join(f"{x} {y}" for x, y in arrow.points)
    kind = "arrow back" if arrow.back else "arrow"
    drawn = f'<path class="{kind}" d="{way}"/>'
    if arrow.label:
        x, y = arrow.at
        drawn += f'\n<text class="label" x="{x}" y="{y}">{escape(arrow.label)}</text>'
    return drawn


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(), "utf-8")
