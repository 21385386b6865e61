"""Approvals that hold for more than one gate: of a plan with its gates, and rules for the same call."""

from __future__ import annotations

import asyncio
import json
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import GateError, SetupError
from planwright.graph.agent import Agent
from planwright.records.consent.approval_scope import ApprovalScope
from planwright.records.consent.gate import Decision
from planwright.state.invocation import utc_now

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

DEEP = {"approval": {"depth": "plan_and_gates"}}
DEEP_UNREAD = {"approval": {"depth": "plan_and_gates", "order": "plan_first"}}
SEND = ("work__send", {"name": "sent", "to": "a"})


def rules(scene: Scene) -> list[dict[str, Any]]:
    path = scene.workspace / ".planwright" / "allow.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def sender(scene: Scene, *replies: Any, **options: Any) -> Agent:
    """Build an agent whose model calls tools for every request."""
    return scene.agent(*replies, planning={"mode": "auto"}, **options)


def approve(scene: Scene, agent: Agent, remember: Any = None, **more: Any) -> dict[str, Any]:
    given = {} if remember is None else {"remember": remember}
    return scene.answer(agent, {"type": "approve", **given, **more})


def test_a_plan_is_approved_with_its_gates(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.destroy"), scene.step("s2", "work.wipe", "s1"))
    agent = scene.agent(plan, "the answer", **DEEP)
    scene.ask(agent, "Send it")
    (asked,) = agent.get_state(scene.config).interrupts
    assert [bool(step.get("gate_included")) for step in asked.value["shown"]["steps"]] == [True, True]
    assert scene.decide(agent, "approve")["answer"] == "the answer"
    assert scene.done == ["s1", "s2"]
    rows = scene.rows("SELECT status, channel FROM gates WHERE kind = 'step'")
    assert [tuple(row.values()) for row in rows] == [("approved", "plan")] * 2


def test_a_plan_alone_is_not_approved_with_its_gates(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.destroy")), "the answer")
    scene.ask(agent, "Send it")
    scene.decide(agent, "approve")
    assert scene.done == []
    assert scene.waiting(agent).keys() == {"s1"}


def test_a_gate_whose_arguments_are_not_known_yet_is_not_included(scene: Scene) -> None:
    refers = scene.step("s2", "work.destroy", params={"name": "{{steps.s1.output.text}}"})
    agent = scene.agent(scene.plan(scene.step("s1", "work.read"), refers), "the answer", **DEEP_UNREAD)
    scene.ask(agent, "Send it")
    scene.decide(agent, "approve")
    assert scene.done == ["s1"]
    assert scene.waiting(agent).keys() == {"s2"}


def test_a_gate_whose_arguments_are_known_by_reading_is_included(scene: Scene) -> None:
    refers = scene.step("s2", "work.destroy", params={"name": "{{steps.s1.output.text}}"})
    agent = scene.agent(scene.plan(scene.step("s1", "work.read"), refers), "the answer", **DEEP)
    scene.ask(agent, "Send it")
    assert (list(scene.waiting(agent)), scene.done) == (["plan"], ["s1"])
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["s1", "s1, reading 1"]


def test_only_what_was_shown_is_included_whatever_the_settings_say_now(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.destroy"))
    scene.ask(scene.agent(plan, "the answer"))
    later = scene.agent("the answer", **DEEP)
    scene.decide(later, "approve")
    assert scene.done == []
    assert scene.waiting(later).keys() == {"s1"}


def test_a_gate_that_was_included_is_included_once(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.fail"), scene.step("s2", "work.destroy"))
    agent = scene.agent(plan, plan, "the answer", **DEEP_UNREAD)
    scene.ask(agent, "Send it")
    scene.decide(agent, "approve")
    assert scene.done.count("s2") == 1


@pytest.mark.parametrize(("scope", "again"), [("run", 0), ("session", 1), ("always", 2)])
def test_a_call_is_remembered_as_far_as_its_scope(scene: Scene, scope: str, again: int) -> None:
    """The same call four times: twice in a run, in another run, and on another thread."""
    agent = sender(scene, scene.calls(SEND), scene.calls(SEND), "one", scene.calls(SEND), "two")
    scene.ask(agent, "Send it")
    assert approve(scene, agent, scope)["answer"] == "one"
    assert scene.done == ["sent>a"] * 2
    scene.ask(agent, "Send it")
    asked = len(agent.get_state(scene.config).interrupts)
    other = sender(scene, scene.calls(SEND), "three")
    scene.thread = "another"
    scene.ask(other, "Send it")
    asked += len(other.get_state(scene.config).interrupts)
    assert asked == 2 - again


@pytest.mark.parametrize(
    "other", [{"name": "sent", "to": "b"}, {"name": "sent"}, {"name": "Sent", "to": "a"}], ids=str
)
def test_another_call_asks_again(scene: Scene, other: dict[str, Any]) -> None:
    agent = sender(scene, scene.calls(SEND), scene.calls(("work__send", other)), "the answer")
    scene.ask(agent, "Send it")
    approve(scene, agent, "always")
    assert len(agent.get_state(scene.config).interrupts) == 1
    assert scene.done == ["sent>a"]


def test_a_person_may_say_how_arguments_may_differ(scene: Scene) -> None:
    one, two, three = (("work__send", {"name": n, "to": "kim@acme"}) for n in ("x", "y", "z"))
    away = ("work__send", {"name": "w", "to": "w@evil"})
    agent = sender(scene, scene.calls(one), scene.calls(two, three), scene.calls(away), "the answer")
    scene.ask(agent, "Send it")
    approve(scene, agent, {"scope": "always", "args": {"name": {"any": True}}})
    assert sorted(scene.done) == ["x>kim@acme", "y>kim@acme", "z>kim@acme"]
    (asked,) = agent.get_state(scene.config).interrupts
    assert asked.value["shown"]["args"] == {"name": "w", "to": "w@evil"}


def test_a_step_of_a_plan_is_covered_by_a_rule_and_says_so(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.send"))
    agent = scene.agent(plan, "one", plan, "two")
    scene.ask(agent, "Send it")
    scene.decide(agent, "approve")
    approve(scene, agent, "always")
    scene.thread = "another"
    scene.ask(agent, "Send it")
    assert scene.decide(agent, "approve")["answer"] == "two"
    assert scene.done == ["s1>nobody"] * 2
    (rule,) = rules(scene)
    (row,) = scene.rows("SELECT channel, reason FROM gates WHERE kind='step' AND channel='rule'")
    assert rule["id"] in row["reason"]


def test_a_destructive_call_is_never_remembered(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.destroy")), "the answer")
    scene.ask(agent, "Send it")
    scene.decide(agent, "approve")
    with pytest.raises(GateError, match="asked for every time"):
        approve(scene, agent, "always")
    assert scene.waiting(agent).keys() == {"s1"}
    assert (scene.done, rules(scene)) == ([], [])


@pytest.mark.parametrize("remember", ["forever", 1, {"scope": "run", "args": {"nope": {"any": True}}}, {}])
def test_a_rule_that_makes_no_sense_is_refused_and_nothing_is_approved(scene: Scene, remember: Any) -> None:
    agent = sender(scene, scene.calls(SEND), "the answer")
    scene.ask(agent, "Send it")
    with pytest.raises(GateError, match="remember"):
        approve(scene, agent, remember)
    assert (scene.done, rules(scene)) == ([], [])


@pytest.mark.parametrize("form", [{"glob": "*", "any": True}, {"gloob": "*"}, {}, {"any": False}], ids=str)
def test_a_rule_of_no_known_form_is_refused_before_the_approval_counts(
    scene: Scene, form: dict[str, Any]
) -> None:
    agent = sender(scene, scene.calls(SEND), "the answer")
    scene.ask(agent, "Send it")
    with pytest.raises(GateError, match="remember"):
        approve(scene, agent, {"scope": "always", "args": {"to": form}})
    assert (scene.done, rules(scene)) == ([], [])


@pytest.mark.parametrize("decision", ["reject", "respond"])
def test_only_an_approval_is_remembered(scene: Scene, decision: str) -> None:
    agent = sender(scene, scene.calls(SEND), "the answer")
    scene.ask(agent, "Send it")
    with pytest.raises(GateError, match="only an approval"):
        scene.answer(agent, {"type": decision, "message": "no", "remember": "run"})


def test_a_file_that_cannot_be_read_opens_no_gate(scene: Scene) -> None:
    agent = sender(scene, scene.calls(SEND), "one", scene.calls(SEND), "two")
    scene.ask(agent, "Send it")
    approve(scene, agent, "always")
    path = agent.stores.allow_rules.path
    path.write_text(path.read_text("utf-8") + "{}\n", "utf-8")
    scene.ask(agent, "Send it")
    assert len(agent.get_state(scene.config).interrupts) == 1
    with pytest.raises(SetupError, match=r"allow.jsonl line 2"):
        agent.stores.allow_rules.read()


@pytest.mark.parametrize("broken", ["line", "folder"])
def test_a_rule_that_cannot_be_written_is_warned_of_and_the_call_is_made(
    scene: Scene, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    agent = sender(scene, scene.calls(SEND), "one")
    scene.ask(agent, "Send it")
    path = agent.stores.allow_rules.path
    if broken == "line":
        path.write_text("{}\n", "utf-8")
    else:
        path.mkdir()
    out = approve(scene, agent, "always")
    assert (out["status"], scene.done) == ("completed", ["sent>a"])
    (warned,) = [record for record in caplog.records if record.name == "planwright.approvals"]
    assert "is approved, its rule is not written" in warned.message


def test_a_rule_that_was_revoked_opens_no_gate(scene: Scene) -> None:
    agent = sender(scene, scene.calls(SEND), "one", scene.calls(SEND), "two")
    scene.ask(agent, "Send it")
    approve(scene, agent, "always")
    (rule,) = rules(scene)
    agent.stores.allow_rules.revoke(rule["id"])
    scene.ask(agent, "Send it")
    assert len(agent.get_state(scene.config).interrupts) == 1
    assert rules(scene) == []


def test_a_riskier_call_than_the_one_approved_asks_again(scene: Scene) -> None:
    agent = sender(scene, scene.calls(SEND), "one", scene.calls(SEND), "two")
    scene.ask(agent, "Send it")
    approve(scene, agent, "always")
    path = agent.stores.allow_rules.path
    path.write_text(path.read_text("utf-8").replace('"max_risk":"Medium"', '"max_risk":"Low"'), "utf-8")
    scene.ask(agent, "Send it")
    assert len(agent.get_state(scene.config).interrupts) == 1


def test_a_crash_between_approval_and_rule_loses_no_rule(scene: Scene) -> None:
    agent = sender(scene, scene.calls(SEND), "one")
    scene.ask(agent, "Send it")
    (asked,) = agent.get_state(scene.config).interrupts
    remember = ApprovalScope(scope="always")
    given = Decision(answer="approve", decided_by="me", channel="cli", remember=remember)
    asyncio.run(agent.stores.gates.decide(asked.value["gate_id"], given, utc_now()))
    assert rules(scene) == []
    assert scene.recover(agent)["answer"] == "one"
    assert len(rules(scene)) == 1


def test_a_rule_holds_for_the_capability_as_it_was(scene: Scene) -> None:
    sent: list[str] = []

    def shop(text: str) -> Capability:
        @capability("shop.send", mode="local_write", effect="idempotent", risk="High", trusted_result=True)
        def send(name: str) -> str:
            """Send something."""
            sent.append(name)
            return name

        return replace(send, description=text)

    def ask(text: str) -> dict[str, Any]:
        call = scene.calls(("shop__send", {"name": "a"}))
        scene.thread = str(uuid.uuid4())
        agent = sender(scene, call, "done", capabilities=[shop(text)])
        output = scene.ask(agent, "Send it to the shop")
        return approve(scene, agent, "always") if scene.waiting(agent) and not sent else output

    ask("Send something.")
    assert len(rules(scene)) == 1
    assert "__interrupt__" not in ask("Send something.")
    assert "__interrupt__" in ask("Send it to everybody.")
    assert sent == ["a", "a"]
