"""Secrets, found by their value wherever they turn up, and put out of sight.

It knows values and texts only. `known_secrets.py` says which values are secret, `encodings.py` how they
may be spelled, and `docs/decisions/0016` where they are looked for.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

from ahocorasick_rs import AhoCorasick, BytesAhoCorasick, MatchKind

from planwright.domain.errors import PlanwrightError
from planwright.security.redaction.encodings import encodings_of, enough
from planwright.security.redaction.key_forms import FORMS
from planwright.security.reply_size import outgrows

SHORTEST = 8
REACH = 3
"""How many times the length of a spelling it may take where it is wrapped over lines."""
T = TypeVar("T")
_MARK = re.compile(r"\[REDACTED ([\w.-]+)\]")
_WRAP = re.compile(  # as it is read on, and as it is read back
    r"(?:\s|\\[rnt]|[rnt]\\|=\r?\n|\n\r?=|(?<=[\n\s])>|>(?=[\n\s])"
    r"|\x1b\[[\d;]*[a-zA-Z]|[a-zA-Z][\d;]*\[\x1b|[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]"
    r"|\*\*|<wbr ?/?>|>/? ?rbw<|[\"']\s*\+\s*[\"'])+"
)


class Redactor:
    """Replace the values of secrets, given by name, with `[REDACTED name]`; without any, change nothing.

    Values below 8 characters are part of too many words to be found; their names are in `short`.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        named = {re.sub(r"[^\w.-]", "_", name): value for name, value in (secrets or {}).items() if value}
        self.short = tuple(name for name, value in named.items() if len(value) < SHORTEST)
        self.names = tuple(name for name in named if name not in self.short)
        self._known: dict[str, tuple[str, int]] = {}
        self._anchors: dict[str, list[tuple[str, bool]]] = {}
        for name in self.names:
            for spelling in sorted(set(map(_flat, encodings_of(named[name])))):
                self._known.setdefault(spelling, (name, enough(spelling, named[name])))
        for spelling in self._known:
            self._anchors.setdefault(spelling[:SHORTEST], []).append((spelling, True))
            self._anchors.setdefault(spelling[-SHORTEST:], []).append((spelling, False))
        self._order = list(self._anchors)
        backs = {spelling[-least:] for spelling, (_, least) in self._known.items()}
        self._starts = sorted({*self._known, *backs})
        self._three = {start[:3] for start in self._starts}
        self._longest = max(map(len, self._starts), default=0)

    @cached_property
    def _search(self) -> AhoCorasick:
        """Find every anchor."""
        return AhoCorasick(self._order)

    @cached_property
    def _sieve(self) -> list[BytesAhoCorasick]:
        """Tell quickly that there is no anchor; of up to 64 patterns many are compared at once (SIMD)."""
        coded = [anchor.encode() for anchor in self._order]
        size = math.ceil(len(coded) / max(1, math.ceil(len(coded) / 64))) or 1
        parts = (coded[at : at + size] for at in range(0, len(coded), size))
        return [BytesAhoCorasick(part, matchkind=MatchKind.LeftmostFirst) for part in parts]

    def __bool__(self) -> bool:
        return bool(self.names)

    def text(self, text: str) -> str:
        """Put every secret in a text out of sight, in whatever spelling it is there."""
        if not self.names or not (spans := self.spans(text)):
            return text
        return _marked(text, spans)

    def beginning(self, text: str, most: int) -> str:
        """Keep `most` letters of a text, without a secret in them or one that goes on behind them."""
        if len(text) <= most:
            return self.text(text)
        looked_at = text[: most + REACH * self._longest]
        spans = self.spans(looked_at) if self.names else []
        cut = min((first for first, end, _ in spans if first < most < end), default=most)
        start = _marked(looked_at[:cut], [span for span in spans if span[1] <= cut])
        return f"{start}… ({len(text):,} characters)"

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
        return self.may_be_in(data) and bool(self._flat_spans(_flat(data.decode("utf-8", "replace"))))

    def may_be_in(self, data: bytes) -> bool:
        """Say, in microseconds, whether it is worth a closer look for secrets in UTF-8."""
        doubled = b"\\" in data and b"\\\\" in data  # the first is found ten times as fast
        return self._sifted(re.sub(rb"\\{2,}", rb"\\", data) if doubled else data)

    def held_in(self, value: object) -> str | None:
        """Name the first secret in a JSON value; None when there is none."""
        spans = (span for text in _strings(value) for span in self.spans(text)) if self.names else iter(())
        return next((name for _, _, name in spans), None)

    def blotted_in(self, value: object) -> str | None:
        """Name the first secret that was put out of sight in a JSON value; None when there is none."""
        marks = (mark[1] for text in _strings(value) for mark in _MARK.finditer(text))
        return next((name for name in marks if name in self.names or name in FORMS), None)

    def spans(self, text: str) -> list[tuple[int, int, str]]:
        """Find where in a text secrets stand: start, end and name, in order, without overlap."""
        flat = _flat(text)
        flat_spans = self._flat_spans(flat)
        if not flat_spans or len(flat) == len(text):
            return flat_spans
        places = _places(text)
        return [(places[start], places[end], name) for start, end, name in flat_spans]

    def settled(self, text: str) -> int:
        """Say how much of a text can be shown before its next piece is there: no secret goes on from it."""
        flat = _flat(text)
        cut = self._begun(flat, 0)
        for start, end, _ in self._flat_spans(flat):
            if start < cut < end:  # a whole secret that another could begin in
                cut = self._begun(flat, end)
        return cut if len(flat) == len(text) else _places(text)[cut]

    @contextmanager
    def errors(self, most: int | None = None) -> Iterator[None]:
        """Let no exception out of a block with a secret in its words, nor with more than `most` letters.

        The exception stays the same one, of the same kind, with other words; one whose words cannot be
        changed is replaced.
        """
        try:
            yield
        except Exception as error:
            if self.names or most is not None:
                self._unsay(error, most)
            if self.names and self.spans(text := f"{type(error).__name__}: {error}"):
                raise PlanwrightError(self.text(text)) from None
            raise

    def _flat_spans(self, text: str) -> list[tuple[int, int, str]]:
        """Find secrets in a flat text."""
        try:
            if not self._sifted(text.encode()):
                return []
        except UnicodeEncodeError:  # half a surrogate pair; no secret has one
            return self._flat_spans(re.sub("[\ud800-\udfff]", "?", text))
        spans: list[tuple[int, int, str]] = []
        newest: dict[str, tuple[int, int]] = {}  # joined as they are found: a text may be full of anchors
        for anchor, start, end in self._search.find_matches_as_indexes(text, overlapping=True):
            for spelling, front in self._anchors[self._order[anchor]]:
                name, least = self._known[spelling]
                begins, ends, size = _stretch(text, start, end, spelling, front)
                if size < least:
                    continue
                before = newest.get(name, (begins, ends))
                if begins <= before[1] and before[0] <= ends:
                    newest[name] = (min(begins, before[0]), max(ends, before[1]))
                else:
                    spans.append((*before, name))
                    newest[name] = (begins, ends)
        return _joined([*spans, *((*span, name) for name, span in newest.items())])

    def _begun(self, text: str, after: int) -> int:
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

    def _sifted(self, data: bytes) -> bool:
        return len(data) >= SHORTEST and any(part.find_matches_as_indexes(data) for part in self._sieve)

    def _unsay(self, error: BaseException, most: int | None) -> None:
        seen: set[int] = set()
        todo: list[BaseException | None] = [error]
        while todo:
            current = todo.pop()
            if current is None or id(current) in seen:
                continue
            seen.add(id(current))
            current.args = tuple(self._brief(arg, most) for arg in current.args)
            vars(current).update({name: self._brief(held, most) for name, held in vars(current).items()})
            todo += [current.__cause__, current.__context__, *getattr(current, "exceptions", ())]

    def _brief(self, value: object, most: int | None) -> object:
        if most is None or not outgrows(value, most):
            return self.value(value)
        return (
            self.beginning(value, most) if isinstance(value, str) else f"a {type(value).__name__}, too long"
        )


def _marked(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """Put the mark of a secret in the place of each of these."""
    parts, at = [], 0
    for start, end, name in spans:
        parts += [text[at:start], f"[REDACTED {name}]"]
        at = end
    return "".join((*parts, text[at:]))


def _flat(text: str) -> str:
    """Make one of every run of backslashes: however often a text was quoted, it then looks the same."""
    return re.sub(r"\\{2,}", r"\\", text) if "\\" in text and "\\\\" in text else text


def _places(text: str) -> list[int]:
    """List where the characters of a flat text stand in the text itself, and where that ends."""
    places = (at for at, char in enumerate(text) if char != "\\" or at == 0 or text[at - 1] != "\\")
    return [*places, len(text)]


def _stretch(text: str, start: int, end: int, spelling: str, front: bool) -> tuple[int, int, int]:
    """Stretch what was found over as much of its spelling as stands there: start, end, and how much it is."""
    if front:
        reach, size = _follow(text[start : start + REACH * len(spelling)], spelling)
        return start, start + reach, size
    backwards = text[max(0, end - REACH * len(spelling)) : end][::-1]
    reach, size = _follow(backwards, spelling[::-1])
    return end - reach, end, size


def _follow(text: str, spelling: str) -> tuple[int, int]:
    """Say how far a text follows a spelling, and how much of it; it may be wrapped over lines."""
    at = end = done = 0
    while done < len(spelling) and at < len(text):
        if text[at] == spelling[done]:
            at, done = at + 1, done + 1
            end = at
        elif wrap := _WRAP.match(text, at):
            at = wrap.end()
        else:
            break
    return end, done


def _joined(spans: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Put spans in order, and make one of those that touch; the longest gives its name."""
    joined: list[tuple[int, int, str]] = []
    for start, end, name in sorted(spans):
        if joined and start <= joined[-1][1]:
            before = joined.pop()
            start, name = before[0], name if end - start > before[1] - before[0] else before[2]
            end = max(end, before[1])
        joined.append((start, end, name))
    return joined


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield from (*_strings(key), *_strings(held))
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _strings(held)
