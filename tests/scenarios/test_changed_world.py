"""What a run has begun is settled first, whatever changed between a crash and the resume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from planwright.capabilities.policy.file import DEFAULT
from planwright.models.scripted import ScriptedModel

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

KIND = "work.post"
ABOUT_IT = '[[rule]]\nmatch.capability = "work.*"\nwhen = \'args.name != "never"\'\ndecide = "allow"\n'
LAST = DEFAULT.read_text("utf-8")
ABOUT_OTHERS = '[[rule]]\nmatch.capability = "mail.*"\ndecide = "deny"\n'


def post(scene: Scene) -> dict[str, Any]:
    return scene.calls((KIND.replace(".", "__"), {"name": "p0"}))


def chain() -> dict[str, Any]:
    steps = [{"toolName": KIND, "arguments": {"name": name}} for name in ("p0", "p1")]
    return {"name": "post_both", "description": "Post in a row", "steps": steps}


def in_plan(scene: Scene) -> list[Any]:
    return [scene.plan(scene.step("p0", KIND))]


def in_step(scene: Scene) -> list[Any]:
    step = {"id": "s1", "description": "Post it", "tool_hints": [KIND]}
    return [scene.plan(step), post(scene), "posted"]


def in_planned_chain(scene: Scene) -> list[Any]:
    made = scene.step("s1", "tool.create_chain", params=chain())
    return [scene.plan(made, scene.step("s2", "post_both", "s1", params={}))]


def in_loop(scene: Scene) -> list[Any]:
    return [post(scene)]


def in_chain(scene: Scene) -> list[Any]:
    return [scene.calls(("tool__create_chain", chain())), scene.calls(("post_both", {}))]


def in_sub_agent(scene: Scene) -> list[Any]:
    delegate = scene.calls(("agent__delegate", {"task": "Post", "tools": [KIND]}))
    return [delegate, post(scene), "posted"]


def in_sub_agent_of_step(scene: Scene) -> list[Any]:
    step = {"id": "s1", "description": "Post it", "tool_hints": [KIND, "agent.delegate"]}
    delegate = scene.calls(("agent__delegate", {"task": "Post", "tools": [KIND]}))
    return [scene.plan(step), delegate, post(scene), "posted", "posted"]


def in_chain_of_step(scene: Scene) -> list[Any]:
    tools = [KIND, "tool.create_chain"]
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
        scene.entry(message="Post things; book them; delegate to agents; make a chain"),
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


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_what_its_receiver_knows_by_its_key_goes_on_under_that_key(
    scene: Scene, shape: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.scenarios.test_changed_world.KIND", "work.book")
    killed(scene, shape)
    (begun,) = scene.rows("SELECT key, status FROM effects WHERE capability = 'work.book'")
    assert begun["status"] == "intent"
    (scene.workspace / "policy.toml").write_text(ABOUT_IT + LAST, "utf-8")
    agent = scene.agent(
        model=ScriptedModel(replies=["posted", "posted", "the answer"]), approval={"plan": "never"}
    )
    assert to_the_end(scene, agent) == []
    rows = scene.rows(
        "SELECT key, status FROM effects WHERE args LIKE '%\"p0\"%' AND capability = 'work.book'"
    )
    assert [(row["key"], row["status"]) for row in rows] == [(begun["key"], "done")]
    assert scene.done.count("p0") == 1


def test_the_rest_of_a_chain_that_has_changed_asks_a_person(scene: Scene) -> None:
    killed(scene, in_chain)
    (scene.workspace / "policy.toml").write_text(ABOUT_IT + LAST, "utf-8")
    agent = scene.agent(model=ScriptedModel(replies=["the answer"]), approval={"plan": "never"})
    output = scene.recover(agent)
    (effect,) = output["__interrupt__"][0].value["shown"]["effects"]
    happened = {"key": effect["key"], "happened": True, "result": {"text": "seen", "turn": 1}}
    output = scene.answer(agent, {"decisions": [{"type": "respond", "effects": [happened]}]})
    card = output["__interrupt__"][0].value["shown"]
    assert (card["args"]["name"], card["reason"]) == ("p1", "it has changed since its chain was approved")
    assert scene.done == ["began p0"]
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["began p0", "p1"]


def test_an_approval_of_what_has_changed_since_is_asked_for_again(scene: Scene) -> None:
    (scene.workspace / "policy.toml").write_text(LAST, "utf-8")
    never = {"planning": {"mode": "never"}}
    calls = scene.calls(("work__destroy", {"name": "p0"}), ("work__post", {"name": "p1"}))
    scene.ask(scene.agent(calls, "never said", **never), "Destroy p0, and post p1")
    (scene.workspace / "policy.toml").write_text(ABOUT_IT + LAST, "utf-8")
    agent = scene.agent("the answer", **never)
    output = scene.decide(agent, "approve")
    (card,) = [found.value["shown"] for found in output["__interrupt__"]]
    assert (card["capability"], card["reason"]) == ("work.destroy", "it has changed since it was approved")
    assert scene.done == []
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert sorted(scene.done) == ["p0", "p1"]


@pytest.mark.parametrize("happened", [True, False], ids=["happened", "not"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_doubt_can_be_decided_after_an_edit(scene: Scene, shape: Any, happened: bool) -> None:
    killed(scene, shape)
    agent = scene.agent("never said", approval={"plan": "never"})
    (asked,) = scene.recover(agent)["__interrupt__"]
    agent.close()
    (scene.workspace / "policy.toml").write_text(ABOUT_IT + LAST, "utf-8")
    again = [] if happened or "chain" in shape.__name__ or shape is in_plan else [post(scene)]
    rest = ScriptedModel(replies=[*again, "posted", "posted", "the answer"])
    agent = scene.agent(model=rest, approval={"plan": "never"})
    (effect,) = asked.value["shown"]["effects"]
    result = {"result": {"text": "seen", "turn": 1}} if happened else {}
    answer = {"type": "respond", "effects": [{"key": effect["key"], "happened": happened, **result}]}
    output = scene.answer(agent, {"decisions": [{**answer, "gate_id": asked.value["gate_id"]}]})
    for _ in range(10):
        if not (interrupts := output.get("__interrupt__", ())):
            break
        assert "effects" not in interrupts[0].value["shown"] or not interrupts[0].value["shown"]["effects"]
        output = scene.decide(agent, "approve")
    assert (output["status"], happened) == ("completed", happened), output["answer"]
    assert scene.done.count("p0") == (0 if happened else 1)
