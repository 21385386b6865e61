"""Measure what a newcomer reads first."""

from __future__ import annotations

import re

from tests.house.rooms import ROOT

MOST_LINES, PICTURE_WITHIN = 180, 40
PICTURE = re.compile(r"!\[[^\]]*\]\((\S+?\.svg)\)|<img[^>]+src=\"(\S+?\.svg)\"")


def readme_lines() -> int:
    """Count the lines of the README."""
    return (ROOT / "README.md").read_text("utf-8").count("\n")


def readme_problems() -> list[str]:
    """Say what keeps the README from being read in one go: its length, or no picture at its beginning."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    pictures = [match[1] or match[2] for line in lines[:PICTURE_WITHIN] for match in PICTURE.finditer(line)]
    problems = [f"{len(lines)} lines"] if len(lines) > MOST_LINES else []
    if not any((ROOT / picture).exists() for picture in pictures):
        problems.append(f"no picture in the first {PICTURE_WITHIN} lines")
    return problems
