"""Every mistake that verification knows: mended when the model mends it, refused when it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from planwright.models.scripted import ScriptedModel

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

ASKED_AT_MOST = 3  # once, and twice again: the re-plan budget, and as often for an unreadable reply


def step(id_: str = "s1", capability: str = "work.read", **more: Any) -> dict[str, Any]:
    """Write a step of a mistaken plan."""
    return {"id": id_, "capability": capability, "params": {"name": id_}, **more}


MISTAKES: dict[str, list[dict[str, Any]]] = {
    "unknown_capability": [step(capability="work.reed")],
    "bad_arguments": [step(params={"nam": "s1"})],
    "unknown_dependency": [step(depends_on=["s9"])],
    "cycle": [step("s1", depends_on=["s2"]), step("s2", depends_on=["s1"])],
    "duplicate_id": [step(), step()],
    "too_many_steps": [step(f"s{number}") for number in range(1, 22)],
    "missing_input": [step(inputs=["nobody"])],
    "forward_reference": [step(params={"name": "{{steps.s2.output.text}}"}), step("s2")],
    "approval_mode_mismatch": [step(capability="work.destroy", approval_mode="read_only")],
    "not_permitted": [step(capability="files.read", params={"path": "../secret.txt"})],
    "budget_exceeded": [step(), step("s2")],
}
LIMITS = {"run": {"tool_calls": 1}}


@pytest.fixture(params=MISTAKES)
def code(request: pytest.FixtureRequest) -> str:
    """The code of one mistake."""
    return str(request.param)


def limits(code: str) -> dict[str, Any]:
    """Set a limit of calls where the mistake is to plan too many."""
    return {"budgets": LIMITS} if code == "budget_exceeded" else {}


def test_a_mistake_that_is_repeated_ends_the_run_with_its_code(code: str, scene: Scene) -> None:
    model = ScriptedModel(replies=[scene.plan(*MISTAKES[code])])
    output = scene.ask(scene.agent(model=model, **limits(code)))
    assert output["status"] == ("budget_exceeded" if code == "budget_exceeded" else "refused")
    assert code in f"{output['status']}: {output['answer']}"
    assert scene.done == []
    assert len(model.prompts) == ASKED_AT_MOST


def test_a_mistake_that_is_mended_is_told_to_the_model_and_leads_to_the_answer(
    code: str, scene: Scene
) -> None:
    model = ScriptedModel(replies=[scene.plan(*MISTAKES[code]), scene.plan(step()), "the answer"])
    output = scene.ask(scene.agent(model=model, **limits(code)))
    assert code in model.prompts[1][-1].text
    assert (output["status"], output["answer"]) == ("completed", "the answer")
    assert scene.done == ["s1"]


def test_a_refused_plan_leaves_the_thread_usable(scene: Scene) -> None:
    wrong, right = scene.plan(*MISTAKES["cycle"]), scene.plan(step())
    replies = [*[wrong] * ASKED_AT_MOST, '{"task": "Do it properly"}', right, "the answer"]
    agent = scene.agent(*replies)
    assert scene.ask(agent)["status"] == "refused"
    assert scene.ask(agent, "Do it properly")["status"] == "completed"
    assert scene.done == ["s1"]


@pytest.mark.parametrize(
    "reply", ["this is no plan", "[1, 2]", '{"goal": "x"}', '{"steps": [{"id": []}]}', ""]
)
def test_a_reply_that_is_never_a_plan_ends_the_run(reply: str, scene: Scene) -> None:
    model = ScriptedModel(replies=[reply])
    output = scene.ask(scene.agent(model=model))
    assert output["status"] == "failed"
    assert f"could not be read after {ASKED_AT_MOST} tries" in output["answer"]
    assert (scene.done, len(model.prompts)) == ([], ASKED_AT_MOST)


@pytest.mark.parametrize("reply", ["this is no plan", '{"goal": "x"}', '{"steps": [{"id": []}]}'])
def test_an_unreadable_reply_that_is_mended_leads_to_the_answer(reply: str, scene: Scene) -> None:
    model = ScriptedModel(replies=[reply, scene.plan(step()), "the answer"])
    output = scene.ask(scene.agent(model=model))
    assert "Your last reply was refused" in model.prompts[1][-1].text
    assert (output["answer"], scene.done) == ("the answer", ["s1"])


def test_several_mistakes_are_told_together(scene: Scene) -> None:
    wrong = [step(capability="work.reed"), step("s2", depends_on=["s9"]), step("s3", params={})]
    model = ScriptedModel(replies=[scene.plan(*wrong), scene.plan(step()), "the answer"])
    scene.ask(scene.agent(model=model))
    prompt = model.prompts[1][-1].text
    assert all(code in prompt for code in ("unknown_capability", "unknown_dependency", "bad_arguments"))


def test_twenty_steps_are_not_too_many(scene: Scene) -> None:
    steps = [step(f"s{number}") for number in range(1, 21)]
    output = scene.ask(scene.agent(scene.plan(*steps), "the answer"))
    assert (output["status"], len(scene.done)) == ("completed", 20)


def test_the_same_plan_again_after_a_passing_failure_runs_again(scene: Scene) -> None:
    plan = scene.plan(step(capability="work.flaky", params={"name": "s1", "failures": 1}))
    agent = scene.agent(plan, plan, "the answer", execution={"step_retries": 0})
    assert (scene.ask(agent)["status"], scene.done) == ("completed", ["s1", "s1"])


def test_the_same_gated_plan_again_after_a_passing_failure_keeps_its_approval(scene: Scene) -> None:
    flaky = step(capability="work.flaky", params={"name": "s1", "failures": 1}, estimated_risk="Medium")
    agent = scene.agent(*[scene.plan(flaky)] * 2, "the answer", execution={"step_retries": 0})
    scene.ask(agent)
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["s1", "s1"]
