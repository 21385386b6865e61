"""Pages of a long list: which rows are shown, how many there are, and the command that shows the next."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """One page of `limit` rows; the first has the number 1."""

    number: int = 1
    """Number of the page, counted from 1."""
    limit: int = 200
    """Most rows of a page."""

    @property
    def skipped(self) -> int:
        """How many rows stand on the pages before."""
        return (self.number - 1) * self.limit

    def counts(self, total: int) -> dict[str, int]:
        """Spell where the page stands among all rows, for `--json`."""
        return {"total": total, "page": self.number, "pages": -(-total // self.limit), "limit": self.limit}

    def footer(self, total: int, count: int, noun: str, command: str) -> str:
        """Say how many rows there are and how to see the next; empty when all of them are shown."""
        if count == total:
            return ""
        if not count:
            return f"no {noun} on page {self.number}: there are {total:,}; the first page: {command} --page 1"
        left = self.skipped + count < total
        size = "" if self.limit == Page.limit else f" --limit {self.limit}"
        following = f"; next: {command}{size} --page {self.number + 1}" if left else "; this is the last page"
        rows = f"{count:,}" if self.number == 1 else f"{self.skipped + 1:,} to {self.skipped + count:,}"
        return f"{rows} of {total:,} {noun}{following}"
