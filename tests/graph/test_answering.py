"""Answering gates through the door: the one that is meant, once, in time, and all or nothing."""

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

from planwright.capabilities.contract import Capability
from planwright.domain.errors import GateError, RunError
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
    with pytest.raises(GateError, match=r"nothing on thread .* waits for a decision"):
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
        together.wait(PATIENCE_S)
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
    asked = next(i for i in out["__interrupt__"] if i.value["action_requests"][0]["args"]["name"] == "s2")
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
