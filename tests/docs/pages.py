"""The pages that people read, and the blocks of code in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = (
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("README.md")),
)


class Block(NamedTuple):
    """A block of code, and where it begins."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """Name the page and the line."""
        return f"{self.page}:{self.line}"


def blocks(language: str = "", page: str = "", mark: str = "") -> list[Block]:
    """List the blocks of a language, of a page, with a text in them."""
    return [
        block
        for path in PAGES
        for block in _of_page(path)
        if language in ("", block.language) and page in ("", block.page) and mark in block.text
    ]


def block(language: str, page: str, mark: str = "") -> str:
    """Return the text of the one block that fits."""
    (fitting,) = blocks(language, page, mark)
    return fitting.text


def _of_page(path: Path) -> list[Block]:
    text = path.read_text("utf-8")
    name = path.relative_to(ROOT).as_posix()
    return [
        Block(name, text.count("\n", 0, match.start()) + 2, match[1], match[2])
        for match in re.finditer(r"```(\w*)\n(.*?)```", text, re.DOTALL)
    ]
