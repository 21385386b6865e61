"""Files that are not read unless somebody lists them: dot paths, keys, and what settings name."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache, cached_property
from importlib.resources import files
from pathlib import PurePosixPath


class ReadableFiles:
    """Say which files of a workspace are read: all but dot paths, keys, and what settings name.

    `readable` are patterns of paths that are read in any case: `*` stays within a folder, `**` is any number
    of them. `named` are paths below the workspace, each with who names it.
    """

    def __init__(
        self, readable: Iterable[str] = (), named: Iterable[tuple[tuple[str, ...], str]] = ()
    ) -> None:
        self._readable = tuple(readable)
        self._named = tuple(named)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        patterns = ["/".join(folded_parts(PurePosixPath(path).parts)) for path in self._readable]
        return re.compile("|".join(map(_regex, patterns)) or r"(?!)")

    def lists(self, parts: tuple[str, ...]) -> bool:
        """Say whether a path is one that somebody has listed."""
        return self._pattern.fullmatch("/".join(folded_parts(parts))) is not None

    def why_not(self, parts: tuple[str, ...]) -> str:
        """Say why a path is not read; empty where it is."""
        names = folded_parts(parts)
        if not names or self.lists(parts):
            return ""
        if any(name.startswith(".") for name in (*parts, *names)):
            return "what begins with a dot holds keys and settings of programs"
        if named_by := next((by for at, by in self._named if names[: len(at)] == at), ""):
            return f"{named_by} names it"
        held = next((held for pattern, held in _key_names() if fnmatchcase(names[-1], pattern)), "")
        return f"a file of that name holds {held}" if held else ""


def folded_parts(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Fold names as file systems do that ignore case, hidden marks or a last dot (CVE-2014-9390)."""
    return tuple(map(_folded, parts))


def _folded(name: str) -> str:
    if name.isascii():  # nothing of it is composed or hidden
        return name.lower().rstrip(". ") or name
    plain = unicodedata.normalize("NFKC", name)
    seen = "".join(letter for letter in plain if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFKC", seen.casefold()).rstrip(". ") or seen


@cache
def _key_names() -> tuple[tuple[str, str], ...]:
    text = files(__package__).joinpath("key_files.csv").read_text("utf-8")
    return tuple((row["name"], row["holds"]) for row in csv.DictReader(text.splitlines()))


def _regex(pattern: str) -> str:
    """Write a pattern of paths as a regular expression."""
    parts = pattern.split("/")
    last = parts.pop()
    folders = "".join(r"(?:[^/]+/)*" if part == "**" else f"{_of_one(part)}/" for part in parts)
    if last != "**":
        return folders + _of_one(last)
    return rf"{folders.removesuffix('/')}(?:/.*)?" if parts else ".*"


def _of_one(part: str) -> str:
    return "".join("[^/]*" if c == "*" else "[^/]" if c == "?" else re.escape(c) for c in part)
