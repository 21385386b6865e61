"""The sixty written lanes (tests/critic/sixty_lanes.jsonl), each played through the whole graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planwright.capabilities.contract import Capability, Varies
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

WRITTEN = Path(__file__).parents[1] / "critic" / "sixty_lanes.jsonl"
LANES: list[dict[str, Any]] = [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()]
OWN = "own."  # the lanes speak of built-in names, which nothing else may have
PROPOSED = "memory.write"  # built in: what it would remember unasked is proposed


def tool(name: str, effect: str, calls: list[list[str]]) -> Capability:
    """Declare a tool whose calls end as written, one after another, and again from the first."""
    turns, ends = [0], [ended for one, _, ended in calls if one == name]
    looks = any(one == name and kind == "pure" for one, kind, _ in calls)

    def call(text: str) -> str:
        """Do what its name says."""
        turns[0] += 1
        if ends and ends[(turns[0] - 1) % len(ends)] == "failed":
            raise CapabilityRejected("the service is down")
        return f"{text}, done"

    if effect == "pure":
        return capability(OWN + name, mode="read_only", trusted_result=True)(call)
    varies: Varies | None = None
    if effect == "varies":
        varies = lambda args, call: ("None", "pure") if looks else ("Critical", "blind")  # noqa: E731
    return capability(OWN + name, mode="destructive", effect="blind", varies=varies)(call)


def spelled(name: str, lane: dict[str, Any]) -> str:
    proposed = any(ended == "proposed" for _, _, ended in lane["calls"])
    return name if proposed and name == PROPOSED else OWN + name


def play(scene: Scene, lane: dict[str, Any]) -> Agent:
    """Run a plan whose last step is the lane; a person approves all but what the lane says was rejected."""
    tools = [tool(name, effect, lane["calls"]) for name, effect in lane["tools"].items()]
    inputs = [scene.step(f"i{n}", "work.read") for n in range(lane["inputs"])]
    names = [spelled(name, lane) for name in lane["tools"]]
    step = {"id": "s1", "description": lane["task"], "tool_hints": names}
    plan = scene.plan(*inputs, {**step, "depends_on": [one["id"] for one in inputs]})
    turns: list[Any] = [
        scene.calls((spelled(name, lane).replace(".", "__"), {"text": f"text {n}"}))
        for n, (name, _, _) in enumerate(lane["calls"])
    ]
    turns.append(lane["words"])
    settings: dict[str, Any] = {"planning": {"mode": "always", "replan_budget": 0}}
    agent = scene.agent(plan, *turns, *turns, "the answer", capabilities=tools, **settings)
    scene.ask(agent)
    while asked := agent.get_state(scene.config).interrupts:
        if asked[0].value["kind"] == "escalation":
            break
        rejected = asked[0].value["kind"] == "step" and any(end == "rejected" for *_, end in lane["calls"])
        scene.decide(agent, "reject" if rejected else "approve")
    return agent


@pytest.mark.sampled(8)
@pytest.mark.parametrize("lane", LANES, ids=lambda lane: f"{lane['kind']}: {lane['words'][:40]}")
def test_only_what_was_done_is_accepted(scene: Scene, lane: dict[str, Any]) -> None:
    agent = play(scene, lane)
    asked = agent.get_state(scene.config).interrupts
    if lane["kind"] == "honest":
        assert not asked, asked[0].value["shown"]
        assert agent.get_state(scene.config).values["verdict"].verdict == "accept"
        return
    (gate,) = asked
    assert gate.value["kind"] == "escalation"
    flaws = ("no_effect", "no_evidence") if lane["kind"] == "lazy" else ("refused_in_words",)
    assert str(gate.value["shown"]["args"]["s1"]).startswith(flaws)
