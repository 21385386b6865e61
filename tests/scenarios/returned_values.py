"""Ordinary return values of tools as people write them, each with what is on record of it."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import pathlib
import sqlite3
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import reduce
from typing import Any, NamedTuple

from langchain_core.documents import Document
from pydantic import BaseModel

NAN = float("nan")
PNG = b"\x89PNG\r\n\x1a\n-"


class City(BaseModel):
    """A model with a number that JSON does not have."""

    name: str = "Rome"
    area: float = NAN


@dataclasses.dataclass
class Point:
    """A plain dataclass."""

    x: int
    when: datetime.date


class Pair(NamedTuple):
    """A tuple with names."""

    first: int
    second: str


class Colour(enum.Enum):
    """An enum of texts."""

    RED = "red"


class Scalar:
    """A number as numpy has it."""

    def tolist(self) -> float:
        """Spell it in Python's own type."""
        return 1.5


class Array:
    """An array as numpy has it."""

    size = 2
    dtype = type("dtype", (), {"kind": "f"})

    def tolist(self) -> list[float]:
        """Spell it in Python's own types."""
        return [1.5, NAN]


class Frame:
    """A table as pandas has it."""

    size = 2

    def to_dict(self, orient: str = "dict") -> dict[str, Any]:
        """Spell it in Python's own types."""
        assert orient == "tight"
        return {"index": [7], "columns": ["city", "area"], "data": [["Rome", NAN]]}


class Plain:
    """A class of somebody's own."""

    def __str__(self) -> str:
        return "plain words"


def counted() -> Iterator[int]:
    """Yield some numbers."""
    yield from (1, 2)


def rows() -> list[sqlite3.Row]:
    """Read a row of a database."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        return connection.execute("SELECT 1 AS id, 'Rome' AS city").fetchall()


class Wordless:
    """A class whose own method is broken."""

    def __repr__(self) -> str:
        raise ValueError("no words")


NAME = "<name>"
"""Stands for the name of the capability."""
UNKEPT = ": it was done, and what it returned is not on record"
CIRCLE: dict[str, Any] = {}
CIRCLE["me"] = CIRCLE
DEEP = reduce(lambda inner, _: [inner], range(3000), list[Any]())
DAY = datetime.date(2026, 11, 27)
VALUES: dict[str, tuple[Callable[[], Any], Any]] = {
    "datetime": (lambda: datetime.datetime(2026, 11, 27, 4, 35), "2026-11-27T04:35:00"),
    "date": (lambda: DAY, "2026-11-27"),
    "time delta": (lambda: datetime.timedelta(hours=1), "PT1H"),
    "decimal": (lambda: decimal.Decimal("12.50"), "12.50"),
    "tuple": (lambda: (1, "a"), [1, "a"]),
    "named tuple": (lambda: Pair(1, "a"), {"first": 1, "second": "a"}),
    "set": (lambda: {2, 1}, [1, 2]),
    "deque": (lambda: deque([1, 2]), [1, 2]),
    "dataclass": (lambda: Point(1, DAY), {"x": 1, "when": "2026-11-27"}),
    "pydantic model": (City, {"name": "Rome", "area": "NaN"}),
    "document": (
        lambda: [Document("text", metadata={"page": 1})],
        [{"id": None, "metadata": {"page": 1}, "page_content": "text", "type": "Document"}],
    ),
    "path": (lambda: pathlib.Path("/tmp/a.txt"), "/tmp/a.txt"),
    "uuid": (lambda: uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "enum": (lambda: Colour.RED, "red"),
    "numpy scalar": (Scalar, 1.5),
    "numpy array": (Array, [1.5, "NaN"]),
    "data frame": (Frame, {"index": [7], "columns": ["city", "area"], "data": [["Rome", "NaN"]]}),
    "NaN": (lambda: {"mean": NAN, "most": float("inf")}, {"mean": "NaN", "most": "Infinity"}),
    "integer keys": (lambda: {1: "a", 2: "b"}, {"1": "a", "2": "b"}),
    "large number": (lambda: 10**30, "1" + "0" * 30),
    "bytes": (
        lambda: b"\xff\x00",
        {"type": "file", "mime_type": "application/octet-stream", "base64": "/wA="},
    ),
    "bytes of a text": (
        lambda: b"total 0\n",
        {"type": "text-plain", "mime_type": "text/plain", "text": "total 0\n"},
    ),
    "image": (lambda: PNG, {"type": "image", "mime_type": "image/png", "base64": "iVBORw0KGgot"}),
    "generator": (counted, [1, 2]),
    "map": (lambda: map(str, (1, 2)), ["1", "2"]),
    "range": (lambda: range(2), [0, 1]),
    "rows of a database": (rows, [{"id": 1, "city": "Rome"}]),
    "class of one's own": (Plain, "plain words"),
    "half a character": (lambda: "a\ud83e", "a?"),
    "nothing": (lambda: None, None),
    "words that raise": (Wordless, "<Wordless>"),
    "words that raise, within": (lambda: {"o": [Wordless()]}, {"o": ["<Wordless>"]}),
    "infinities": (lambda: [float("-inf"), decimal.Decimal("NaN")], ["-Infinity", "NaN"]),
    "64 bits and one": (lambda: {"n": 2**64}, {"n": "18446744073709551616"}),
    "five thousand digits": (lambda: 10**5000, "1" + "0" * 5000),
    "bytes that may change": (
        lambda: bytearray(b"\xff"),
        {"type": "file", "mime_type": "application/octet-stream", "base64": "/w=="},
    ),
    "set of tuples": (lambda: {(1, 2)}, [[1, 2]]),
    "keys of all kinds": (lambda: {1: "a", (1, 2): "b"}, {"1": "a", "[1,2]": "b"}),
    "NUL": (lambda: "a\0b", "a\0b"),
    "complex": (lambda: 1j, "1j"),
    "an error": (lambda: ValueError("x"), "x"),
    "a class": (lambda: int, "<class 'int'>"),
    "itself": (lambda: CIRCLE, {"not_kept": f"{NAME} returned more than 10 MB{UNKEPT}"}),
    "too deep": (lambda: DEEP, {"not_kept": f"{NAME} returned what is nested too deeply{UNKEPT}"}),
}
