"""A small world for plans: two capabilities, no gate, and the rules that a plan has to pass in it."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from planwright.capabilities.builtin.answer import clarify, respond
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import Registry
from planwright.domain.plan import Plan
from planwright.domain.run_context import RunContext
from planwright.planning.rules import Rules, check
from planwright.security.jail import Jail
from planwright.settings.profile import in_force
from planwright.settings.settings import load
from planwright.state.agent_state import ModelRoute


class Note(BaseModel):
    """A note."""

    text: str
    size: int


@capability("notes.read", mode="read_only")
def read(name: str) -> Note:
    """Read a note."""
    raise NotImplementedError(name)


@capability("notes.write", mode="local_write")
def write(name: str, text: str, size: int = 0, tags: list[str] | None = None) -> Note:
    """Write a note."""
    raise NotImplementedError(name, text, size, tags)


REGISTRY = Registry([read, write, respond, clarify])


@cache
def world() -> CallContext:
    """Open the world of calls that nobody makes."""
    folder = Path(tempfile.mkdtemp(prefix="plans-"))
    nothing: Any = None  # no call is made, so nothing is remembered
    return CallContext(load(folder), Jail(folder), nothing)


@cache
def rules() -> Rules:
    """Measure plans by the defaults, for a model that can call tools."""
    settings, route = world().settings, ModelRoute(provider="scripted", model="m", can_call=True)
    return Rules(REGISTRY, settings, world(), route, in_force(settings, RunContext()))


def judged(plan: Plan | None) -> list[str]:
    """List the codes of what is wrong with a plan."""
    assert plan is not None
    return [finding.code for finding in check(plan, rules())]
