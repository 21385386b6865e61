"""The door: what may enter a thread, and what is refused without changing anything."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.capabilities.capability import Capability, capability
from planwright.graph.agent import Agent
from planwright.graph.errors import GateError, PlanwrightError, RunError, SetupError
from planwright.graph.run_context import RunContext

MakeAgent = Callable[..., Agent]
MakeConfig = Callable[[], RunnableConfig]
REQUEST = {"messages": [("user", "do it")]}
APPROVE = Command(resume={"decisions": [{"type": "approve"}]})
LIMIT = 20


@pytest.fixture
def done() -> list[str]:
    """What the capabilities of a test have done."""
    return []


@pytest.fixture
def wipe(done: list[str]) -> Capability:
    @capability("disk.wipe", mode="destructive")
    def wipe(name: str) -> str:
        """Wipe a disk."""
        done.append(name)
        return name

    return wipe


def step(id_: str = "s1", capability: str = "disk.wipe", **params: Any) -> dict[str, Any]:
    return {"id": id_, "capability": capability, "params": params or {"name": id_}}


def gates_of(agent: Agent, config: RunnableConfig) -> list[str]:
    thread_id = config["configurable"]["thread_id"]
    return [gate.gate_id for gate in asyncio.run(agent.stores.gates.of_thread(thread_id, datetime.now(UTC)))]


def approve_all(agent: Agent, config: RunnableConfig) -> dict[str, Any]:
    """Approve the plan and then each of its steps, and return the last output."""
    out: dict[str, Any] = agent.invoke(REQUEST, config)
    for _ in range(20):
        if not gates_of(agent, config):
            return out
        out = agent.invoke(Command(resume=dict.fromkeys(gates_of(agent, config), "approve")), config)
    raise AssertionError("there is always one more gate")


def test_an_approved_plan_runs_once_its_own_gates_are_approved(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability, done: list[str]
) -> None:
    agent, config = make_agent([step()], [wipe]), new_thread()
    out = agent.invoke(REQUEST, config)
    assert out["__interrupt__"][0].value["kind"] == "plan"
    out = agent.invoke(APPROVE, config)
    assert out["__interrupt__"][0].value["kind"] == "step"
    assert done == []
    out = agent.invoke(APPROVE, config)
    assert (out["status"], out["answer"], done) == ("completed", "the answer", ["s1"])


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
    with pytest.raises(SetupError, match=r"holds no messages|request is empty"):
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


def test_a_second_answer_is_refused(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability, done: list[str]
) -> None:
    agent, config = make_agent([step()], [wipe]), new_thread()
    agent.invoke(REQUEST, config)
    (plan_gate,) = gates_of(agent, config)
    agent.invoke(Command(resume={plan_gate: "approve"}), config)
    with pytest.raises(GateError, match=f"no open gate or interrupt is named '{plan_gate}'"):
        agent.invoke(Command(resume={plan_gate: "approve"}), config)
    assert done == []
    agent.invoke(APPROVE, config)
    with pytest.raises(GateError, match="nothing on thread .* waits for a decision"):
        agent.invoke(APPROVE, config)
    assert done == ["s1"]


def test_of_two_answers_at_once_one_is_taken(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability, done: list[str]
) -> None:
    agent, config = make_agent([step()], [wipe]), new_thread()
    agent.invoke(REQUEST, config)
    agent.invoke(APPROVE, config)
    together = threading.Barrier(2)

    def answer(word: str) -> str:
        together.wait(LIMIT)
        try:
            agent.invoke(Command(resume=word), config)
        except (GateError, RunError):
            return "refused"
        return word

    with ThreadPoolExecutor(2) as pool:
        answers = sorted(pool.map(answer, ("approve", "reject")))
    assert answers in (["approve", "refused"], ["refused", "reject"])
    assert done == (["s1"] if "approve" in answers else [])


def test_an_answer_that_names_another_plan_is_refused_and_the_gate_stays_open(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability
) -> None:
    agent, config = make_agent([step()], [wipe]), new_thread()
    shown = agent.invoke(REQUEST, config)["__interrupt__"][0].value
    with pytest.raises(GateError, match="the answer names plan_hash 000000000000"):
        agent.invoke(Command(resume={"type": "approve", "plan_hash": "0" * 64}), config)
    assert gates_of(agent, config) == [shown["gate_id"]]
    out = agent.invoke(Command(resume={"type": "approve", "plan_hash": shown["plan_hash"]}), config)
    assert out["__interrupt__"][0].value["kind"] == "step"


def test_an_answer_that_is_partly_wrong_decides_nothing(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability, done: list[str]
) -> None:
    agent, config = make_agent([step("s1"), step("s2")], [wipe]), new_thread()
    agent.invoke(REQUEST, config)
    agent.invoke(APPROVE, config)
    first, second = gates_of(agent, config)
    stale = {"type": "approve", "plan_hash": "0" * 64}
    with pytest.raises(GateError, match="the answer names plan_hash"):
        agent.invoke(Command(resume={first: "approve", second: stale}), config)
    assert gates_of(agent, config) == [first, second]
    assert done == []


@pytest.mark.parametrize("by", ["interrupt", "gate"])
def test_of_two_open_gates_exactly_the_named_one_is_answered(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability, done: list[str], by: str
) -> None:
    agent, config = make_agent([step("s1"), step("s2")], [wipe]), new_thread()
    agent.invoke(REQUEST, config)
    out = agent.invoke(APPROVE, config)
    with pytest.raises(GateError, match="2 gates are open"):
        agent.invoke(APPROVE, config)
    asked = next(
        i for i in out["__interrupt__"] if i.value["action_requests"][0]["args"]["args"]["name"] == "s2"
    )
    name = asked.id if by == "interrupt" else asked.value["gate_id"]
    agent.invoke(Command(resume={name: "approve"}), config)
    assert done == ["s2"]
    agent.invoke(Command(resume="reject"), config)
    assert done == ["s2"]


def test_an_answer_after_the_gate_expired_is_refused_and_recovery_closes_the_run(
    make_agent: MakeAgent, new_thread: MakeConfig, wipe: Capability, done: list[str]
) -> None:
    now = [datetime(2026, 11, 21, 12, tzinfo=UTC)]
    agent, config = make_agent([step()], [wipe], clock=lambda: now[0]), new_thread()
    agent.invoke(REQUEST, config, context={"gate_ttl_s": 60})
    now[0] += timedelta(seconds=60)
    with pytest.raises(GateError, match="expired at 2026-11-21 12:01:00 UTC; nothing was run"):
        agent.invoke(APPROVE, config)
    out = agent.invoke(None, config)
    assert (out["status"], done) == ("expired", [])


def test_a_run_that_is_being_worked_on_is_refused(make_agent: MakeAgent, new_thread: MakeConfig) -> None:
    entered, leave = threading.Event(), threading.Event()

    @capability("bench.wait", mode="read_only")
    def wait() -> str:
        """Wait for the test."""
        entered.set()
        return str(leave.wait(LIMIT))

    agent, config = make_agent([{"id": "s1", "capability": "bench.wait"}], [wait]), new_thread()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(agent.invoke, REQUEST, config)
        assert entered.wait(LIMIT)
        try:
            for entry in (None, APPROVE, REQUEST):
                with pytest.raises(PlanwrightError, match=r"being worked on|has not ended"):
                    agent.invoke(entry, config)
        finally:
            leave.set()
        assert running.result(LIMIT)["status"] == "completed"


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
