"""Texts made printable: nothing in them can act on a terminal, or pass for a line of ours."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text


def safe(text: object) -> str:
    """Make a text printable: control, bidirectional and invisible characters show as escapes."""
    return "".join(
        c if c == "\n" or (c.isprintable() and c not in _HIDDEN) else ascii(c)[1:-1] for c in str(text)
    )


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


def one_line(text: object) -> str:
    """Make a text printable on its one line, so that it cannot pass for a line of ours."""
    return safe(text).replace("\n", "\\n")


# Letters and marks that leave no ink, and could hide or smuggle what they stand among. Control and
# bidirectional characters are not printable in the first place; U+FE0E and U+FE0F belong to emoji.
_HIDDEN = frozenset(
    map(
        chr,
        (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0)
        + (*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0)),
    )
)
