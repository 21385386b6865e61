"""What a run has begun is settled first, whatever changed between a crash and the resume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from planwright.capabilities.policy.file import DEFAULT
from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

ABOUT_IT = '[[rule]]\nmatch.capability = "work.*"\nwhen = \'args.name != "never"\'\ndecide = "allow"\n'
LAST = DEFAULT.read_text("utf-8")
ABOUT_OTHERS = '[[rule]]\nmatch.capability = "mail.*"\ndecide = "deny"\n'


def post(scene: Scene) -> dict[str, Any]:
    return scene.calls(("work__post", {"name": "p0"}))


def chain() -> dict[str, Any]:
    steps = [{"toolName": "work.post", "arguments": {"name": name}} for name in ("p0", "p1")]
    return {"name": "post_both", "description": "Post in a row", "steps": steps}


def in_plan(scene: Scene) -> list[Any]:
    return [scene.plan(scene.step("p0", "work.post"))]


def in_step(scene: Scene) -> list[Any]:
    step = {"id": "s1", "description": "Post it", "tool_hints": ["work.post"]}
    return [scene.plan(step), post(scene), "posted"]


def in_planned_chain(scene: Scene) -> list[Any]:
    made = scene.step("s1", "tool.create_chain", params=chain())
    return [scene.plan(made, scene.step("s2", "post_both", "s1", params={}))]


def in_loop(scene: Scene) -> list[Any]:
    return [post(scene)]


def in_chain(scene: Scene) -> list[Any]:
    return [scene.calls(("tool__create_chain", chain())), scene.calls(("post_both", {}))]


def in_sub_agent(scene: Scene) -> list[Any]:
    delegate = scene.calls(("agent__delegate", {"task": "Post", "tools": ["work.post"]}))
    return [delegate, post(scene), "posted"]


def in_sub_agent_of_step(scene: Scene) -> list[Any]:
    step = {"id": "s1", "description": "Post it", "tool_hints": ["work.post", "agent.delegate"]}
    delegate = scene.calls(("agent__delegate", {"task": "Post", "tools": ["work.post"]}))
    return [scene.plan(step), delegate, post(scene), "posted", "posted"]


def in_chain_of_step(scene: Scene) -> list[Any]:
    tools = ["work.post", "tool.create_chain"]
    step = {"id": "s1", "description": "Post it", "tool_hints": tools}
    made = scene.calls(("tool__create_chain", chain()))
    return [scene.plan(step), made, scene.calls(("post_both", {})), "posted"]


PLANS = [in_plan, in_step, in_planned_chain, in_sub_agent_of_step, in_chain_of_step]
SHAPES = [*PLANS, in_loop, in_chain, in_sub_agent]


def killed(scene: Scene, shape: Any) -> list[Any]:
    """Play a run until its process dies in the effect p0; returns what the model says next."""
    said = [*shape(scene), "the answer"]
    mode = "always" if shape in PLANS else "never"
    with (scene.workspace / "planwright.toml").open("a", encoding="utf-8") as file:
        file.write("[tools]\ntop_k = 60\n")
    settings = {"planning": {"mode": mode}, "approval": {"plan": "never"}}
    (scene.workspace / "policy.toml").write_text(LAST, "utf-8")
    (scene.workspace / "die-p0").touch()
    scene.child(
        scene.entry(message="Post things; delegate to agents; make a chain"),
        replies=said,
        settings=settings,
        dies=True,
    )
    assert scene.done == ["began p0"]
    return said


def to_the_end(scene: Scene, agent: Agent) -> list[list[str]]:
    """Say at every gate that what is in doubt has happened; returns what each such gate named."""
    named: list[list[str]] = []
    output = scene.recover(agent)
    for _ in range(20):
        interrupts = output.get("__interrupt__", ())
        if not interrupts:
            return named
        value = interrupts[0].value
        decision: dict[str, Any] = {"type": "approve"}
        if effects := value["shown"].get("effects"):
            named.append([effect["args"]["name"] for effect in effects])
            said = [
                {"key": effect["key"], "happened": True, "result": {"text": "seen", "turn": 1}}
                for effect in effects
            ]
            decision = {"type": "respond", "effects": said}
        output = scene.answer(agent, {"decisions": [{**decision, "gate_id": value["gate_id"]}]})
    raise AssertionError("it never ended")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("rules", [ABOUT_IT + LAST, ABOUT_OTHERS + LAST], ids=["related", "unrelated"])
def test_an_effect_in_doubt_is_asked_about_before_anything_else(scene: Scene, shape: Any, rules: str) -> None:
    said = killed(scene, shape)
    (scene.workspace / "policy.toml").write_text(rules, "utf-8")
    rest = ScriptedModel(replies=["posted", "posted", "the answer"])
    agent = scene.agent(model=rest, approval={"plan": "never"})
    assert to_the_end(scene, agent) == [["p0"]], said
    assert scene.done.count("p0") == 0
    (run,) = scene.rows("SELECT status, ended_at FROM runs")
    assert run["status"] == "completed"
    assert scene.rows("SELECT key FROM effects WHERE status = 'intent'") == []
