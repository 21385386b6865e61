"""Rows as those of `sqlite3.Row`: by index, by name, and `keys()`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from psycopg import Cursor

ROW_NUMBER = "rowid"
"""Column that numbers the rows of every table in the order in which they were written."""


class Row(Sequence[object]):
    """One row of a result."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: Mapping[str, int], values: tuple[object, ...]) -> None:
        self._places = places
        self._values = values

    def keys(self) -> list[str]:
        """List the names of the columns."""
        return list(self._places)

    def __getitem__(self, key: int | str | slice) -> Any:
        return self._values[self._place(key) if isinstance(key, str) else key]

    def _place(self, name: str) -> int:
        try:
            return self._places[name]
        except KeyError:
            raise IndexError(f"no such column: {name}") from None

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[object]:
        return iter(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and (self.keys(), self._values) == (other.keys(), other._values)

    def __hash__(self) -> int:
        return hash(self._values)

    def __repr__(self) -> str:
        return f"Row({dict(zip(self._places, self._values, strict=False))})"


def row_factory(cursor: Cursor[object]) -> Callable[[Sequence[object]], Row]:
    """Make the rows of a `StoreCursor`."""
    places: dict[str, int] = {}
    for place, column in enumerate(cursor.description or ()):
        places.setdefault(column.name, place)
    hidden: int | None = getattr(cursor, "hidden_place", None)
    if hidden is None:
        return lambda values: Row(places, tuple(values))
    return lambda values: Row(places, (*values[:hidden], *values[hidden + 1 :]))
