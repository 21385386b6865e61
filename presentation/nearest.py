"""The names that come nearest to one that does not exist: what may have been meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, names: Iterable[str], *, limit: int = 1, least: float = 0) -> list[str]:
    """List up to `limit` of the names most like one, best first, each like it by `least` of 0 to 100."""
    from rapidfuzz import process  # here: only a mistake needs it

    return [match[0] for match in process.extract(name, list(names), limit=limit, score_cutoff=least)]
