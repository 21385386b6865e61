"""The door: what may enter a thread, and what is refused without changing anything."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import GateError, PlanwrightError, RunError, SetupError
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from tests.patience import PATIENCE_S

MakeAgent = Callable[..., Agent]
MakeConfig = Callable[[], RunnableConfig]
REQUEST = {"messages": [("user", "do it")]}
APPROVE: Command[Any] = Command(resume={"decisions": [{"type": "approve"}]})


def step(id_: str = "s1", capability: str = "disk.wipe", **params: Any) -> dict[str, Any]:
    return {"id": id_, "capability": capability, "params": params or {"name": id_}}


def gates_of(agent: Agent, config: RunnableConfig) -> list[str]:
    thread_id = config["configurable"]["thread_id"]
    return [gate.gate_id for gate in asyncio.run(agent.stores.gates.of_thread(thread_id))]


def approve_all(agent: Agent, config: RunnableConfig) -> dict[str, Any]:
    """Approve the plan and then each of its steps, and return the last output."""
    out: dict[str, Any] = agent.invoke(REQUEST, config)
    for _ in range(20):
        if not gates_of(agent, config):
            return out
        out = agent.invoke(Command(resume=dict.fromkeys(gates_of(agent, config), "approve")), config)
    raise AssertionError("there is always one more gate")


def test_a_new_message_over_an_open_gate_is_refused_with_the_gates_name(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability
) -> None:
    agent, config = make_agent([step()], [wipe]), new_thread()
    agent.invoke(REQUEST, config)
    (gate,) = gates_of(agent, config)
    with pytest.raises(RunError, match=f"waits for a decision at gate {gate}"):
        agent.invoke({"messages": [("user", "something else")]}, config)
    assert gates_of(agent, config) == [gate]
    assert agent.invoke(APPROVE, config)["__interrupt__"]


@pytest.mark.parametrize(
    "command",
    [
        Command(goto="dispatch"),
        Command(goto="respond", resume="approve"),
        Command(update={"approved": True}),
        Command(update={"approved": True}, resume="approve"),
        Command(),
    ],
    ids=["goto", "goto and resume", "update", "update and resume", "nothing"],
)
@pytest.mark.parametrize("begun", [True, False], ids=["open gate", "unknown thread"])
def test_a_command_that_goes_around_the_gates_is_refused(
    make_agent: MakeAgent,
    new_thread: MakeConfig,
    wipe: Capability,
    done: list[str],
    command: Command[Any],
    begun: bool,
) -> None:
    agent, config = make_agent([step()], [wipe]), new_thread()
    if begun:
        agent.invoke(REQUEST, config)
    before = gates_of(agent, config)
    with pytest.raises(GateError, match="a Command may only resume"):
        agent.invoke(command, config)
    assert (gates_of(agent, config), done) == (before, [])


@pytest.mark.parametrize("entry", [APPROVE, None], ids=["answer", "recovery"])
def test_an_unknown_thread_is_refused_and_not_begun(
    make_agent: MakeAgent, new_thread: MakeConfig, entry: Any
) -> None:
    agent, config = make_agent([step()]), new_thread()
    with pytest.raises(RunError, match="there is no thread"):
        agent.invoke(entry, config)
    assert agent.stores.saver.get_tuple(config) is None
    assert asyncio.run(agent.stores.runs.latest(config["configurable"]["thread_id"])) is None


@pytest.mark.parametrize(
    "config", [None, {}, {"configurable": {}}, {"configurable": {"thread_id": ""}}], ids=str
)
@pytest.mark.parametrize("entry", [REQUEST, APPROVE, None], ids=["request", "answer", "recovery"])
def test_a_call_without_a_thread_id_is_refused(
    make_agent: MakeAgent, config: RunnableConfig | None, entry: Any
) -> None:
    with pytest.raises(SetupError, match="a run needs a thread id"):
        make_agent([step()]).invoke(entry, config)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"messages": []},
        {"messages": None},
        {"messages": ""},
        {"messages": 7},
        {"messages": [7]},
        {"messages": [None]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "nobody", "content": "x"}]},
        {"messages": [("user", "")]},
        {"messages": [("user", " \n\t ")]},
        {"messages": [("user", "x"), ("assistant", "y")]},
        {"messages": [{"role": "user", "content": []}]},
        {"messages": [{"role": "tool", "content": "x"}]},
        {"messages": [{"role": "assistant", "content": "", "tool_calls": [{"function": {}}]}]},
        {"question": "x"},
        "do it",
        7,
        ["do it"],
    ],
    ids=str,
)
def test_an_input_without_a_request_is_refused(
    make_agent: MakeAgent, new_thread: MakeConfig, given: Any
) -> None:
    agent, config = make_agent([step()]), new_thread()
    with pytest.raises(SetupError, match=r"holds no messages|request is empty|words of a model"):
        agent.invoke(given, config)
    assert asyncio.run(agent.stores.runs.latest(config["configurable"]["thread_id"])) is None


def test_a_request_of_more_than_100_000_characters_is_refused(
    make_agent: MakeAgent, new_thread: MakeConfig
) -> None:
    agent, config = make_agent([]), new_thread()
    with pytest.raises(SetupError, match="is 100,001 characters long, 100,000 are allowed"):
        agent.invoke({"messages": [("user", "x" * 100_001)]}, config)
    assert agent.invoke({"messages": [("user", "x" * 100_000)]}, config)["status"] == "completed"


def test_a_request_that_no_store_can_hold_is_refused(make_agent: MakeAgent, new_thread: MakeConfig) -> None:
    with pytest.raises(SetupError):
        make_agent([]).invoke({"messages": [("user", "half a surrogate pair: \ud83e")]}, new_thread())


@pytest.mark.parametrize("context", [{"tenants": "acme"}, {"planning_mode": "sometimes"}, 7, "x"], ids=str)
def test_an_unknown_option_of_a_run_is_refused(
    make_agent: MakeAgent, new_thread: MakeConfig, context: Any
) -> None:
    with pytest.raises(SetupError, match="the run context is wrong"):
        make_agent([]).invoke(REQUEST, new_thread(), context=context)


@pytest.mark.parametrize("context", [RunContext(tenant="acme"), {"tenant": "acme"}], ids=["object", "json"])
def test_the_options_of_a_run_are_kept_with_it(
    make_agent: MakeAgent, new_thread: MakeConfig, context: Any
) -> None:
    agent, config = make_agent([]), new_thread()
    agent.invoke(REQUEST, config, context=context)
    run = asyncio.run(agent.stores.runs.latest(config["configurable"]["thread_id"]))
    assert run is not None
    assert (run.tenant, run.context["tenant"], run.request) == ("acme", "acme", "do it")


def test_a_run_that_is_being_worked_on_is_refused(make_agent: MakeAgent, new_thread: MakeConfig) -> None:
    entered, leave = threading.Event(), threading.Event()

    @capability("bench.wait", mode="read_only")
    def wait() -> str:
        """Wait for the test."""
        entered.set()
        return str(leave.wait(PATIENCE_S))

    agent, config = make_agent([{"id": "s1", "capability": "bench.wait"}], [wait]), new_thread()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(agent.invoke, REQUEST, config)
        assert entered.wait(PATIENCE_S)
        try:
            for entry in (None, APPROVE, REQUEST):
                with pytest.raises(PlanwrightError, match=r"being worked on|has not ended"):
                    agent.invoke(entry, config)
        finally:
            leave.set()
        assert running.result(PATIENCE_S)["status"] == "completed"


def test_recovery_of_an_ended_run_tells_its_end_and_runs_nothing(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability, done: list[str]
) -> None:
    agent, config = make_agent([step()], [wipe]), new_thread()
    approve_all(agent, config)
    out = agent.invoke(None, config)
    assert (out["status"], out["answer"], done) == ("completed", "the answer", ["s1"])


def test_a_second_request_on_a_thread_runs_its_own_steps(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability, done: list[str]
) -> None:
    replies = ('{"task": "do it again"}', "PLAN", "the second answer")
    agent, config = make_agent([step()], [wipe], replies=replies), new_thread()
    assert approve_all(agent, config)["answer"] == "the answer"
    assert approve_all(agent, config)["answer"] == "the second answer"
    assert done == ["s1", "s1"]
    assert len(agent.get_state(config).values["results"]) == 1


def test_the_request_can_be_referred_to_in_arguments(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability, done: list[str]
) -> None:
    agent, config = make_agent([step(name="{{input.request}}")], [wipe]), new_thread()
    approve_all(agent, config)
    assert done == ["do it"]


def test_a_breakpoint_ends_an_invocation_anywhere_and_recovery_goes_on(
    make_agent: MakeAgent, new_thread: MakeConfig
) -> None:
    agent, config = make_agent([]), new_thread()
    agent.invoke(REQUEST, config, interrupt_before=["respond"])
    assert agent.get_state(config).next == ("respond",)
    assert agent.invoke(None, config)["status"] == "completed"


def test_a_run_whose_checkpoints_were_deleted_can_still_be_answered(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability, done: list[str]
) -> None:
    agent, config = make_agent([step()], [wipe], replies=("PLAN",)), new_thread()
    agent.invoke(REQUEST, config)
    agent.stores.saver.delete_thread(config["configurable"]["thread_id"])
    out = agent.invoke(APPROVE, config)  # planned again, alike: the approval is on record
    assert out["__interrupt__"][0].value["kind"] == "step"
    assert agent.invoke(APPROVE, config)["status"] == "completed"
    assert done == ["s1"]
