"""How much a reply from outside may hold, known before it is read."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from pydantic import BaseModel

MOST_BYTES = 1_500_000  # of a body, a message, or an event of a stream
TOO_LONG = f"more than {MOST_BYTES / 1_000_000:g} MB"
MOST_VALUES = 100_000
# And objects. 24,000 make Python collect garbage once in all of the program (0.17 s), 9,500 do not.
MOST_LISTS = 10_000
# Between two events of a stream: lines end with \n, \r or \r\n (WHATWG HTML section 9.2.5).
BLANK_LINE = re.compile(rb"\n\n|\r\r|\n\r\n?")
# A string (RFC 8259 section 7); possessive, so that one without an end is given up once.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def excess_of(text: bytes) -> str:
    """Say what a JSON text holds too much of; nothing when it may be read."""
    if len(text) > MOST_BYTES:
        return TOO_LONG
    return count_excess(text) and count_excess(_STRING.sub(b"", text))


def count_excess(text: bytes) -> str:
    """Say what a text can hold too many of as JSON, in strings, too; nothing when it cannot."""
    lists = count_lists(text)
    if lists > MOST_LISTS:
        return f"more than {MOST_LISTS:,} lists and objects"
    # Every value but the first follows `[`, `{` or `,`.
    return f"more than {MOST_VALUES:,} values" if lists + text.count(b",") > MOST_VALUES else ""


def count_lists(text: bytes) -> int:
    """Count the lists and objects that begin in a text, in strings, too, in which there may be JSON."""
    return text.count(b"[") + text.count(b"{")


def outgrows(value: object, most: int) -> bool:
    """Say whether a value would take more than `most` bytes as JSON, roughly, and without spelling it."""
    left, todo = most, [value]
    while todo and left >= 0:
        current = todo.pop()
        if isinstance(current, str):
            left -= len(current) if current.isascii() else sys.getsizeof(current)
        elif isinstance(current, bytes | bytearray):
            left -= len(current)
        elif isinstance(current, BaseModel):
            todo.append(current.__dict__)
        elif isinstance(current, Mapping):
            left -= 4 * len(current)
            todo += [*current, *current.values()] if left >= 0 else []
        elif isinstance(current, list | tuple | set | frozenset):
            left -= 2 * len(current)
            todo += current if left >= 0 else []
        else:
            left -= 4
    return left < 0
