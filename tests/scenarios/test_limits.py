"""A spent limit is a question or an end, and a run that it has put down goes on with more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

LOOP: dict[str, Any] = {"planning": {"mode": "never"}, "budgets": {"run": {"tool_calls": 2}}}


def five(scene: Scene) -> ScriptedModel:
    writes = [scene.calls(("work__write", {"name": f"w{n}"})) for n in range(5)]
    return ScriptedModel(replies=[*writes, "All are written."])


def test_a_loop_asks_for_more_calls_and_goes_on_with_a_yes(scene: Scene) -> None:
    agent = scene.agent(model=five(scene), **LOOP)
    entry = {"messages": [("user", "Write five")]}
    out = agent.invoke(entry, scene.config, context={"gate_ttl_s": 600})
    (gate,) = out["__interrupt__"]
    assert gate.value["description"].startswith(
        "Approve extend_budget: the limit of 2 calls is reached; 2 more?"
    )
    assert scene.done == ["w0", "w1"]
    out = scene.decide(agent, "approve")
    assert out["status"] == "interrupted"
    assert scene.done == ["w0", "w1", "w2", "w3"]
    out = scene.decide(agent, "approve")
    assert (out["status"], out["answer"], scene.done) == (
        "completed",
        "All are written.",
        [f"w{n}" for n in range(5)],
    )


def test_a_loop_that_nobody_watches_is_put_down_and_goes_on_with_more(scene: Scene) -> None:
    agent = scene.agent(model=five(scene), **LOOP)
    out = scene.ask(agent, "Write five")
    assert (out["status"], scene.done) == ("budget_exceeded", ["w0", "w1"])
    assert out["answer"].startswith("the run budget of 2 calls is spent")
    print(out["answer"])
    out = scene.recover(agent)
    assert (out["status"], scene.done) == ("budget_exceeded", ["w0", "w1"])
    agent.extend(scene.thread, {"tool_calls": 20})
    out = scene.recover(agent)
    assert (out["status"], out["answer"], scene.done) == (
        "completed",
        "All are written.",
        [f"w{n}" for n in range(5)],
    )
