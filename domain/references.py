"""References in step arguments: `{{steps.<id>.output.<path>}}` and `{{input.<path>}}`.

A reference indexes dicts and lists only, in one pass: what it brings in is never read
for further references. A string that is one reference keeps the type it refers to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from planwright.domain.errors import CapabilityRejected
from planwright.domain.hashing import canonical_json

_REFERENCE = re.compile(r"\{\{\s*([A-Za-z_][\w.\-\[\]]*)\s*\}\}")
_ANY_BRACES = re.compile(r"\{\{.*?(?:\}\}|\Z)", re.DOTALL)
_KEY = r"""\s*\.\s*\w+\b(?!\s*\()|\s*\[\s*(?:"[^"\\]*"|'[^'\\]*')\s*\]"""
_CEL_PATH = rf"(?<![\w\])]\.)\b%s\b((?:{_KEY})(?:{_KEY}|\s*\[\s*\d+\s*\])*)?"
_CEL_PART = re.compile(r"""\w+|"[^"]*"|'[^']*'""")
LARGEST = 5_000_000  # characters that references may bring into the arguments of one call
_LONGEST_INDEX = 9  # digits; Python refuses to read an int of more than 4,300


class NothingFound(CapabilityRejected):
    """A reference asks for an item of a list that is empty: a search found nothing, and nothing is wrong."""

    code = "nothing_found"


class PlanEnded(NothingFound):
    """The plan says that it ends where nothing is found."""

    code = "plan_ended"


def strings(value: JsonValue) -> Iterator[str]:
    """Walk every string inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)


def step_references(params: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """List the step ids that arguments refer to, in order of appearance."""
    paths = reference_paths(dict(params))
    return tuple(dict.fromkeys(path[1] for path in paths if path[0] == "steps" and len(path) > 1))


def reference_paths(value: JsonValue) -> Iterator[list[str]]:
    """Walk the paths of all references in a value, each as names and indexes."""
    for text in strings(value):
        for match in _REFERENCE.finditer(text):
            yield _path(match[1])


def cel_paths(source: str, variable: str) -> list[list[str]]:
    """List the paths below a variable that a CEL expression reads, from the variable on, texts included.

    A path that is the variable alone says that the expression uses it in another way, and may read anything.
    """
    return [cel_path(match[0]) for match in re.finditer(_CEL_PATH % variable, source)]


def format_cel_paths(source: str, variable: str, spell: Callable[[Sequence[str]], str]) -> str:
    """Put in the place of each path below a variable in CEL what `spell` makes of it."""
    return re.sub(_CEL_PATH % variable, lambda match: spell(cel_path(match[0])), source)


def cel_path(text: str) -> list[str]:
    """Split what CEL writes as a path: `steps["s-1"].output` is `steps`, `s-1`, `output`."""
    return [part[1:-1] if part[0] in "\"'" else part for part in _CEL_PART.findall(text)]


def whole_reference(text: str) -> list[str] | None:
    """Read the path of a text that is one reference and nothing else; None for any other text."""
    match = _REFERENCE.fullmatch(text.strip())
    return _path(match[1]) if match else None


def format_references(text: str, spell: Callable[[Sequence[str]], str]) -> str:
    """Put in the place of each reference in a text what `spell` makes of its path."""
    return _REFERENCE.sub(lambda match: spell(_path(match[1])), text)


def malformed_references(params: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """List what stands in double braces and is no reference we resolve."""
    texts = braced(dict(params))
    return tuple(text for text in texts if text.endswith("}}") and not _well_formed(text))


def braced(value: JsonValue) -> Iterator[str]:
    """Walk what stands in double braces, with them; what is never closed goes to the end of its text."""
    for text in strings(value):
        yield from (match[0] for match in _ANY_BRACES.finditer(text))


def has_reference(value: JsonValue) -> bool:
    """Say whether a value refers to anything."""
    return any(_REFERENCE.search(text) for text in strings(value))


def resolve(
    value: JsonValue, scope: Mapping[str, JsonValue], later: Container[str] = frozenset()
) -> JsonValue:
    """Replace every reference in a value by what it refers to; those that begin with a name in `later` stay.

    Raises CapabilityRejected when a reference leads nowhere, or all of them bring in too much.
    """
    return _Resolving(scope, later).value(value)


def resolve_params(
    params: Mapping[str, JsonValue],
    scope: Mapping[str, JsonValue],
    later: Container[str] = frozenset(),
    *,
    empty: bool = False,
) -> dict[str, JsonValue]:
    """Replace every reference in arguments, as `resolve` does; their names stay as they are.

    Where they may be `empty`, an item of an empty list is null, and no text within a longer one.
    """
    resolving = _Resolving(scope, later, empty)
    return {name: resolving.value(value) for name, value in params.items()}


@dataclass
class _Resolving:
    """Values on their way to be resolved, and how much their references have brought in."""

    scope: Mapping[str, JsonValue]
    """Values that references may name, by their first name."""
    later: Container[str]
    """Names whose references are left as they stand, to be resolved later."""
    empty: bool = False
    """Whether an item of an empty list is null; else it is refused."""
    size: int = 0
    """What the references have brought in so far: characters of texts, and one for any other value."""

    def value(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            whole = _REFERENCE.fullmatch(value.strip())
            if not whole:
                return _REFERENCE.sub(self._piece, value)
            if _path(whole[1])[0] in self.later:
                return value
            brought = self._look_up(whole[1])
            self._count(_size(brought))
            return brought
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}
        return value

    def _piece(self, match: re.Match[str]) -> str:
        if _path(match[1])[0] in self.later:
            return match[0]
        brought = self._look_up(match[1])
        text = "" if self.empty and brought is None else _as_text(brought)
        self._count(len(text))
        return text

    def _look_up(self, reference: str) -> JsonValue:
        try:
            return look_up(reference, self.scope)
        except NothingFound:
            if not self.empty:
                raise
            return None

    def _count(self, size: int) -> None:
        self.size += size
        if self.size > LARGEST:
            raise CapabilityRejected(
                f"the references bring in more than {LARGEST // 1_000_000} MB", "refer to less, or less often"
            )


def _path(reference: str) -> list[str]:
    return reference.replace("[", ".").replace("]", "").split(".")


def _well_formed(text: str) -> bool:
    match = _REFERENCE.fullmatch(text)
    if not match:
        return False
    path = _path(match[1])
    return path[0] == "input" or (path[0] == "steps" and len(path) >= 3 and path[2] == "output")


def look_up(reference: str, scope: Mapping[str, JsonValue]) -> JsonValue:
    """Read what a path leads to, as `order.items[0]`. Raises CapabilityRejected where it leads nowhere.

    That is NothingFound where it leads into an empty list.
    """
    return walk(_path(reference), scope)


def walk(path: Sequence[str], scope: Mapping[str, JsonValue]) -> JsonValue:
    """Follow a path from name to name as `look_up` does, and raise what it does."""
    value: JsonValue = dict(scope)
    for part in path:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and _is_index(part) and int(part) < len(value):
            value = value[int(part)]
        elif value == [] and _is_index(part):
            by = f" by {path[1]}" if path[0] == "steps" else ""
            raise NothingFound(f"nothing was found{by} ({{{{{'.'.join(path)}}}}})")
        else:
            cause = f"the reference {{{{{'.'.join(path)}}}}} leads nowhere: no `{part}` there"
            raise CapabilityRejected(cause)
    return value


def _size(value: JsonValue) -> int:
    """Count the characters of all texts in a value, and its other values as one each."""
    size, pending = 0, [value]
    while pending:
        held = pending.pop()
        size += len(held) if isinstance(held, str) else 1
        if type(held) is dict:
            pending += held.values()
        elif type(held) is list:
            pending += held
    return size


def _is_index(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) <= _LONGEST_INDEX


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical_json(value)
