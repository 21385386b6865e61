"""Which page of a list is looked at, and which others there are. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

MOST_PAGES = 1_000_000


@dataclass(frozen=True)
class Paging:
    """One page of a list."""

    number: int
    """Number of the page, counted from 1."""
    size: int
    """How many rows a page has."""
    total: int = 0
    """How many rows the list has."""

    @property
    def skipped(self) -> int:
        """How many rows come before this page."""
        return (self.number - 1) * self.size

    @property
    def last(self) -> int:
        """Number of the last page."""
        return max(1, -(-self.total // self.size))

    @property
    def until(self) -> int:
        """Number of the last row of this page."""
        return min(self.skipped + self.size, self.total)

    def of(self, total: int) -> Paging:
        """Say how many rows the list has."""
        return replace(self, total=total)


def paging(number: str, size: int) -> Paging:
    """Read the number of a page as an address has it; what is none is the first."""
    readable = number.isascii() and number.isdigit() and len(number) < 8
    return Paging(min(max(int(number), 1), MOST_PAGES) if readable else 1, size)
