"""Nodes in one superstep: fewer checkpoints, and nothing else is different."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, StateGraph

from planwright.domain.lease import Lease
from planwright.domain.run_context import RunContext
from planwright.graph.wiring import NodeSequence
from planwright.settings.profile import in_force
from planwright.settings.settings import load
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.invocation import CONFIG_KEY, Invocation
from planwright.state.step_board import StepBoard
from tests.scenarios.conftest import Scene
from tests.scenarios.conftest import scene as scene
from tests.scenarios.conftest import stage as stage

MESSAGE = {"messages": [{"role": "user", "content": "Do it"}]}
BEFORE_PLANNER = ["session_event", "budget", "capability_routing", "tool_filter", "planning"]
BEFORE_PLANNER += ["task_extraction", "classification"]
AFTER_SCORE = ["respond", "consolidate", "session_close"]
EVERY = [*BEFORE_PLANNER, "planner", "verify", "dispatch", "direct_step", "score", *AFTER_SCORE]
RECORDS = {
    "journal": "type",
    "plans": "revision, gate_id, kind",
    "steps": "step_id, status",
    "runs": "status, request, answer",
    "verdicts": "verdict, reason",
}


def play(scene: Scene, **options: Any) -> list[str]:
    """Run a plan of one step; returns the nodes that had a superstep, in order."""
    agent: Any = scene.agent(scene.plan(scene.step("s1", "work.read")), "the answer")
    for _ in agent.stream(MESSAGE, scene.config, **options):
        pass
    while (state := agent.get_state(scene.config)).next:
        list(agent.stream(None, state.config, **options))
    states = reversed([*agent.get_state_history(scene.config)])
    return [name for state in states for name in state.next if name != "__start__"]


def records(scene: Scene) -> dict[str, Any]:
    """Read what is on record of the only run, but for ids and times."""
    return {table: scene.rows(f"SELECT {columns} FROM {table}") for table, columns in RECORDS.items()}


def test_what_is_deterministic_costs_at_most_five_supersteps(scene: Scene) -> None:
    nodes = play(scene)
    assert nodes == ["session_event", "budget", "planner", "verify", "direct_step", "score", *AFTER_SCORE]
    assert len(nodes[: nodes.index("planner")]) + len(nodes[nodes.index("score") + 1 :]) <= 5


@pytest.mark.parametrize("mode", ["tasks", "debug", "checkpoints", ["updates", "tasks"]])
def test_who_looks_at_nodes_sees_each(scene: Scene, mode: Any) -> None:
    assert play(scene, stream_mode=mode) == EVERY


@pytest.mark.parametrize("kind", ["interrupt_before", "interrupt_after"])
def test_a_breakpoint_can_be_at_any_node(scene: Scene, kind: str) -> None:
    agent: Any = scene.agent(scene.plan(scene.step("s1", "work.read")), "the answer")
    agent.invoke(MESSAGE, scene.config, **{kind: ["tool_filter"]})
    following = {"interrupt_before": ("tool_filter",), "interrupt_after": ("planning",)}
    assert agent.get_state(scene.config).next == following[kind]
    assert agent.invoke(None, scene.config)["answer"] == "the answer"


def test_the_records_are_the_same(scene: Scene, stage: Callable[[Path], Scene]) -> None:
    play(scene)
    together = records(scene)
    (scene.workspace / "other").mkdir()
    other = stage(scene.workspace / "other")
    try:
        play(other, interrupt_after=["tool_filter", "verify"])
        assert records(other) == together
    finally:
        for agent in other.agents:
            agent.close()


def test_a_state_that_is_changed_as_a_node_goes_on_behind_it(scene: Scene) -> None:
    agent: Any = scene.agent(scene.plan(scene.step("s1", "work.read")), "the answer")
    agent.invoke(MESSAGE, scene.config, interrupt_before=["tool_filter"])
    agent.update_state(scene.config, {"tools": []}, as_node="tool_filter")
    assert agent.get_state(scene.config).next == ("planning",)


def sequence_of(*names: str, changes: AgentUpdate) -> Any:
    """Compile a graph whose nodes all make the same change, one after the other."""
    graph: Any = StateGraph(AgentState)
    sequence = NodeSequence(graph)
    for name, following in zip(names, (*names[1:], END), strict=True):

        async def node(state: AgentState, config: RunnableConfig) -> AgentUpdate:
            return changes

        async def route(state: AgentState, following: str = following) -> str:
            return following

        sequence.add_node(name, node, route, [following])
    graph.set_entry_point(names[0])
    return graph.compile()


async def supersteps(graph: Any, folder: Path, paid: tuple[str, ...] = ()) -> int:
    """Run a graph in an invocation of ours, and count its supersteps."""
    context, lease = RunContext(), Lease("default", "thread", "run_1", 1, "")
    profile = in_force(load(folder), context)
    invocation = Invocation(lease, context, profile, StepBoard([], 1), lambda event, key: None)
    invocation.paid += paid
    config: Any = {"configurable": {CONFIG_KEY: invocation}}
    return len([update async for update in graph.astream({"answer": ""}, config, stream_mode="updates")])


async def test_a_sequence_ends_at_a_model_that_was_paid(tmp_path: Path) -> None:
    graph = sequence_of("one", "two", "three", changes={"answer": "yes"})
    assert await supersteps(graph, tmp_path) == 1
    assert await supersteps(graph, tmp_path, paid=("planning:0",)) == 3


async def test_a_node_of_a_sequence_changes_nothing_that_is_joined(tmp_path: Path) -> None:
    graph = sequence_of("one", changes={"results": {}})
    with pytest.raises(TypeError, match="results"):
        await supersteps(graph, tmp_path)
