"""Secrets, found by their value wherever they turn up, and put out of sight.

A leaf that knows values and texts only. Which values are secret is in `graph/known_secrets.py`, how
they may be spelled in `graph/spellings.py`, and where they are looked for in `docs/decisions/0011`.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from ahocorasick_rs import AhoCorasick, BytesAhoCorasick, MatchKind

from planwright.graph.errors import PlanwrightError
from planwright.graph.spellings import halves, spellings

SHORTEST = 8
T = TypeVar("T")
_MARK = re.compile(r"\[REDACTED ([\w.-]+)\]")
_WRAP = re.compile(r"(?:\s|\\[rnt]|=\r?\n)+")


class Redactor:
    """Replace the values of secrets, given by name, with `[REDACTED name]`; without any, change nothing.

    Values below 8 characters are part of too many words to be found; their names are in `short`.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        named = {re.sub(r"[^\w.-]", "_", name): value for name, value in (secrets or {}).items() if value}
        self.short = tuple(name for name, value in named.items() if len(value) < SHORTEST)
        self.names = tuple(name for name in named if name not in self.short)
        self._whole: dict[str, str] = {}
        self._parts: dict[str, list[tuple[str, bool]]] = {}
        for name in self.names:
            for spelling in sorted(spellings(named[name])):
                self._whole.setdefault(spelling, name)
                front, back = halves(spelling, named[name])
                self._parts.setdefault(front, []).append((spelling, True))
                self._parts.setdefault(back, []).append((spelling, False))
        self._order = list(self._parts)
        self._starts = sorted({*self._whole, *self._parts})
        self._three = {start[:3] for start in self._starts}
        self._longest = max(map(len, self._starts), default=0)
        self._search = AhoCorasick(self._order, matchkind=MatchKind.LeftmostLongest)
        self._search_bytes = BytesAhoCorasick(
            [part.encode() for part in self._order], matchkind=MatchKind.LeftmostLongest
        )

    def __bool__(self) -> bool:
        return bool(self.names)

    def text(self, text: str) -> str:
        """Put every secret in a text out of sight, in whatever spelling it is there."""
        if not self.names or not (found := self.spans(text)):
            return text
        kept, at = [], 0
        for start, end, name in found:
            kept += [text[at:start], f"[REDACTED {name}]"]
            at = end
        return "".join((*kept, text[at:]))

    def value(self, value: T) -> T:
        """Put every secret in a JSON value out of sight, keys included; bytes are taken as UTF-8."""
        if not self.names:
            return value
        changed: Any = value
        if isinstance(value, str):
            changed = self.text(value)
        elif isinstance(value, dict):
            changed = {self.value(key): self.value(held) for key, held in value.items()}
        elif type(value) in (list, tuple, set, frozenset):
            changed = type(value)(self.value(held) for held in value)  # type: ignore[attr-defined, call-arg]
        elif isinstance(value, bytes) and self.in_bytes(value):
            changed = self.text(value.decode("utf-8", "backslashreplace")).encode()
        return changed  # type: ignore[no-any-return]

    def document(self, text: str) -> str:
        """Put every secret in a text out of sight; one that is JSON stays JSON."""
        if not self.names or not self.spans(text):
            return text
        try:
            return self.text(json.dumps(self.value(json.loads(text)), ensure_ascii=False))
        except (ValueError, RecursionError):
            return self.text(text)

    def in_bytes(self, data: bytes) -> bool:
        """Say whether bytes hold a secret as UTF-8."""
        return bool(self.names) and bool(self._search_bytes.find_matches_as_indexes(data))

    def held_in(self, value: object) -> str | None:
        """Name the first secret in a JSON value; None when there is none."""
        found = (span for text in _strings(value) for span in self.spans(text)) if self.names else iter(())
        return next((name for _, _, name in found), None)

    def blotted_in(self, value: object) -> str | None:
        """Name the first secret that was put out of sight in a JSON value; None when there is none."""
        marks = (mark[1] for text in _strings(value) for mark in _MARK.finditer(text))
        return next((name for name in marks if name in self.names), None)

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Find where in a text secrets stand: start, end and name, in order, without overlap."""
        try:
            matches = self._search.find_matches_as_indexes(text)
        except UnicodeEncodeError:  # half a surrogate pair; no secret has one
            matches = self._search.find_matches_as_indexes(re.sub("[\ud800-\udfff]", "?", text))
        found: list[tuple[int, int, str]] = []
        for part, start, end in matches:
            reach = [self._reach(text, start, end, *known) for known in self._parts[self._order[part]]]
            start, end, name = max(reach, key=lambda span: span[1] - span[0])
            if found and start <= found[-1][1]:
                start, end, name = found[-1][0], max(end, found[-1][1]), found.pop()[2]
            found.append((start, end, name))
        return found

    def begun(self, text: str, after: int) -> int:
        """Find where, from a place on, a secret may have begun that the end of a text cuts off."""
        size = len(text)
        for at in range(max(after, size - self._longest), size):
            if text[at : at + 3] not in self._three and size - at >= 3:
                continue
            rest = text[at:]
            near = bisect_left(self._starts, rest)
            near += self._starts[near : near + 1] == [rest]  # it is whole; may a longer one go on from it?
            if near < len(self._starts) and self._starts[near].startswith(rest):
                return at
        return size

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Let no exception out of a block with a secret in its words.

        The exception stays the same one, of the same kind, with other words; one whose words cannot be
        changed is replaced.
        """
        try:
            yield
        except Exception as error:
            if self.names:
                self._unsay(error)
                if self.spans(said := f"{type(error).__name__}: {error}"):
                    raise PlanwrightError(self.text(said)) from None
            raise

    def _reach(self, text: str, start: int, end: int, spelling: str, front: bool) -> tuple[int, int, str]:
        """Stretch a half that was found over as much of its spelling as stands there."""
        name = self._whole[spelling]
        if front:
            return start, _follow(text, start, spelling), name
        backwards = _follow(text[:end][::-1], 0, spelling[::-1])
        return end - backwards, end, name

    def _unsay(self, error: BaseException) -> None:
        seen: set[int] = set()
        todo: list[BaseException | None] = [error]
        while todo:
            found = todo.pop()
            if found is None or id(found) in seen:
                continue
            seen.add(id(found))
            found.args = tuple(self.value(said) for said in found.args)
            vars(found).update({name: self.value(held) for name, held in vars(found).items()})
            todo += [found.__cause__, found.__context__, *getattr(found, "exceptions", ())]


def _follow(text: str, at: int, spelling: str) -> int:
    """Say where a spelling that begins at a place ends, or breaks off; it may be wrapped over lines."""
    end, done = at, 0
    while done < len(spelling) and at < len(text):
        if text[at] == spelling[done]:
            at, done = at + 1, done + 1
            end = at
        elif wrap := _WRAP.match(text, at):
            at = wrap.end()
        else:
            break
    return end


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield from (*_strings(key), *_strings(held))
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _strings(held)
