"""Of the states of a thread a page is shown three a turn, each below the one before it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from langgraph.types import StateSnapshot

from planwright.graph.serving.visible_history import visible_history
from tests.scenarios.conftest import scene as scene
from tests.scenarios.conftest import stage as stage

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene


async def of(states: list[StateSnapshot]) -> AsyncIterator[StateSnapshot]:
    for state in states:
        yield state


def ids(states: list[StateSnapshot]) -> list[Any]:
    return [state.config["configurable"]["checkpoint_id"] for state in states]


async def test_three_states_a_turn_are_shown_with_their_parents(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.read"))
    agent = scene.agent(
        plan, "first", '{"task": "again"}', plan, "second", '{"task": "again"}', plan, "third"
    )
    for text in ("one", "two", "three"):
        await agent.ainvoke({"messages": [("user", text)]}, scene.config)
    every = [state async for state in agent.aget_state_history(scene.config)]
    shown = await visible_history(of(every), None)
    assert (len(every) > 20, len(shown)) == (True, 9)
    parents = [(state.parent_config or {}).get("configurable", {}).get("checkpoint_id") for state in shown]
    assert parents == [*ids(shown)[1:], None]
    for number, text in enumerate(("one", "two", "three")):
        first = next(s for s in reversed(shown) if text in [m.text for m in s.values.get("messages", [])])
        assert first.parent_config is not None
        before = next(s for s in shown if ids([s]) == [first.parent_config["configurable"]["checkpoint_id"]])
        asked = [m.text for m in before.values.get("messages", []) if m.type == "human"]
        assert asked == ["one", "two", "three"][:number]
    reading = of(every)
    assert await visible_history(reading, 3) == shown[:3]
    assert [state async for state in reading]  # older turns were not read


async def test_what_a_person_wrote_into_the_state_is_shown(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.read")), "first")
    await agent.ainvoke({"messages": [("user", "one")]}, scene.config)
    for said in ("noted", "noted again"):
        await agent.aupdate_state(scene.config, {"answer": said}, as_node="session_close")
    shown = await visible_history(agent.aget_state_history(scene.config), None)
    assert [state.values.get("answer") for state in shown][:2] == ["noted again", "noted"]


async def test_while_a_gate_is_open_its_state_is_the_newest(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.destroy")), "first")
    await agent.ainvoke({"messages": [("user", "one")]}, scene.config)
    shown = await visible_history(agent.aget_state_history(scene.config), None)
    assert len(shown) == 3
    assert shown[0].interrupts
