"""Decisions of the catalog: by their evidence, before anything has an effect, and never around it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import CapabilityForbidden, SetupError
from planwright.models.scripted import ScriptedModel
from planwright.security.jail import Jail

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

POLICY = """
[gates.finance]
reason = "money leaves the house"

[[rule]]
decide = "allow"
"""
SPEC = """
id = "refund"
version = "3"
description = "Pay an order back"
covers = ["work.write"]
gates = ["finance"]
eligible = 'evidence.order.turn < 100'
[evidence.order]
capability = "work.read"
"""
AFTER = [{"decision_id": "refund", "after_step": "look"}]


def write(scene: Scene, spec: str = SPEC) -> Path:
    (scene.workspace / "policy.toml").write_text(POLICY, "utf-8")
    folder = scene.workspace / "decisions"
    folder.mkdir(exist_ok=True)
    path = folder / "refund.toml"
    path.write_text(spec, "utf-8")
    return path


def steps(scene: Scene, **more: Any) -> list[dict[str, Any]]:
    pay = {"requires": ["finance"], **more}
    return [scene.step("look", "work.read"), scene.step("pay", "work.write", "look", **pay)]


def begin(scene: Scene, *replies: Any, spec: str = SPEC) -> tuple[Agent, ScriptedModel]:
    write(scene, spec)
    model = ScriptedModel(replies=[*replies, "the answer"])
    agent = scene.agent(model=model)
    scene.ask(agent)
    return agent, model


def interrupts(scene: Scene, agent: Agent) -> list[Any]:
    return [found.value["shown"] for found in agent.get_state(scene.config).interrupts]


def approve_plan(scene: Scene, agent: Agent) -> None:
    if [each for each in agent.get_state(scene.config).interrupts if each.value["kind"] == "plan"]:
        scene.decide(agent, "approve")


def test_a_decision_is_taken_by_its_evidence_and_the_gate_shows_it(scene: Scene) -> None:
    agent, model = begin(scene, scene.plan(*steps(scene), decision_checkpoints=AFTER))
    assert '"id":"refund"' in model.prompts[0][1].text.replace(" ", "")
    approve_plan(scene, agent)
    (shown,) = interrupts(scene, agent)
    assert shown["gate"] == "finance"
    assert shown["decisions"] == ["refund (version 3)"]
    evidence = shown["evidence"]["refund.order"]
    assert (evidence["step_id"], len(evidence["hash"])) == ("look", 64)
    assert evidence["value"]["text"].startswith("look, reading")
    output = scene.decide(agent, "approve")
    assert (output["status"], scene.done) == ("completed", ["look", "pay"])
    (taken,) = [event for event in scene.journal() if event["type"] == "decision_taken"]
    assert (taken["data"]["outcome"], taken["data"]["version"]) == ("execute", "3")


def test_a_decision_that_is_taken_twice_rests_on_the_evidence_before_each_call(scene: Scene) -> None:
    one, two = ({"requires": ["finance"], "params": {"name": name}} for name in ("pay one", "pay two"))
    plan = scene.plan(
        scene.step("look1", "work.read"),
        scene.step("pay1", "work.write", "look1", **one),
        scene.step("look2", "work.read"),
        scene.step("pay2", "work.write", "look2", **two),
        decision_checkpoints=[{"decision_id": "refund", "after_step": f"look{n}"} for n in (1, 2)],
    )
    agent, _ = begin(scene, plan)
    approve_plan(scene, agent)
    shown = {
        each["step_id"]: each["evidence"]["refund.order"]["step_id"] for each in interrupts(scene, agent)
    }
    assert shown == {"pay1": "look1", "pay2": "look2"}


@pytest.mark.parametrize("bound", [False, True])
def test_what_comes_after_a_decision_and_is_none_of_its_calls_goes_on_without_it(
    scene: Scene, bound: bool
) -> None:
    never = SPEC.replace("< 100", "> 100").replace(
        'covers = ["work.write"]', "covers = []" if bound else 'covers = ["work.pay"]'
    )
    agent, _ = begin(scene, scene.plan(*steps(scene, requires=[]), decision_checkpoints=AFTER), spec=never)
    findings = [event["data"]["findings"] for event in scene.journal() if event["type"] == "plan_verified"]
    assert [finding["code"] for finding in findings[0]] == ["missing_gate"] * bound
    if not bound:
        approve_plan(scene, agent)
    assert scene.done == ([] if bound else ["look", "pay"])


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        (SPEC.replace("< 100", "> 100"), "violates_decision_spec"),
        (SPEC.replace("order.turn", "order.total"), "violates_decision_spec"),
        (SPEC + 'fields = ["total"]\n', "missing_evidence"),
    ],
)
def test_without_its_evidence_or_its_condition_nothing_begins(scene: Scene, spec: str, code: str) -> None:
    agent, _ = begin(scene, scene.plan(*steps(scene), decision_checkpoints=AFTER), spec=spec)
    approve_plan(scene, agent)
    assert scene.done == ["look"]
    failed = [event for event in scene.journal() if event["type"] == "plan_step_failed"]
    assert [event["data"]["code"] for event in failed] == [code]
    assert scene.rows("SELECT count(*) AS n FROM effects") == [{"n": 0}]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (
            {"decision_checkpoints": [{"decision_id": "refunt", "after_step": "look"}]},
            "violates_decision_spec",
        ),
        ({"decision_checkpoints": []}, "violates_decision_spec"),
        ({"requires": []}, "missing_gate"),
        ({"read": "work.write"}, "missing_evidence"),
    ],
)
def test_a_plan_that_goes_round_a_decision_goes_back_to_the_planner(
    scene: Scene, change: dict[str, Any], code: str
) -> None:
    checkpoints = change.get("decision_checkpoints", AFTER)
    look, pay = steps(scene, **{k: v for k, v in change.items() if k == "requires"})
    look["capability"] = change.get("read", look["capability"])
    good = scene.plan(*steps(scene), decision_checkpoints=AFTER)
    agent, model = begin(scene, scene.plan(look, pay, decision_checkpoints=checkpoints), good)
    assert code in model.prompts[1][-1].text
    approve_plan(scene, agent)
    (shown,) = interrupts(scene, agent)
    assert (shown["gate"], scene.done) == ("finance", ["look"])


def test_a_decision_whose_file_changes_after_the_approval_is_asked_for_anew(scene: Scene) -> None:
    agent, _ = begin(scene, scene.plan(*steps(scene), decision_checkpoints=AFTER))
    approve_plan(scene, agent)
    agent.close()
    write(scene, SPEC.replace('version = "3"', 'version = "4"'))
    changed = scene.agent(model=ScriptedModel(replies=["the answer"]))
    scene.decide(changed, "approve")
    assert scene.done == ["look"]
    assert scene.rows("SELECT count(*) AS n FROM effects") == [{"n": 0}]


def test_an_agent_neither_reads_nor_writes_a_decision(tmp_path: Path) -> None:
    (tmp_path / "decisions").mkdir()
    (tmp_path / "decisions" / "a.toml").write_text("", "utf-8")
    (tmp_path / "decisions" / "notes.md").write_text("ours", "utf-8")
    jail = Jail(tmp_path)
    for name in ("decisions/a.toml", "Decisions/new.TOML", "sub/decisions/a.toml"):
        with pytest.raises(CapabilityForbidden):
            jail.check(name, write=True)
    assert jail.check("decisions/notes.md")


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (SPEC.replace("gates", "gate"), "a decision has no `gate`"),
        (SPEC.replace('"finance"', '"finanse"'), "no gate 'finanse'"),
        (SPEC.replace("evidence.order.turn", "order.turn"), "`eligible`"),
        (SPEC.replace("capability =", "capabilty ="), "evidence.order"),
        ("id = 3", "`id`"),
        ("id =", "no TOML"),
    ],
)
def test_a_decision_that_cannot_be_followed_is_refused_at_the_start(
    scene: Scene, spec: str, problem: str
) -> None:
    write(scene, spec)
    with pytest.raises(SetupError) as refused:
        scene.agent(model=ScriptedModel(replies=["none"]))
    assert problem in str(refused.value)
    assert "refund.toml" in str(refused.value)
