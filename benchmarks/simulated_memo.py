"""What LangGraph and we find out about functions when an agent is built, remembered for the next agent.

Each simulated worker has an agent of its own, and building one is most of what a seed costs. Bytecode and
annotations of a function are the same in every agent; only what its closure holds is not.
"""

from __future__ import annotations

import dis
import typing
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from types import CodeType
from typing import Any
from unittest import mock

from langgraph.graph import _branch, state

from planwright.capabilities import signature

get_instructions, get_type_hints = dis.get_instructions, typing.get_type_hints


@contextmanager
def remembered() -> Iterator[None]:
    """Read each function once for all agents that are built meanwhile."""
    with ExitStack() as patched:
        patched.enter_context(mock.patch.object(dis, "get_instructions", _instructions))
        for module in (state, _branch, signature):
            patched.enter_context(mock.patch.object(module, "get_type_hints", _hints))
        yield


@cache
def _instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    return tuple(get_instructions(code))


def _hints(annotated: Any, **options: Any) -> dict[str, Any]:
    """Resolve annotations; those of a function that are text mean the same in all its closures."""
    function = getattr(annotated, "__func__", annotated)
    code, texts = getattr(function, "__code__", None), getattr(function, "__annotations__", {})
    if isinstance(annotated, type) or (code is not None and all(isinstance(t, str) for t in texts.values())):
        return dict(_resolved(_Once(annotated, code or annotated), **options))
    return get_type_hints(annotated, **options)


class _Once:
    """An annotated object, equal to all that have the same code."""

    def __init__(self, annotated: Any, code: object) -> None:
        self.annotated, self.code = annotated, code

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Once) and self.code is other.code

    def __hash__(self) -> int:
        return hash(id(self.code))


@cache
def _resolved(once: _Once, **options: Any) -> dict[str, Any]:
    return get_type_hints(once.annotated, **options)
