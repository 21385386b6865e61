"""memory.forget: one memory, the one that was meant, and the same call never a second one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from planwright.capabilities.builtin import memory
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityRejected

MakeWorld = Callable[..., CallContext]
MakeBench = Callable[..., Awaitable[Any]]


@pytest.fixture
async def world(make_world: MakeWorld) -> CallContext:
    """A call among three memories."""
    for n, text in enumerate(("The alarm code is 1234", "The alarm rings at six", "Priya pays on Fridays")):
        await memory.write.function(text, make_world(key=f"{n}" * 12))
    return make_world()


async def left(world: CallContext) -> list[str]:
    return [found.id for found in (await memory.search.function("", world)).matches]


async def test_a_memory_is_forgotten_by_its_id_and_not_told_again(world: CallContext) -> None:
    gone = await memory.forget.function(world, id="mem_000000000000")
    assert gone.model_dump() == {"id": "mem_000000000000", "forgotten": True}
    assert await left(world) == ["mem_222222222222", "mem_111111111111"]


async def test_a_memory_is_forgotten_by_words_only_it_holds(world: CallContext) -> None:
    assert (await memory.forget.function(world, query="alarm code")).id == "mem_000000000000"


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({"query": "alarm"}, "2 memories hold all of 'alarm'"),
        ({"query": "bicycle"}, "no memories hold all of 'bicycle'"),
        ({"query": ""}, "no memories hold"),
        ({"id": "mem_9"}, "there is no memory mem_9"),
        ({}, "either an id or a query"),
        ({"id": "mem_000000000000", "query": "alarm code"}, "either an id or a query"),
    ],
)
async def test_nothing_is_forgotten_when_it_is_not_clear_what(
    world: CallContext, args: dict[str, str], why: str
) -> None:
    with pytest.raises(CapabilityRejected, match=why):
        await memory.forget.function(world, **args)
    assert len(await left(world)) == 3


async def test_a_call_that_is_made_again_after_a_crash_forgets_nothing_more(
    world: CallContext, make_bench: MakeBench
) -> None:
    bench = await make_bench(memory.forget)
    first = await bench.call("memory.forget", query="code")
    await memory.write.function("The new code is 5678", world.for_call("acme", "run_1", "9" * 12))
    bench.stores.database.call("crash", lambda c: c.execute("UPDATE effects SET status='intent'").rowcount)
    assert await bench.call("memory.forget", query="code") == first
    assert "mem_999999999999" in await left(world)
