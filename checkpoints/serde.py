"""What may be read back from a checkpoint: our own types by their tags, LangGraph's list, and nothing else.

Checkpoint bytes can name any importable class. LangGraph's own strict mode hangs on an
environment switch read at import, and returns a blocked value as plain data with a log line;
here a foreign type is never built, and raises.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import ormsgpack
from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_METHODS, SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.jsonplus import (
    EXT_CONSTRUCTOR_KW_ARGS,
    EXT_CONSTRUCTOR_POS_ARGS,
    EXT_CONSTRUCTOR_SINGLE_ARG,
    EXT_METHOD_SINGLE_ARG,
    EXT_PYDANTIC_V2,
    JsonPlusSerializer,
    _msgpack_default,
    _option,
)
from langgraph.types import Send
from pydantic import BaseModel

from planwright.checkpoints.tags import TAG_OF, TAGS
from planwright.domain import plan, results
from planwright.domain.errors import SetupError
from planwright.domain.verified_step import VerifiedStep

EXT_TAGGED = 64  # LangGraph counts its own codes from 0
_CODES = frozenset(
    (EXT_CONSTRUCTOR_SINGLE_ARG, EXT_CONSTRUCTOR_POS_ARGS, EXT_CONSTRUCTOR_KW_ARGS, EXT_PYDANTIC_V2)
)
_PLAIN = frozenset(("null", "empty", "bytes", "bytearray", "msgpack"))
_LASTING = (plan.Plan, VerifiedStep, results.StepResult)
MOST_KEPT = 1024


class AllowListedSerializer(JsonPlusSerializer):
    """Write our types by tag and all else like LangGraph's serializer; read back only what is allowed.

    Every superstep writes the plan and its steps again, and every `Send` its own step: their bytes are
    kept (64 steps at once: 23 ms of packing a run became 9).
    """

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)
        self._spelled_before: dict[int, tuple[object, object]] = {}

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Write a value."""
        if obj is None or isinstance(obj, bytes | bytearray):
            return super().dumps_typed(obj)
        return "msgpack", self._packed(obj)

    def _packed(self, value: object) -> bytes:
        return ormsgpack.packb(value, default=self._extension, option=_option)

    def _extension(self, value: object) -> object:
        """Pack what msgpack does not know; frozen values only once, as long as they live here."""
        if isinstance(value, Send):
            content = (
                (value.node, value.arg) if value.timeout is None else (value.node, value.arg, value.timeout)
            )
            named = (Send.__module__, Send.__name__, content)
            return ormsgpack.Ext(EXT_CONSTRUCTOR_POS_ARGS, self._packed(named))
        if not isinstance(value, _LASTING):
            return self._container(value)
        known = self._spelled_before.get(id(value))
        if known is None:
            if len(self._spelled_before) >= MOST_KEPT:
                self._spelled_before.clear()
            known = self._spelled_before[id(value)] = (value, self._tagged(value))
        return known[1]

    def _container(self, value: object) -> object:
        """Pack what may hold values of ours as LangGraph does, but for those values."""
        named = (type(value).__module__, type(value).__name__)
        if isinstance(value, set | frozenset | deque):
            return ormsgpack.Ext(EXT_CONSTRUCTOR_SINGLE_ARG, self._packed((*named, tuple(value))))
        if is_dataclass(value):
            content = {field.name: getattr(value, field.name) for field in fields(value)}
            return ormsgpack.Ext(EXT_CONSTRUCTOR_KW_ARGS, self._packed((*named, content)))
        return self._tagged(value)

    def _tagged(self, value: object) -> object:
        if isinstance(value, BaseModel) and (tag := TAG_OF.get(type(value))):
            return ormsgpack.Ext(EXT_TAGGED, self._packed((tag, value.model_dump())))
        return _msgpack_default(value)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Read a value. Raises SetupError when it holds a type outside the list, or cannot be read."""
        kind, payload = data
        if kind not in _PLAIN:
            raise _blocked(f"a value of kind `{kind}`")
        if kind != "msgpack":
            return super().loads_typed(data)
        foreign: list[str] = []  # an exception out of a hook loses its type

        def build(code: int, content: bytes) -> object:
            named = ormsgpack.unpackb(content, ext_hook=build, option=ormsgpack.OPT_NON_STR_KEYS)
            if refused := _foreign(code, named):
                foreign.append(refused)
                return None
            if code == EXT_PYDANTIC_V2:
                return self._unpack_ext_hook(code, content)  # LangChain's own classes hold nothing of ours
            return _built(code, named)

        try:
            value = ormsgpack.unpackb(payload, ext_hook=build, option=ormsgpack.OPT_NON_STR_KEYS)
        except (ValueError, TypeError) as error:
            raise _blocked(f"bytes that cannot be read ({error})") from error
        if foreign:
            raise _blocked(f"the type {foreign[0]}")
        return value


def storable(value: object) -> None:
    """Raise TypeError for what no record can hold: half a surrogate pair, huge numbers, Infinity and NaN.

    JSON has neither of these two (RFC 8259, 6): some writers put null in their place, others a word.
    """
    ormsgpack.packb(value)
    try:
        json.dumps(value, allow_nan=False)
    except ValueError as error:
        raise TypeError(f"a number that JSON does not have: {error}") from error


def _foreign(code: int, named: object) -> str | None:
    """Name what an extension would build when that is not on the list; None when it is."""
    if not isinstance(named, list | tuple) or len(named) < 2:
        return f"code {code}"
    if code == EXT_TAGGED:
        return None if isinstance(named[0], str) and named[0] in TAGS else f"with the tag {named[0]}"
    name = (named[0], named[1])
    if not all(isinstance(part, str) for part in name):
        return f"code {code}"
    if code == EXT_METHOD_SINGLE_ARG:
        allowed = len(named) > 3 and (*name, named[3]) in SAFE_MSGPACK_METHODS
    else:
        allowed = code in _CODES and name in SAFE_MSGPACK_TYPES
    return None if allowed else ".".join(map(str, name))


def _built(code: int, named: Any) -> object:
    """Build what an allowed extension names, as LangGraph does. Raises ValueError and TypeError."""
    if code == EXT_TAGGED:
        return TAGS[named[0]](**named[1])
    kind, content = getattr(import_module(named[0]), named[1]), named[2]
    if code == EXT_METHOD_SINGLE_ARG:
        return getattr(kind, named[3])(content)
    if code == EXT_CONSTRUCTOR_KW_ARGS:
        return kind(**content)
    if code == EXT_CONSTRUCTOR_SINGLE_ARG:
        return kind(content)
    return Send(*content[:2], timeout=content[2]) if kind is Send and len(content) > 2 else kind(*content)


def _blocked(content: str) -> SetupError:
    return SetupError(
        f"a checkpoint holds {content}, which this program never writes",
        "the store was changed by something else: restore a backup, or begin a new thread",
    )
