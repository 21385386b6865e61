"""Whatever a capability or a plan does: its step fails alone, and the run ends with an answer."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command
from pydantic import JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.results import StepResult
from planwright.graph.agent import Agent
from tests.patience import PATIENCE_S

MakeAgent = Callable[..., Agent]
MakeConfig = Callable[[], RunnableConfig]
REQUEST = {"messages": [("user", "do it")]}
HALF_A_PAIR = "\ud83e"


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def leave() -> None:
    sys.exit(3)


def cancel() -> None:
    raise asyncio.CancelledError


class WordlessError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def wordless() -> None:
    raise WordlessError


def half_worded() -> None:
    raise RuntimeError(HALF_A_PAIR)


DEEDS: dict[str, Callable[[], Any]] = {
    "raises": lambda: 1 / 0,
    "raises what has no words": wordless,
    "raises what cannot be written": half_worded,
    "exits": leave,
    "cancels": cancel,
}
RETURNED: dict[str, Callable[[], Any]] = {
    "bytes": lambda: b"\xff",
    "an object": object,
    "half a surrogate pair": lambda: HALF_A_PAIR,
    "a huge number": lambda: 2**200,
    "deeply nested lists": lambda: nested(5000),
}


def sibling(started: threading.Event) -> Capability:
    @capability("good.write", trusted_result=True, mode="local_write")
    async def write() -> str:
        """Write something, slowly."""
        started.set()
        await asyncio.sleep(0.1)
        return "written"

    return write


def within(seconds: float, call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Make a call that may never return, and fail if it does not within some seconds."""
    outcome: list[dict[str, Any] | BaseException] = []

    def run() -> None:
        try:
            outcome.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again below
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert outcome, f"the run did not end within {seconds} s"
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def results_of(agent: Agent, config: RunnableConfig) -> dict[str, StepResult]:
    return {result.step_id: result for result in agent.get_state(config).values["results"].values()}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("blind", [False, True], ids=["pure", "blind"])
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("deed", DEEDS)
def test_a_step_that_misbehaves_fails_alone(
    make_agent: MakeAgent, new_thread: MakeConfig, deed: str, sync: bool, blind: bool
) -> None:
    started = threading.Event()

    def bad_sync() -> Any:
        """Misbehave in a thread."""
        assert started.wait(PATIENCE_S)
        return DEEDS[deed]()

    async def bad_async() -> Any:
        """Misbehave on the event loop."""
        assert await asyncio.to_thread(started.wait, PATIENCE_S)
        return DEEDS[deed]()

    bad = capability("bad.deed", mode="local_write" if blind else "read_only")(
        bad_sync if sync else bad_async
    )
    steps = [{"id": "s1", "capability": "bad.deed"}, {"id": "s2", "capability": "good.write"}]
    agent, config = make_agent(steps, [bad, sibling(started)]), new_thread()
    within(PATIENCE_S, lambda: agent.invoke(REQUEST, config))
    results = results_of(agent, config)
    assert (results["s1"].status, results["s1"].code) == ("failed", "in_doubt" if blind else "tool_failed")
    assert (results["s2"].status, results["s2"].output) == ("completed", "written")
    out = within(PATIENCE_S, lambda: agent.invoke(Command(resume="reject"), config))
    assert out["status"] == ("escalated" if blind else "failed")
    assert out["answer"].startswith("the answer\nOn record:\n")
    assert out["answer"].endswith("- good.write: done")


def forbid(args: Mapping[str, JsonValue], call: CallContext) -> None:
    """Break over the argument `boom`, which a plan may only refer to."""
    if args["name"] == "boom":
        raise KeyError("boom")


def hosts(args: Mapping[str, JsonValue], call: CallContext) -> list[str]:
    forbid(args, call)
    return []


@pytest.mark.parametrize("mode", ["read_only", "network", "destructive"])
def test_a_check_that_breaks_at_the_call_fails_its_step_alone(
    make_agent: MakeAgent, new_thread: MakeConfig, mode: str
) -> None:
    @capability("seed.name", trusted_result=True, mode="read_only")
    def seed() -> str:
        """Return a name."""
        return "boom"

    declared: dict[str, Any] = {"preflight": (lambda args, call: None) if mode == "network" else forbid}

    @capability("bad.check", trusted_result=True, mode=mode, hosts=hosts, **declared)  # type: ignore[arg-type]
    def bad(name: str) -> str:
        """Do something with a name."""
        return name

    steps = [
        {"id": "s0", "capability": "seed.name"},
        {"id": "s1", "capability": "bad.check", "params": {"name": "{{steps.s0.output}}"}},
        {"id": "s2", "capability": "good.write"},
    ]
    flags = {"approval": {"plan": "never"}}
    agent = make_agent(steps, [seed, bad, sibling(threading.Event())], flags=flags)
    config = new_thread()
    agent.invoke(REQUEST, config)
    results = results_of(agent, config)
    assert (results["s1"].status, results["s2"].status) == ("failed", "completed")
    assert "boom" in results["s1"].error


def test_a_check_that_breaks_at_verification_refuses_the_plan(
    make_agent: MakeAgent, new_thread: MakeConfig
) -> None:
    @capability("bad.check", trusted_result=True, mode="read_only", preflight=forbid)
    def bad(name: str) -> str:
        """Do something with a name."""
        return name

    agent = make_agent([{"id": "s1", "capability": "bad.check", "params": {"name": "boom"}}], [bad])
    out = agent.invoke(REQUEST, new_thread())
    assert out["status"] == "refused"
    assert "boom" in out["answer"]


@pytest.mark.parametrize("value", [HALF_A_PAIR, 2**70], ids=["half a surrogate pair", "a huge number"])
def test_a_plan_that_no_store_can_hold_ends_the_run_with_an_answer(
    make_agent: MakeAgent, new_thread: MakeConfig, value: Any
) -> None:
    @capability("good.read", trusted_result=True, mode="read_only")
    def read(value: str | int) -> str:
        """Read something."""
        return "read"

    agent, config = (
        make_agent([{"id": "s1", "capability": "good.read", "params": {"value": value}}], [read]),
        new_thread(),
    )
    out = agent.invoke(REQUEST, config)
    assert out["status"] in ("failed", "refused")
    assert out["answer"]
    assert agent.invoke(None, config)["status"] == out["status"]


@pytest.mark.parametrize("folder", [".planwright", "state", "deep/state"])
@pytest.mark.parametrize("name", ["files.read", "files.write", "files.list", "files.search"])
def test_a_plan_that_reaches_for_the_programs_own_store_is_refused(
    make_agent: MakeAgent, new_thread: MakeConfig, folder: str, name: str
) -> None:
    params = {
        "files.read": {"path": f"{folder}/planwright.db"},
        "files.write": {"path": f"{folder}/planwright.db", "text": "x"},
        "files.list": {"path": folder},
        "files.search": {"query": "acme", "path": folder},
    }[name]
    flags = {"storage": {"path": folder}}
    agent = make_agent([{"id": "s1", "capability": name, "params": params}], flags=flags)
    out = agent.invoke(REQUEST, new_thread())
    assert out["status"] == "refused"
    assert "belongs to the program" in out["answer"]


def test_a_listing_of_the_workspace_leaves_the_programs_own_store_out(
    make_agent: MakeAgent, new_thread: MakeConfig
) -> None:
    flags = {"storage": {"path": "deep/state"}}
    agent, config = make_agent([{"id": "s1", "capability": "files.list"}], flags=flags), new_thread()
    (agent.stores.database.path.parent.parent).mkdir(parents=True)
    (agent.stores.database.path.parent.parent / "note.txt").write_text("mine")
    agent.invoke(REQUEST, config)
    assert results_of(agent, config)["s1"].output == {"files": ["deep/note.txt"], "count": 1}


@pytest.mark.parametrize("returned", RETURNED)
def test_a_call_that_returned_is_done_whatever_it_returned(
    make_agent: MakeAgent, new_thread: MakeConfig, returned: str
) -> None:
    @capability("odd.deed", mode="local_write")
    def odd() -> Any:
        """Write something, and return what JSON does not have."""
        return RETURNED[returned]()

    agent, config = make_agent([{"id": "s1", "capability": "odd.deed"}], [odd]), new_thread()
    out = within(PATIENCE_S, lambda: agent.invoke(REQUEST, config))
    assert (out["status"], results_of(agent, config)["s1"].status) == ("completed", "completed")
