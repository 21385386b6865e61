"""The custom stream tells the whole story of a run, whatever node or lane it happens in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.capabilities.declaration import capability
from planwright.graph.agent import Agent

MakeAgent = Callable[..., Agent]
MakeConfig = Callable[[], RunnableConfig]
ENTRIES: list[Any] = [{"messages": [("user", "do it")]}, Command(resume="approve"), Command(resume="approve")]
STEPS = [{"id": "s1", "capability": "bench.wipe"}]


@capability("bench.wipe", mode="destructive")
def wipe() -> str:
    """Wipe something."""
    return "wiped"


def journal(agent: Agent) -> list[tuple[int, str]]:
    query = "SELECT seq, type FROM journal ORDER BY seq"
    return agent.stores.database.call("read", lambda c: [tuple(row) for row in c.execute(query)])


def test_the_custom_stream_of_a_gated_plan_is_its_journal(
    make_agent: MakeAgent, new_thread: MakeConfig
) -> None:
    agent, config = make_agent(STEPS, [wipe]), new_thread()
    told = [event for entry in ENTRIES for event in agent.stream(entry, config, stream_mode="custom")]
    assert [(event["seq"], event["type"]) for event in told] == journal(agent)
    assert [event["type"] for event in told].count("plan_step_complete") == 1


def test_the_custom_stream_keeps_its_place_beside_another_mode(
    make_agent: MakeAgent, new_thread: MakeConfig
) -> None:
    agent, config = make_agent(STEPS, [wipe]), new_thread()
    chunks = [c for entry in ENTRIES for c in agent.stream(entry, config, stream_mode=["custom", "updates"])]
    assert [chunk["seq"] for mode, chunk in chunks if mode == "custom"] == [seq for seq, _ in journal(agent)]
    nodes = {name for mode, chunk in chunks if mode == "updates" for name in chunk}
    assert {"plan_approval", "lane", "score"} <= nodes
    assert nodes.isdisjoint({"await_inputs", "request_gate", "wait_gate", "gated_call"})


@pytest.mark.parametrize("mode", ["updates", "values"])
def test_another_mode_alone_is_as_langgraph_has_it(
    make_agent: MakeAgent, new_thread: MakeConfig, mode: Any
) -> None:
    agent, config = make_agent(STEPS, [wipe]), new_thread()
    chunks = [chunk for entry in ENTRIES for chunk in agent.stream(entry, config, stream_mode=mode)]
    assert all(isinstance(chunk, dict) for chunk in chunks)
    assert not any(chunk.keys() & {"seq", "gated_call"} for chunk in chunks)


def test_subgraphs_are_named_when_asked_for(make_agent: MakeAgent, new_thread: MakeConfig) -> None:
    agent, config = make_agent(STEPS, [wipe]), new_thread()
    chunks = [
        chunk
        for entry in ENTRIES
        for chunk in agent.stream(entry, config, stream_mode="custom", subgraphs=True)
    ]
    places = {event["type"]: place for place, event in chunks}
    assert places["run_end"] == ()
    assert places["plan_step_complete"][0].startswith("lane:")
