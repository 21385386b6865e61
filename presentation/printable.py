"""Texts made printable: nothing in them can act on a screen, hide, or pass for a line of ours."""

from __future__ import annotations


def safe(text: object) -> str:
    """Make a text printable: control, bidirectional and invisible characters show as escapes."""
    return "".join(
        c if c == "\n" or (c.isprintable() and c not in _HIDDEN) else ascii(c)[1:-1] for c in str(text)
    )


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
