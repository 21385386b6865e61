"""How much a JSON text can hold, known before it is read."""

from __future__ import annotations

import re

MOST_VALUES = 100_000  # lists and objects hold the interpreter while they are made and looked through
# A string (RFC 8259 section 7); possessive, so that one without an end is given up once.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def most_values(text: bytes) -> int:
    """Count the values that a JSON text can hold at most: every one but the first follows `[`, `{` or `,`.

    What stands in strings is left out, unless there is little of it in all.
    """
    return count if (count := marks(text)) <= MOST_VALUES else marks(_STRING.sub(b"", text))


def marks(text: bytes) -> int:
    """Count `[`, `{` and `,`, in strings, too, in which there may be JSON."""
    return sum(map(text.count, (b"[", b"{", b",")))
