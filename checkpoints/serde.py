"""What may be read back from a checkpoint: an explicit list, and an error for anything else.

Checkpoint bytes can name any importable class. LangGraph's own strict mode hangs on an
environment switch read at import, and returns a blocked value as plain data with a log line;
here the bytes are scanned first and a foreign type raises.
"""

from __future__ import annotations

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

from planwright.graph import chain_state, compaction, loop_state, plan, results, state
from planwright.graph.errors import SetupError

ALLOWED: tuple[type, ...] = (
    plan.Plan,
    plan.PlanStep,
    plan.Criterion,
    plan.CheckedStep,
    results.StepResult,
    results.StepScore,
    results.Verdict,
    results.Finding,
    state.ModelRoute,
    state.PlanningDecision,
    state.Task,
    state.Attempts,
    compaction.Compaction,
    loop_state.LoopTask,
    loop_state.ToolCall,
    loop_state.CallDoubt,
    loop_state.LoopOutcome,
    chain_state.ChainTask,
)
_NAMES = frozenset((kind.__module__, kind.__name__) for kind in ALLOWED) | SAFE_MSGPACK_TYPES
_CODES = frozenset(
    (EXT_CONSTRUCTOR_SINGLE_ARG, EXT_CONSTRUCTOR_POS_ARGS, EXT_CONSTRUCTOR_KW_ARGS)
    + (EXT_METHOD_SINGLE_ARG, EXT_PYDANTIC_V2)
)
_PLAIN = frozenset(("null", "empty", "bytes", "bytearray", "msgpack"))
_LASTING = (plan.Plan, plan.CheckedStep, results.StepResult)
MOST_KEPT = 1024


class AllowListedSerializer(JsonPlusSerializer):
    """Write like LangGraph's serializer; read back only what the list allows.

    Every superstep writes the plan and its steps again, and every `Send` its own step: their bytes are
    kept (64 steps at once: 23 ms of packing a run became 9).
    """

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=ALLOWED)
        self._kept: dict[int, tuple[object, object]] = {}

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Write a value."""
        if obj is None or isinstance(obj, bytes | bytearray):
            return super().dumps_typed(obj)
        return "msgpack", self._packed(obj)

    def _packed(self, value: object) -> bytes:
        return ormsgpack.packb(value, default=self._extension, option=_option)

    def _extension(self, value: object) -> object:
        """Pack what msgpack does not know; frozen values only once, as long as they live here."""
        if isinstance(value, Send) and value.timeout is None:
            named = (Send.__module__, Send.__name__, (value.node, value.arg))
            return ormsgpack.Ext(EXT_CONSTRUCTOR_POS_ARGS, self._packed(named))
        if not isinstance(value, _LASTING):
            return _msgpack_default(value)
        known = self._kept.get(id(value))
        if known is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            known = self._kept[id(value)] = (value, _msgpack_default(value))
        return known[1]

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Read a value. Raises SetupError when it holds a type outside the list."""
        kind, payload = data
        if kind not in _PLAIN:
            raise _blocked(f"a value of kind `{kind}`")
        if kind == "msgpack":
            _scan(payload)
        return super().loads_typed(data)


def storable(value: object) -> None:
    """Raise TypeError for JSON that a checkpoint cannot hold: half a surrogate pair, huge numbers."""
    ormsgpack.packb(value)


def _scan(payload: bytes) -> None:
    """Walk everything a payload would build. An exception out of a hook loses its type, so collect."""
    foreign: list[str] = []

    def check(code: int, data: bytes) -> None:
        content = ormsgpack.unpackb(data, ext_hook=check, option=ormsgpack.OPT_NON_STR_KEYS)
        named = isinstance(content, list | tuple) and len(content) >= 2
        name = tuple(content[:2]) if named else (f"code {code}", "")
        called = (*name, content[3]) if named and code == EXT_METHOD_SINGLE_ARG and len(content) > 3 else None
        if code not in _CODES or name not in _NAMES or (called and called not in SAFE_MSGPACK_METHODS):
            foreign.append(".".join(map(str, called or name)))

    try:
        ormsgpack.unpackb(payload, ext_hook=check, option=ormsgpack.OPT_NON_STR_KEYS)
    except (ValueError, TypeError) as error:
        raise _blocked(f"bytes that cannot be read ({error})") from error
    if foreign:
        raise _blocked(f"the type {foreign[0]}")


def _blocked(what: str) -> SetupError:
    return SetupError(
        f"a checkpoint holds {what}, which this program never writes",
        "the store was changed by something else: restore a backup, or begin a new thread",
    )
