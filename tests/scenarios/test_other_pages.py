"""What agent-inbox and agent-chat-ui read of a gate and send to it, as their newest sources do.

`other_pages.json` holds the facts: where they look, and what each button sends. Their sources are not here.
"""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from planwright.domain.errors import GateError
from planwright.graph.serving.visible_gates import visible_state
from planwright.models.scripted import ScriptedModel
from tests.scenarios.conftest import Scene

PAGES: dict[str, Any] = json.loads(Path(__file__).with_name("other_pages.json").read_text("utf-8"))
CASES = [(page, case) for page, facts in PAGES.items() for case in facts["cases"]]


def gate_of(scene: Scene, kind: str, plans: int = 1) -> tuple[Any, ScriptedModel, list[Any]]:
    """Let an agent wait at a gate; return it with its model and what its interrupts hold."""
    if kind in ("plan", "two gates", "one of two gates"):
        capability = "work.write" if kind == "plan" else "work.wipe"
        names = "a" if kind == "plan" else "ab"
        plan = scene.plan(*(scene.step(name, capability, estimated_risk="Medium") for name in names))
        another = scene.plan(scene.step("another", capability, estimated_risk="Medium"))
        model = ScriptedModel(replies=[plan, *[another] * (plans - 1), "the answer"])
        agent = scene.agent(model=model)
    else:
        calls = [("work__write", {"name": name}) for name in ("a" if kind == "call" else "abc")]
        model = ScriptedModel(replies=[scene.calls(*calls), "the answer"])
        agent = scene.agent(model=model, planning={"mode": "auto"}, approval={"tool_risk": "Low"})
    output = scene.ask(agent)
    values = [each.value for each in output["__interrupt__"]]
    if kind in ("two gates", "one of two gates"):
        scene.decide(agent, "approve")
        state = agent.get_state(scene.config)
        shown = state if kind == "one of two gates" else visible_state(state)
        values = [each.value for each in shown.interrupts]
    return agent, model, values


def at(value: Any, path: list[Any]) -> Any:
    """Follow a path of keys."""
    return reduce(lambda part, key: part[key], path, value)


def filled(sends: Any, seen: dict[str, Any]) -> Any:
    """Put what a page has read into what it sends."""
    if isinstance(sends, dict):
        return {key: filled(value, seen) for key, value in sends.items()}
    if isinstance(sends, list):
        return [filled(value, seen) for value in sends]
    return seen.get(sends, sends) if isinstance(sends, str) else sends


@pytest.mark.sampled(len(CASES))
@pytest.mark.parametrize(("page", "case"), CASES, ids=lambda each: str(each)[:90])
def test_what_a_page_sends_is_taken(scene: Scene, page: str, case: dict[str, Any]) -> None:
    agent, model, values = gate_of(scene, case["gate"], case.get("plans", 1))
    reads = PAGES[page]["reads"]
    seen = {f"{{{name}}}": at(values[0], reads[name]) for name in ("title", "arguments")}
    answer = filled(case["sends"], seen)
    if "refused" in case:
        with pytest.raises(GateError, match=case["refused"]):
            scene.answer(agent, answer)
        assert scene.waiting(agent)
    else:
        assert scene.answer(agent, answer)["status"] == case["status"]
    assert sorted(scene.done) == case["done"]
    told = [message.text for message in model.prompts[-1] if message.type == "tool"]
    assert all(case.get("model_reads", "") in text for text in told[-1:])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", ["plan", "call", "three calls", "two gates"])
@pytest.mark.parametrize("page", PAGES)
def test_no_call_is_unseen(scene: Scene, page: str, kind: str) -> None:
    _, _, values = gate_of(scene, kind)
    reads = PAGES[page]["reads"]
    for value in values:
        assert "approve" in at(value, reads["decisions"])
        shown = at(value, reads["arguments"])
        assert None not in shown.values()
        names = {call["params"]["name"] for call in value.get("shown", {}).get("steps", [])} or {
            request["args"]["name"] for request in value["action_requests"]
        }
        requests = value["action_requests"] if page == "agent-chat-ui" else [shown]
        assert all(f'"{name}"' in json.dumps(requests) for name in names)
