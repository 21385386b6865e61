"""A call that blocks has a thread of its own kind."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.declaration import capability
from planwright.capabilities.gateway.invoke import invoke
from planwright.domain.errors import CapabilityError, CapabilityUnavailable, EffectInDoubt, Unanswered
from planwright.records.records import open_records
from planwright.security.jail import Jail
from planwright.settings.settings import load
from tests.patience import PATIENCE_S


async def test_calls_that_do_not_end_hold_no_other_work_up(tmp_path: Path) -> None:
    goes_on = threading.Event()

    @capability("slow.read", mode="read_only", trusted_result=True)
    def slow(name: str) -> str:
        """Read, and never end."""
        goes_on.wait(PATIENCE_S)
        return name

    memories = open_records(tmp_path).memories
    context = CallContext(load(tmp_path), Jail(tmp_path), memories)
    calls = [invoke(slow, {"name": "a"}, context, 0.05) for _ in range(64)]  # asyncio has 32 threads at most
    try:
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(end) for end in ends} == {Unanswered}
        assert await asyncio.wait_for(asyncio.to_thread(lambda: "done"), PATIENCE_S / 2) == "done"
    finally:
        goes_on.set()


async def test_an_end_of_iteration_is_a_failure_at_once(tmp_path: Path) -> None:
    @capability("end.read", mode="read_only", trusted_result=True)
    def ends(name: str) -> str:
        """Read, and end too early."""
        return str(next(iter([])))

    context = CallContext(load(tmp_path), Jail(tmp_path), open_records(tmp_path).memories)
    with pytest.raises(CapabilityError, match="StopIteration"):
        await invoke(ends, {"name": "a"}, context, PATIENCE_S)


async def test_what_a_function_changes_in_its_arguments_stays_with_it(tmp_path: Path) -> None:
    @capability("mail.post", mode="network", effect="idempotent")
    def post(body: dict[str, list[str]]) -> list[str]:
        """Send, and take apart what was given."""
        return body.pop("to")

    context = CallContext(load(tmp_path), Jail(tmp_path), open_records(tmp_path).memories)
    args: dict[str, JsonValue] = {"body": {"to": ["kim"]}}
    for _ in range(2):
        assert await invoke(post, args, context, PATIENCE_S) == ["kim"]


@pytest.mark.parametrize("blocking", [True, False])
async def test_a_timeout_of_the_function_is_told_as_its_own(tmp_path: Path, blocking: bool) -> None:
    @capability("pool.read", mode="read_only")
    async def waits(name: str) -> str:
        """Read, by a pool that has its own limit."""
        raise TimeoutError("the pool has no free connection")

    @capability("pool.look", mode="read_only")
    def looks(name: str) -> str:
        """Look, by a pool that has its own limit."""
        raise TimeoutError("the pool has no free connection")

    context = CallContext(load(tmp_path), Jail(tmp_path), open_records(tmp_path).memories)
    with pytest.raises(CapabilityUnavailable) as late:
        await invoke(looks if blocking else waits, {"name": "a"}, context, PATIENCE_S)
    assert "timed out by itself: the pool has no free connection" in late.value.cause


async def test_our_own_limit_is_told_as_ours(tmp_path: Path) -> None:
    @capability("pool.read", mode="read_only")
    async def waits(name: str) -> str:
        """Read without end."""
        await asyncio.sleep(PATIENCE_S)
        return name

    context = CallContext(load(tmp_path), Jail(tmp_path), open_records(tmp_path).memories)
    with pytest.raises(CapabilityUnavailable, match=r"pool\.read did not answer within 0\.01 s"):
        await invoke(waits, {"name": "a"}, context, 0.01)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
async def test_a_function_that_would_end_the_program_has_failed(
    tmp_path: Path, error: type[BaseException]
) -> None:
    @capability("end.all", mode="network", effect="idempotent")
    def ends(name: str) -> str:
        """End the program."""
        raise error("enough")

    context = CallContext(load(tmp_path), Jail(tmp_path), open_records(tmp_path).memories)
    with pytest.raises(CapabilityError, match=error.__name__):
        await invoke(ends, {"name": "a"}, context, PATIENCE_S)


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), httpx.ConnectError("refused")], ids=repr)
@pytest.mark.parametrize(
    ("mode", "effect", "raised"),
    [
        ("read_only", "pure", Unanswered),
        ("network", "idempotent", Unanswered),
        ("network", "blind", EffectInDoubt),
    ],
)
async def test_a_connection_that_fails_is_an_error_that_passes_except_for_a_blind_effect(
    tmp_path: Path, mode: Any, effect: Any, raised: type[CapabilityError], error: Exception
) -> None:
    @capability("far.do", mode=mode, effect=effect)
    def do() -> str:
        """Do it far away."""
        raise error

    context = CallContext(load(tmp_path), Jail(tmp_path), open_records(tmp_path).memories)
    with pytest.raises(raised, match=type(error).__name__) as failed:
        await invoke(do, {}, context, PATIENCE_S)
    assert type(failed.value) is raised
