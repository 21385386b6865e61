"""Texts made printable: nothing in them can act on a terminal, or pass for a line of ours."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from planwright.presentation.printable import one_line as one_line
from planwright.presentation.printable import safe as safe


def pad(text: object, width: int) -> str:
    """Make a text printable on one line, and fill it up to a width in cells."""
    printable = one_line(text)
    return printable + " " * (width - cell_len(printable))


def chop(text: str, width: int) -> list[str]:
    """Break a text into rows of at most `width` cells, after a space where one is near, losing nothing."""
    rows, width = [], max(width, 2)
    while len(text) > 4 * width or cell_len(text) > width:
        row = chop_cells(text[: 4 * width], width)[0]
        space = row.rfind(" ") + 1
        rows.append(row[:space] if 2 * space > len(row) else row)
        text = text[len(rows[-1]) :]
    return [*rows, text]


@dataclass(frozen=True)
class Hanging:
    """A text whose rows but the first are indented: none of them can pass for a line of ours."""

    text: Text
    """The text."""
    indent: int
    """Columns by which every row but the first is indented."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        first, *rest = self.text.wrap(console, options.max_width - self.indent, overflow="fold") or [Text()]
        yield first
        for row in rest:
            yield Text(" " * self.indent) + row
