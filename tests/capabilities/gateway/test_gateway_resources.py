"""At the gateway: who has to wait for a resource has not begun, in the ledger or anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.declaration import capability
from tests.patience import PATIENCE_S

MakeBench = Callable[..., Awaitable[Any]]


async def test_a_call_that_waits_for_a_resource_has_no_intent_yet(make_bench: MakeBench) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    @capability("a.hold", mode="local_write", writes=lambda args, call: ["shelf"])
    async def hold(call: CallContext) -> str:
        """Write slowly."""
        begun.set()
        await may_end.wait()
        return "held"

    @capability("a.want", mode="local_write", writes=lambda args, call: ["shelf", "table"])
    def want(call: CallContext) -> str:
        """Write the same thing, and another."""
        return "wanted"

    bench = await make_bench(hold, want)
    async with asyncio.timeout(PATIENCE_S):
        first = asyncio.create_task(bench.call("a.hold"))
        await begun.wait()
        second = asyncio.create_task(bench.call("a.want"))
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert [name for name, _ in bench.effects()] == ["a.hold"]
        may_end.set()
        assert [*await asyncio.gather(first, second)] == ["held", "wanted"]
    assert sorted(bench.effects()) == [("a.hold", "done"), ("a.want", "done")]
