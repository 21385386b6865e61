"""What a template has to become, worked out letter by letter, by none of the resolver's code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST_INDEX = 9


class Refused(Exception):
    """The template refers to what is not there."""


def expected(template: Any, scope: Mapping[str, Any]) -> Any:
    """Say what a template becomes. Raises Refused."""
    if isinstance(template, list):
        return [expected(item, scope) for item in template]
    if isinstance(template, dict):
        return {key: expected(item, scope) for key, item in template.items()}
    if not isinstance(template, str):
        return template
    bare = template.strip()
    reference, end = _reference_at(bare, 0)
    if reference is not None and end == len(bare):
        return _value(reference, scope)
    return "".join(_text(_value(piece, scope)) if refers else piece for piece, refers in _pieces(template))


def references(template: Any) -> Iterator[list[str]]:
    """List what a template refers to, as names and indexes."""
    for text in _texts(template):
        yield from (_path(piece) for piece, refers in _pieces(text) if refers)


def left_open(template: Any) -> bool:
    """Say whether double braces are left when all references are taken out."""
    return any("{{" in piece for text in _texts(template) for piece in _rest(text))


def _rest(text: str) -> list[str]:
    apart = "".join("\0" if refers else piece for piece, refers in _pieces(text))
    return apart.split("\0")


def _texts(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    inner = (
        template.values() if isinstance(template, dict) else template if isinstance(template, list) else ()
    )
    for item in inner:
        yield from _texts(item)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Take a text apart into letters and references."""
    place = 0
    while place < len(text):
        reference, end = _reference_at(text, place)
        yield (text[place], False) if reference is None else (reference, True)
        place = place + 1 if reference is None else end


def _reference_at(text: str, place: int) -> tuple[str | None, int]:
    if text[place : place + 2] != "{{":
        return None, place
    place += 2
    while place < len(text) and text[place].isspace():
        place += 1
    begin = place
    while place < len(text) and (text[place].isalnum() or text[place] in "_.-[]"):
        place += 1
    name = text[begin:place]
    while place < len(text) and text[place].isspace():
        place += 1
    starts = bool(name) and name[0].isascii() and (name[0].isalpha() or name[0] == "_")
    return (name, place + 2) if starts and text[place : place + 2] == "}}" else (None, place)


def _path(reference: str) -> list[str]:
    parts = [""]
    for letter in reference:
        if letter in ".[":
            parts.append("")
        elif letter != "]":
            parts[-1] += letter
    return parts


def _value(reference: str, scope: Mapping[str, Any]) -> Any:
    value: Any = scope
    for part in _path(reference):
        digits = bool(part) and all(letter in "0123456789" for letter in part)
        if isinstance(value, dict):
            if part not in value:
                raise Refused(part)
            value = value[part]
        elif isinstance(value, list) and digits and len(part) <= LONGEST_INDEX and int(part) < len(value):
            value = value[int(part)]
        else:
            raise Refused(part)
    return value


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
