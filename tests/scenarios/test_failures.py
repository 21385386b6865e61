"""A tool's failure is planned round within the budget; a no is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

RAISED = [ValueError("a bug"), TimeoutError("too late"), CapabilityRejected("no such thing")]


class Made(BaseModel):
    """What a tool returns that was not declared so."""

    text: str


def failing(error: Exception, effect: Any = "idempotent") -> Capability:
    """Declare a tool that fails in one way, every time."""

    @capability("bad.tool", mode="local_write", effect=effect, trusted_result=True)
    def bad(name: str) -> Made:
        """Fail."""
        raise error

    return bad


def results(scene: Scene) -> dict[str, tuple[str, str]]:
    """Map the steps of the scene to how they ended; of several attempts, the last counts."""
    code = "coalesce(json_extract(result, '$.code'), '') AS code"
    query = f"SELECT step_id, status, {code} FROM steps ORDER BY rowid"
    return {row["step_id"]: (row["status"], row["code"]) for row in scene.rows(query)}


def verdicts(scene: Scene) -> list[str]:
    return [event["data"]["verdict"] for event in scene.journal() if event["type"] == "verdict"]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_what_a_tool_raises_is_planned_round(scene: Scene, error: Exception) -> None:
    first, other = scene.plan(scene.step("s1", "bad.tool")), scene.plan(scene.step("s2", "work.write"))
    settings = {"alternative": {"enabled": False}}
    agent = scene.agent(first, other, "it is written", capabilities=[failing(error)], **settings)
    assert scene.ask(agent)["status"] == "completed"
    code = "unavailable" if isinstance(error, TimeoutError) else "tool_failed"
    assert results(scene) == {"s1": ("failed", code), "s2": ("completed", "")}
    assert (verdicts(scene), scene.done) == (["replan", "accept"], ["s2"])


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_the_budget_for_planning_again_ends_it(scene: Scene, error: Exception) -> None:
    plans = [scene.plan(scene.step(f"s{n}", "bad.tool")) for n in range(5)]
    settings = {"alternative": {"enabled": False}, "planning": {"mode": "always", "replan_budget": 2}}
    agent = scene.agent(*plans, capabilities=[failing(error)], **settings)
    scene.ask(agent)
    assert verdicts(scene) == ["replan", "replan", "escalate"]
    assert scene.decide(agent, "reject")["status"] == "failed"
    assert results(scene).keys() == {"s0", "s1", "s2"}


def test_arguments_that_lead_nowhere_are_planned_round_and_a_bad_result_is_kept(scene: Scene) -> None:
    @capability("bad.result", mode="read_only", trusted_result=True)
    def bad(name: str) -> Made:
        """Return what is not declared."""
        return {"words": name}  # type: ignore[return-value]

    nowhere = scene.step("s2", "work.read", params={"name": "{{steps.s1.output.found.0}}"})
    first = scene.plan(scene.step("s1", "word.find"), nowhere, scene.step("s3", "bad.result"))
    more = [bad, finder("word")]
    agent = scene.agent(first, scene.plan(scene.step("s4", "work.read")), "done", capabilities=more)
    assert scene.ask(agent)["status"] == "completed"
    assert results(scene)["s2"] == ("failed", "tool_failed")
    assert results(scene)["s3"] == ("completed", "")
    assert scene.done == ["s4"]


def test_a_policy_that_denies_ends_it(scene: Scene) -> None:
    (scene.workspace / "policy.toml").write_text(
        '[[rule]]\nmatch.capability = "work.write"\nwhen = \'args.name == "secret"\'\ndecide = "deny"\n'
        '[[rule]]\ndecide = "allow"\n'
    )
    named = scene.step("s2", "work.write", params={"name": "{{steps.s1.output.text}}"})
    plan = scene.plan(scene.step("s1", "word.find"), named)
    agent = scene.agent(plan, "it was denied", capabilities=[finder("secret")])
    output = scene.ask(agent)
    assert output["status"] == "failed"
    assert "the policy denies work.write: policy.toml:1 says deny" in output["answer"]
    assert results(scene)["s2"] == ("failed", "forbidden")
    assert (verdicts(scene), scene.done) == (["escalate"], [])


def finder(word: str) -> Capability:
    @capability("word.find", mode="read_only", trusted_result=True)
    def find(name: str) -> Any:
        """Find a word."""
        return {"text": word}

    return find
