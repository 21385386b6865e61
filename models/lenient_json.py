"""Reading JSON as models write it: JSON5, and a little of Python and of typography. Nothing is guessed.

Read are comments, single and typographic quotes, keys without quotes, trailing commas, line breaks in texts,
`True`, `False` and `None`. What breaks off, leaves something out (`…`) or could be meant in two ways is an
error: whoever wrote it is asked again. See https://spec.json5.org.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from planwright.domain.errors import ModelOutputInvalid
from planwright.models.replies.plan_wrappers import MOST_LEVELS, once

_SPACE = re.compile(r"(?:\s|//[^\n]*|#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_KEY = re.compile(r"[A-Za-z_$][\w$]*")
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])"
)
_WORD = re.compile(r"[A-Za-z]+")
_QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“", "‘": "’"}
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "\n": "", "0": "\0", "/": "/", "\\": "\\"}
_LIKE_JSON = re.compile(r"""\{\s*(?:["'“„‘]|[A-Za-z_$][\w$]*\s*:|//|/\*|#|\}\s*\Z)|\[\s*(?:\{|//|/\*)""")


def objects(text: str) -> list[Any]:
    """Read each object and each list of objects that stands in a text, in its order.

    Raises ModelOutputInvalid for one that cannot be read to its end, and for brackets that nothing opened.
    """
    values, position = [], 0
    while (opening := _LIKE_JSON.search(text, position)) is not None:
        _check_beside(text[position : opening.start()], "{[", "}]")
        reader = _Reader(text, opening.start())
        values.append(reader.value(0))
        position = reader.position
    _check_beside(text[position:] if values else "", "}]", "{[")
    return values


def _check_beside(text: str, more: str, fewer: str) -> None:
    """Raise ModelOutputInvalid for text beside JSON with brackets that belong to it."""
    if any(text.count(closing) > text.count(other) for closing, other in zip(more, fewer, strict=True)):
        cause = "the reply has brackets beside its JSON that nothing opens or closes"
        raise ModelOutputInvalid(cause, "answer with one JSON object and nothing else")


class _Reader:
    """A place in a text, and the values that are read from there on."""

    def __init__(self, text: str, position: int) -> None:
        self.text = text
        self.position = position

    def value(self, level: int) -> Any:
        if level > MOST_LEVELS:
            raise ModelOutputInvalid("the reply is nested too deeply", "answer with plain JSON")
        opening = self._next()
        if opening == "{":
            return self._object(level)
        if opening == "[":
            return list(self._items(level))
        if opening in _QUOTES:
            return self._string()
        if number := _NUMBER.match(self.text, self.position):
            self.position = number.end()
            return _number(number[0])
        word = _WORD.match(self.text, self.position)
        if word and word[0] in _WORDS:
            self.position = word.end()
            return _WORDS[word[0]]
        raise self._error("a value")

    def _object(self, level: int) -> dict[str, Any]:
        members = list(self._members(level))
        try:
            return once(members)
        except ValueError as error:
            raise ModelOutputInvalid(f"the reply is no JSON: {error}", "keep one of them") from error

    def _members(self, level: int) -> Iterator[tuple[str, object]]:
        self.position += 1
        while self._next() != "}":
            name = self._key()
            if self._next() != ":":
                raise self._error("`:`")
            self.position += 1
            yield name, self.value(level + 1)
            self._comma("}")
        self.position += 1

    def _items(self, level: int) -> Iterator[object]:
        self.position += 1
        while self._next() != "]":
            yield self.value(level + 1)
            self._comma("]")
        self.position += 1

    def _key(self) -> str:
        if self._next() in _QUOTES:
            return self._string()
        if name := _KEY.match(self.text, self.position):
            self.position = name.end()
            return name[0]
        raise self._error("a key")

    def _comma(self, closing: str) -> None:
        following = self._next()
        if following == ",":
            self.position += 1
        elif following != closing:
            raise self._error(f"`,` or `{closing}`")

    def _string(self) -> str:
        end, pieces = _QUOTES[self.text[self.position]], []
        start = self.position = self.position + 1
        while True:
            character = self.text[self.position : self.position + 1]
            if not character:
                raise self._error("the end of a text")
            if character == end:
                pieces.append(self.text[start : self.position])
                self.position += 1
                return "".join(pieces)
            if character == "\\":
                pieces.append(self.text[start : self.position])
                pieces.append(self._escape())
                start = self.position
            else:
                self.position += 1

    def _escape(self) -> str:
        letter = self.text[self.position + 1 : self.position + 2]
        if letter in ("u", "x"):
            digits = 4 if letter == "u" else 2
            code = self.text[self.position + 2 : self.position + 2 + digits]
            if not re.fullmatch(rf"[0-9a-fA-F]{{{digits}}}", code):
                raise self._error("an escape")
            self.position += 2 + digits
            return self._pair(chr(int(code, 16)))
        if letter and (letter in _ESCAPES or letter in "\"'“”„‘’"):
            self.position += 2
            return _ESCAPES.get(letter, letter)
        raise self._error("an escape")

    def _pair(self, first: str) -> str:
        """Join the two halves of a character beyond U+FFFF (RFC 8259 section 7)."""
        second = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(self.text, self.position)
        if not "\ud800" <= first <= "\udbff" or not second:
            return first
        self.position = second.end()
        whole: str = json.loads(f'"\\u{ord(first):04x}{second[0]}"')
        return whole

    def _next(self) -> str:
        """Skip space and comments, and return the character there; none at the end of the text."""
        space = _SPACE.match(self.text, self.position)
        self.position = space.end() if space else self.position
        return self.text[self.position : self.position + 1]

    def _error(self, expected: str) -> ModelOutputInvalid:
        rest = self.text[self.position :].strip()
        if not rest or not rest.strip("`"):
            return ModelOutputInvalid(
                "the reply breaks off in its JSON", "answer with all of it, in fewer words"
            )
        line = self.text.count("\n", 0, self.position) + 1
        return ModelOutputInvalid(
            f"the reply is no JSON: {expected} is missing in line {line} before {rest[:40]!r}",
            'answer with plain JSON; quotes inside a text are written \\"',
        )


def _number(text: str) -> int | float:
    sign, digits = (-1 if text[0] == "-" else 1), text.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        return sign * int(digits, 16)
    return sign * (int(digits) if digits.isdigit() else float(digits))
