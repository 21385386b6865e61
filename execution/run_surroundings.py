"""What the models of a run are told of the world it works in: read once, so that it stays as it was told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.registry import Registry
from planwright.capabilities.surroundings import surroundings
from planwright.state.invocation import Invocation

SurroundingsReader = Callable[[Invocation], Awaitable[Mapping[str, JsonValue]]]
"""Tells of the world that the run of an invocation works in."""


def surroundings_reader(registry: Registry, call_context: CallContext) -> SurroundingsReader:
    """Tell of a workspace, to each run what it may use of it."""

    async def read(invocation: Invocation) -> Mapping[str, JsonValue]:
        if not invocation.surroundings:
            call = call_context.on_behalf_of(invocation.context.tenant, invocation.profile.agent)
            allowed = registry.within(invocation.profile)
            invocation.surroundings = await asyncio.to_thread(surroundings, allowed, call)
        return invocation.surroundings

    return read
