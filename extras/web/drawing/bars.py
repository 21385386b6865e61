"""Amounts as bars in an SVG: one bar a day, or one share of a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, tostring

from planwright.presentation.printable import one_line

SLOT, HEIGHT = 24, 100
WIDE, LOW = 100, 8


@dataclass(frozen=True)
class Bar:
    """One amount."""

    label: str
    """What it is the amount of, with the amount in words."""
    amount: float
    """How high it is, in any unit; never below 0."""


def draw_bars(bars: Sequence[Bar], label: str) -> str:
    """Draw bars side by side, the highest as high as the picture; "" where there is nothing to draw."""
    most = max((bar.amount for bar in bars), default=0)
    if most <= 0:
        return ""
    width = SLOT * len(bars)
    size = {"viewBox": f"0 0 {width} {HEIGHT}", "preserveAspectRatio": "none"}
    svg = Element("svg", {**size, "class": "bars", "role": "img", "aria-label": one_line(label)})
    for number, bar in enumerate(bars):
        height = max(HEIGHT * bar.amount / most, 1) if bar.amount > 0 else 0
        place = {"x": f"{number * SLOT + 3}", "y": f"{HEIGHT - height:g}", "width": f"{SLOT - 6}"}
        rect = SubElement(svg, "rect", {**place, "height": f"{height:g}", "class": "bar"})
        SubElement(rect, "title").text = one_line(bar.label)
    return tostring(svg, encoding="unicode")


def draw_share(share: float, label: str, kind: str = "") -> str:
    """Draw a share from 0 to 1 of a whole; `kind` is the class of its colour."""
    size = {"viewBox": f"0 0 {WIDE} {LOW}", "width": str(WIDE), "height": str(LOW)}
    svg = Element("svg", {**size, "class": "share", "role": "img", "aria-label": one_line(label)})
    full = {"width": str(WIDE), "height": str(LOW), "rx": "3"}
    SubElement(svg, "rect", {**full, "class": "whole"})
    SubElement(svg, "rect", {**full, "width": f"{WIDE * min(max(share, 0), 1):g}", "class": f"bar {kind}"})
    return tostring(svg, encoding="unicode")
