"""What a call returned, as JSON: one spelling for every value, whoever made the tool.

A call that returned is done, so whatever it returned can be written down. What JSON does not
have becomes the nearest thing that it has; tables and numbers of libraries are known by their methods.
"""

from __future__ import annotations

import asyncio
import base64
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from itertools import islice
from operator import attrgetter, methodcaller
from types import SimpleNamespace
from typing import Annotated

from pydantic import BaseModel, JsonValue, PlainSerializer, TypeAdapter
from pydantic_core import to_jsonable_python

from planwright.capabilities.result_notes import add_note
from planwright.domain.errors import OverLimit
from planwright.domain.hashing import canonical_json

MOST_ITEMS = 10_000
"""Items of an iterator that are read; it may have no end."""
MOST_RESULT = 10_000_000
"""Bytes as JSON: all that is done with a result takes ten times as much memory."""
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
"""The whole numbers that every store and every message holds as such; others are kept as text."""
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"%PDF-": "application/pdf",
}
_MISSING = ("NAType", "NaTType")  # of pandas: no value, and no time


def read_out(value: object) -> object:
    """Wait for what has to be awaited, and read an iterator, in a thread without an event loop.

    Returns every other value as it is. Raises what the tool's own code raises.
    """
    if isinstance(value, Awaitable | AsyncIterator):
        return asyncio.run(aread_out(value))
    if not isinstance(value, Iterator):
        return value
    items = list(islice(value, MOST_ITEMS + 1))
    return [*items[:MOST_ITEMS], _cut()] if len(items) > MOST_ITEMS else items


async def aread_out(value: object) -> object:
    """Do the same within an event loop."""
    while isinstance(value, Awaitable):
        value = await value
    if not isinstance(value, AsyncIterator):
        return read_out(value)
    items: list[object] = []
    async for item in value:
        if len(items) == MOST_ITEMS:
            return [*items, _cut()]
        items.append(item)
    return items


def as_json(value: object) -> JsonValue:
    """Spell a value as JSON. Raises OverLimit for one that is too large, RecursionError for one too deep."""
    return _Encoder().json(value)


ANY_RESULT: TypeAdapter[object] = TypeAdapter(Annotated[object, PlainSerializer(as_json)])
"""Takes whatever a tool returns that declares nothing of it."""


def _cut() -> dict[str, str]:
    return {"not_kept": f"more than {MOST_ITEMS:,} items"}


class _Encoder:
    """Spell one value, in at most `MOST_RESULT` bytes."""

    def __init__(self) -> None:
        self._left = MOST_RESULT

    def json(self, value: object) -> JsonValue:
        """Spell a value and all that is in it."""
        if isinstance(value, Enum):
            return self.json(value.value)
        if isinstance(value, str):
            return self._text(str.__str__(value))
        self._spend(2)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            whole = int(value)
            return whole if _SMALLEST <= whole <= _LARGEST else self._text(str(Decimal(whole)))
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else self._text(_not_finite(Decimal(value)))
        if isinstance(value, Decimal):
            return self._text(str(value) if value.is_finite() else _not_finite(value))
        if isinstance(value, bytes | bytearray | memoryview):
            return self._bytes(bytes(value))
        return self._container(value)

    def _container(self, value: object) -> JsonValue:
        if isinstance(value, Mapping):
            return self._object(value.items())
        if isinstance(value, tuple) and callable(by_name := getattr(value, "_asdict", None)):
            return self.json(by_name())
        if isinstance(value, list | tuple | deque | range):
            return [self.json(item) for item in value]
        if isinstance(value, AbstractSet):
            return sorted(map(self.json, value), key=canonical_json)
        if isinstance(value, Iterator):
            return self.json(read_out(value))
        if isinstance(value, BaseModel):
            return self._model(value)
        if is_dataclass(value) and not isinstance(value, type):
            return self._object((field.name, getattr(value, field.name, None)) for field in fields(value))
        if isinstance(value, SimpleNamespace):
            return self._object(vars(value).items())
        return self._other(value)

    def _object(self, items: Iterable[tuple[object, object]]) -> JsonValue:
        """Spell the keys as text; a list of pairs where two are spelled alike."""
        pairs = [(key, self.json(value)) for key, value in items]
        named = {self._key(key): value for key, value in pairs}
        return named if len(named) == len(pairs) else [[self.json(key), value] for key, value in pairs]

    def _key(self, key: object) -> str:
        spelled = self.json(key)
        return spelled if isinstance(spelled, str) else canonical_json(spelled)

    def _model(self, model: BaseModel) -> JsonValue:
        try:
            return self.json(model.model_dump(mode="json", warnings=False, fallback=as_json))
        except ValueError:  # bytes that are no text, for one
            return self._other(model)

    def _other(self, value: object) -> JsonValue:
        """Spell a value of a library as pydantic or a method of its own does, or as the text that it is."""
        if type(value).__name__ in _MISSING:
            return None
        if isinstance(size := getattr(value, "size", 0), int):
            self._check(2 * size)
        for way in () if isinstance(value, type) else _WAYS:
            try:
                plain = way(value)
            except Exception:  # noqa: BLE001 - the code of a library, or of a user; it is not its way
                continue
            if type(plain) is not type(value):
                return self.json(plain)
        return self._text(_words(value))

    def _text(self, text: str) -> str:
        content = text.encode("utf-8", "replace")  # half a character is none
        self._spend(len(content))
        return content.decode()

    def _bytes(self, content: bytes) -> JsonValue:
        """Spell bytes with their type, as the content of a LangChain message does."""
        known = (kind for beginning, kind in _BEGINNINGS.items() if content.startswith(beginning))
        kind = next(known, "")
        if not kind and (text := _readable(content)) is not None:
            return {"type": "text-plain", "mime_type": "text/plain", "text": self._text(text)}
        self._check(len(content))
        encoded = self._text(base64.b64encode(content).decode())
        block = "image" if kind.startswith("image/") else "file"
        return {"type": block, "mime_type": kind or "application/octet-stream", "base64": encoded}

    def _spend(self, size: int) -> None:
        self._check(size)
        self._left -= size

    def _check(self, size: int) -> None:
        if size > self._left:
            raise OverLimit(f"it is more than {MOST_RESULT // 1_000_000} MB")


def _not_finite(value: Decimal) -> str:
    """Spell what JSON has no number for."""
    add_note("it holds NaN or Infinity, which JSON has no number for: each is kept as text")
    return str(value)


def _readable(content: bytes) -> str | None:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return text if "".join(text.split()).isprintable() else None


def _words(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a user's own method
        return f"<{type(value).__name__}>"


def _picture(value: object) -> bytes:
    """Draw a figure or picture, as a notebook shows it."""
    return bytes(methodcaller("_repr_png_")(value))


def _times(value: object) -> object:
    """Spell times of numpy, which are numbers without a unit in its lists."""
    if attrgetter("dtype.kind")(value) not in "mM":
        raise TypeError
    return methodcaller("tolist")(methodcaller("astype", str)(value))


def _row(value: object) -> object:
    """Spell a row of a database by its columns."""
    return {key: methodcaller("__getitem__", key)(value) for key in methodcaller("keys")(value)}


# A table of pandas is spelled with its columns and the labels of its rows: nothing of it is lost.
_WAYS: tuple[Callable[[object], object], ...] = (
    *(to_jsonable_python, methodcaller("model_dump"), _picture),
    *(methodcaller("to_frame"), methodcaller("to_dict", orient="tight")),
    *(methodcaller("to_dicts"), methodcaller("to_dict"), _times, _row),
    *(methodcaller("tolist"), methodcaller("to_list")),
)
