"""A workspace's policy in whole runs: what it allows, asks about and denies, wherever a call comes from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from planwright.capabilities.policy.file import load_policy
from planwright.domain.errors import GateError, SetupError
from planwright.domain.run_context import RunContext

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

ALLOW_ALL = '[[rule]]\ndecide = "allow"\n'
SECRET = 'match.capability = "work.write"\nwhen = \'args.text == "secret"\''
PLAN_FIRST = {"order": "plan_first"}


def policy(scene: Scene, *rules: str, last: str = ALLOW_ALL) -> None:
    """Write the policy of a scene; rules are without their headers."""
    text = "".join(f"[[rule]]\n{rule}\n" for rule in rules) + last
    (scene.workspace / "policy.toml").write_text(text, "utf-8")


def findings(scene: Scene) -> list[tuple[str, str]]:
    """List the codes and steps of all findings in the journal."""
    told = [event["data"] for event in scene.journal() if event["type"] == "plan_verified"]
    return [(found["code"], found["step_id"]) for data in told for found in data["findings"]]


def looped(scene: Scene, *replies: Any) -> Agent:
    """Build an agent whose model calls tools for every request."""
    return scene.agent(*replies, planning={"mode": "auto"})


def test_what_is_allowed_runs_without_a_question(scene: Scene) -> None:
    policy(scene, 'match.capability = "work.write"\ndecide = "allow"', last='[[rule]]\ndecide = "deny"\n')
    agent = scene.agent(
        scene.plan(scene.step("s1", "work.write")), "the answer", approval={"plan_risk": "High"}
    )
    assert scene.ask(agent)["answer"] == "the answer"
    assert scene.done == ["s1"]


def test_what_is_asked_about_waits_at_its_own_gate_and_says_by_which_rule(scene: Scene) -> None:
    policy(scene, 'match.capability = "work.read"\ndecide = "ask"\nreason = "it is private"')
    agent = scene.agent(scene.plan(scene.step("s1", "work.read")), "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    assert scene.done == []
    (asked,) = agent.get_state(scene.config).interrupts
    shown = asked.value["shown"]
    assert (shown["step_id"], shown["reason"]) == ("s1", "it is private")
    assert shown["policy"]["rule"] == "policy.toml:1"
    assert shown["policy"]["version"] == load_policy(scene.workspace).hash
    assert scene.decide(agent, "approve")["answer"] == "the answer"
    assert scene.done == ["s1"]


def test_a_plan_with_a_denied_step_is_sent_back_and_nobody_is_asked(scene: Scene) -> None:
    policy(scene, f'{SECRET}\ndecide = "deny"\nreason = "secrets stay here"')
    denied = scene.step("s1", "work.write", params={"name": "s1", "text": "secret"}, estimated_risk="Medium")
    agent = scene.agent(scene.plan(denied), scene.plan(scene.step("s2", "work.read")), "the answer")
    assert scene.ask(agent)["answer"] == "the answer"
    assert findings(scene) == [("policy_conflict", "s1")]
    assert scene.rows("SELECT * FROM gates") == []
    assert scene.done == ["s2"]


def test_two_steps_that_overwrite_one_file_keep_the_order_of_their_plan(scene: Scene) -> None:
    first = scene.step("s1", "files.write", params={"path": "note.md", "text": "first"})
    second = scene.step("s2", "files.write", params={"path": "./note.md", "text": "second"})
    agent = scene.agent(scene.plan(first, second), "the answer")
    asked = scene.ask(agent)
    (edge,) = asked["__interrupt__"][0].value["shown"]["steps"][1]["follows"]
    assert edge == {"after": "s1", "both_use": "note.md"}
    (verified,) = [event["data"] for event in scene.journal() if event["type"] == "plan_verified"]
    assert verified["order"] == [{"step_id": "s2", **edge}]
    assert scene.decide(agent, "approve")["answer"] == "the answer"
    assert (scene.workspace / "note.md").read_text("utf-8") == "second"


def test_a_plan_that_stays_denied_is_refused_and_names_the_rule(scene: Scene) -> None:
    policy(
        scene, 'match.mode = "destructive"\ndecide = "deny"', 'match.capability = "work.*"\ndecide = "allow"'
    )
    plan = scene.plan(scene.step("s1", "work.destroy"))
    output = scene.ask(scene.agent(plan, plan, plan, plan))
    assert output["status"] == "refused"
    assert "policy_conflict [s1]: the policy denies work.destroy: policy.toml:1 says deny" in output["answer"]
    assert scene.done == []


def test_a_step_of_an_agent_with_a_denied_tool_is_a_policy_conflict(scene: Scene) -> None:
    policy(scene, 'match.capability = "work.wipe"\ndecide = "deny"', f'{SECRET}\ndecide = "deny"')
    step = {"id": "s1", "description": "Look", "tool_hints": ["work.read", "work.wipe", "work.write"]}
    mended = {**step, "tool_hints": ["work.read", "work.write"]}
    agent = scene.agent(scene.plan(step), scene.plan(mended), "done", "the answer")
    scene.ask(agent)
    assert findings(scene) == [("policy_conflict", "s1")]


def test_an_argument_that_is_known_later_asks_only_when_the_rule_still_says_so(scene: Scene) -> None:
    policy(scene, 'match.capability = "work.write"\nwhen = \'args.name.contains("s2")\'\ndecide = "ask"')
    steps = [scene.step(id_, "work.read") for id_ in ("s1", "s2")]
    steps += [
        scene.step(f"w{n}", "work.write", params={"name": f"{{{{steps.s{n}.output.text}}}}"}) for n in (1, 2)
    ]
    agent = scene.agent(scene.plan(*steps), "the answer", approval=PLAN_FIRST)
    scene.ask(agent)
    scene.decide(agent, "approve")
    assert sorted(scene.done) == ["s1", "s1, reading 1", "s2"]
    assert scene.waiting(agent).keys() == {"w2"}
    by = scene.rows("SELECT decided_by, channel FROM gates WHERE channel = 'policy'")
    assert [tuple(row.values()) for row in by] == [("policy.toml:5", "policy")]
    assert scene.decide(agent, "approve")["answer"] == "the answer"


def test_an_argument_that_was_read_first_asks_with_its_plan_only_when_the_rule_says_so(scene: Scene) -> None:
    policy(scene, 'match.capability = "work.write"\nwhen = \'args.name.contains("s2")\'\ndecide = "ask"')
    write = {"name": "{{steps.r.output.text}}"}
    for name, asks in (("s1", False), ("s2", True)):
        read = scene.step("r", "work.read", params={"name": name})
        scene.thread = name
        agent = scene.agent(scene.plan(read, scene.step("w", "work.write", params=write)), "the answer")
        assert ("__interrupt__" in scene.ask(agent)) is asks
    assert scene.done == ["s1", "s1, reading 1", "s2"]
    assert scene.waiting(agent).keys() == {"plan"}


@pytest.mark.parametrize("order", ["plan_first", "reads_first"])
def test_an_argument_that_turns_out_to_be_denied_is_not_put_before_anybody(scene: Scene, order: str) -> None:
    policy(scene, 'match.capability = "work.write"\nwhen = \'args.name.contains("s1")\'\ndecide = "deny"')
    later = scene.step("s2", "work.write", params={"name": "{{steps.s1.output.text}}"})
    plan = scene.plan(scene.step("s1", "work.read"), later)
    agent = scene.agent(plan, "the answer", approval={"order": order})
    scene.ask(agent)
    if order == "plan_first":
        scene.decide(agent, "approve")
    assert scene.waiting(agent) == {}
    assert scene.done == ["s1"]
    (step,) = [
        json.loads(row["result"]) for row in scene.rows("SELECT * FROM steps") if "s2" in row["result"]
    ]
    assert (step["code"], "the policy denies work.write" in step["error"]) == ("forbidden", True)
    assert scene.rows("SELECT * FROM gates WHERE kind = 'step'") == []


def test_a_denied_call_of_a_model_is_told_to_it_and_not_made(scene: Scene) -> None:
    policy(scene, f'{SECRET}\ndecide = "deny"\nreason = "secrets stay here"')
    denied = scene.calls(("work__write", {"name": "w", "text": "secret"}))
    agent = looped(scene, denied, "I may not.")
    assert scene.ask(agent, "Write it down")["answer"] == "I may not."
    assert scene.done == []
    messages = agent.get_state(scene.config).values["messages"]
    assert not any("secret" in message.text for message in messages[1:] if message.type == "ai")


def test_a_call_of_a_model_that_is_asked_about_waits(scene: Scene) -> None:
    policy(scene, f'{SECRET}\ndecide = "ask"')
    calls = scene.calls(("work__write", {"name": "a"}), ("work__write", {"name": "b", "text": "secret"}))
    agent = looped(scene, calls, "done")
    scene.ask(agent, "Write it down")
    assert scene.done == []  # all gates of a reply are decided before any of its calls
    (asked,) = agent.get_state(scene.config).interrupts
    assert asked.value["shown"]["policy"]["rule"] == "policy.toml:1"
    scene.decide(agent, "approve")
    assert sorted(scene.done) == ["a", "b:secret"]


def test_a_rule_given_by_a_person_does_not_override_a_deny(scene: Scene) -> None:
    send = ("work__send", {"name": "sent", "to": "a"})
    agent = looped(scene, scene.calls(send), "one")
    scene.ask(agent, "Send it")
    scene.answer(agent, {"type": "approve", "remember": "always"})
    assert scene.done == ["sent>a"]
    policy(scene, 'match.capability = "work.send"\ndecide = "deny"')
    scene.ask(looped(scene, scene.calls(send), "two"), "Send it")
    assert scene.done == ["sent>a"]


def test_what_is_denied_since_it_was_approved_is_not_done(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.destroy")), "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    policy(scene, 'match.capability = "work.destroy"\ndecide = "deny"')
    scene.decide(scene.agent("the answer"), "approve")
    assert scene.done == []


def test_a_policy_is_about_a_tenant_and_an_agent(scene: Scene) -> None:
    policy(
        scene,
        'match = { capability = "work.write", tenant = "guest" }\ndecide = "deny"',
        'match.capability = "work.write"\nwhen = \'agent == "intern"\'\ndecide = "deny"',
    )
    reply = (scene.calls(("work__write", {"name": "w"})), "done")
    for context in (RunContext(tenant="guest"), RunContext(agent="intern"), RunContext()):
        scene.thread = f"{context.tenant}-{context.agent}"
        agent = scene.agent(*reply, planning={"mode": "auto"}, agents={"intern": {}})
        agent.invoke({"messages": [("user", "Write it down")]}, scene.config, context=context)
        assert scene.done == ([] if context != RunContext() else ["w"])


def test_only_who_is_named_may_approve_and_anybody_may_reject(scene: Scene) -> None:
    policy(scene, 'match.capability = "work.read"\ndecide = "ask"\napprovers = ["kim", "channel:pager"]')
    agent = looped(scene, scene.calls(("work__read", {"name": "r"})), "done")
    scene.ask(agent, "Read it")
    before = scene.everything()
    for answer in (
        {"type": "approve"},
        {"type": "approve", "decided_by": "sam"},
        {"type": "approve", "decided_by": "Kim"},
    ):
        with pytest.raises(GateError, match=r"is not for .* to approve"):
            scene.answer(agent, answer)
    assert scene.everything() == before
    scene.answer(agent, {"type": "approve", "decided_by": "kim"})
    assert scene.done == ["r"]
    scene.thread = "another"
    other = looped(scene, scene.calls(("work__read", {"name": "r2"})), "left out")
    scene.ask(other, "Read it")
    assert scene.answer(other, {"type": "reject", "decided_by": "sam"})["answer"] == "left out"
    assert scene.done == ["r"]


TWO = 'match.capability = "work.wipe"\ndecide = "ask"\nquorum = 2'


def approve_as(name: str) -> dict[str, str]:
    return {"type": "approve", "decided_by": name}


def test_a_call_waits_until_as_many_people_as_the_rule_says_have_approved(scene: Scene) -> None:
    policy(scene, TWO)
    agent = looped(scene, scene.calls(("work__wipe", {"name": "w"})), "done")
    scene.ask(agent, "Wipe it")
    out = scene.answer(agent, approve_as("kim"))
    (asked,) = out["__interrupt__"]
    assert (asked.value["approvals"], scene.done) == (["kim"], [])
    with pytest.raises(GateError, match=r"kim has approved .* already: 1 of 2 approvals are given"):
        scene.answer(agent, approve_as("kim"))
    agent.close()
    later = looped(scene, "done")
    assert scene.answer(later, approve_as("sam"))["status"] == "completed"
    assert scene.done == ["w"]


@pytest.mark.parametrize("same", ["kim", "Kim", " kim ", "\uff4b\uff49\uff4d"])
def test_one_person_is_one_approval_however_the_name_is_spelled(scene: Scene, same: str) -> None:
    policy(scene, TWO)
    agent = looped(scene, scene.calls(("work__wipe", {"name": "w"})), "done")
    scene.ask(agent, "Wipe it")
    scene.answer(agent, approve_as("kim"))
    with pytest.raises(GateError, match=r"has approved .* already"):
        scene.answer(agent, approve_as(same))


def test_who_does_not_say_a_name_is_nobody_to_count(scene: Scene) -> None:
    policy(scene, TWO)
    agent = looped(scene, scene.calls(("work__wipe", {"name": "w"})), "done")
    scene.ask(agent, "Wipe it")
    with pytest.raises(GateError, match="needs 2 people, and the answer does not say whose it is"):
        scene.answer(agent, {"type": "approve"})


def test_a_plan_that_nobody_by_name_approved_approves_no_gate_of_several(scene: Scene) -> None:
    policy(scene, TWO)
    agent = scene.agent(
        scene.plan(scene.step("s1", "work.wipe")), "the answer", approval={"depth": "plan_and_gates"}
    )
    scene.ask(agent)
    scene.answer(agent, {"type": "approve"})
    (asked,) = agent.get_state(scene.config).interrupts
    assert asked.value["approvals"] == []


def test_an_approval_of_several_is_not_remembered(scene: Scene) -> None:
    policy(scene, TWO.replace("work.wipe", "work.write"))
    agent = looped(scene, scene.calls(("work__write", {"name": "w"})), "done")
    scene.ask(agent, "Write it")
    with pytest.raises(GateError, match="cannot be remembered: such a call is asked for every time"):
        scene.answer(agent, {**approve_as("kim"), "remember": "always"})


def test_one_rejection_closes_a_gate_that_others_have_approved(scene: Scene) -> None:
    policy(scene, TWO)
    agent = looped(scene, scene.calls(("work__wipe", {"name": "w"})), "left out")
    scene.ask(agent, "Wipe it")
    scene.answer(agent, approve_as("kim"))
    assert scene.answer(agent, {"type": "reject", "decided_by": "sam"})["answer"] == "left out"
    assert scene.done == []


def test_a_quorum_counts_only_who_may_approve(scene: Scene) -> None:
    policy(scene, f'{TWO}\napprovers = ["kim", "priya"]')
    agent = looped(scene, scene.calls(("work__wipe", {"name": "w"})), "done")
    scene.ask(agent, "Wipe it")
    scene.answer(agent, approve_as("kim"))
    with pytest.raises(GateError, match=r"is not for sam via .* to approve"):
        scene.answer(agent, approve_as("sam"))
    scene.answer(agent, approve_as("priya"))
    assert scene.done == ["w"]


def test_approving_a_plan_is_one_approval_of_its_gates(scene: Scene) -> None:
    policy(scene, TWO)
    plan = scene.plan(scene.step("s1", "work.wipe"))
    agent = scene.agent(plan, "the answer", approval={"depth": "plan_and_gates"})
    scene.ask(agent)
    scene.answer(agent, approve_as("kim"))
    assert scene.waiting(agent).keys() == {"s1"}
    assert scene.done == []
    scene.answer(agent, approve_as("sam"))
    assert scene.done == ["s1"]


def test_an_approval_below_a_quorum_that_came_later_does_not_count(scene: Scene) -> None:
    agent = looped(scene, scene.calls(("work__wipe", {"name": "w"})), "done")
    scene.ask(agent, "Wipe it")
    policy(scene, TWO)
    later = looped(scene, "done")
    scene.answer(later, approve_as("kim"))
    assert scene.done == []


@pytest.mark.parametrize(("by", "left"), [("sam", {"s1"}), ("kim", set())])
def test_approving_a_plan_opens_the_gates_its_approver_may_open(
    scene: Scene, by: str, left: set[str]
) -> None:
    policy(scene, 'match.capability = "work.wipe"\ndecide = "ask"\napprovers = "kim"')
    plan = scene.plan(scene.step("s1", "work.wipe"), scene.step("s2", "work.destroy"))
    agent = scene.agent(plan, "the answer", approval={"depth": "plan_and_gates"})
    scene.ask(agent)
    scene.answer(agent, {"type": "approve", "decided_by": by})
    assert scene.waiting(agent).keys() == left
    assert sorted(scene.done) == sorted({"s1", "s2"} - left)


def test_an_approval_by_somebody_who_is_not_named_any_more_does_not_count(scene: Scene) -> None:
    agent = looped(scene, scene.calls(("work__wipe", {"name": "w"})), "done")
    scene.ask(agent, "Wipe it")
    policy(scene, 'match.capability = "work.wipe"\ndecide = "ask"\napprovers = "kim"')
    later = looped(scene, "done")
    scene.answer(later, {"type": "approve", "decided_by": "sam"})
    assert scene.done == []


def test_an_edit_that_the_policy_denies_is_refused_and_the_gate_stays_open(scene: Scene) -> None:
    policy(scene, f'{SECRET}\ndecide = "deny"')
    agent = scene.agent(scene.plan(scene.step("s1", "work.write", estimated_risk="Medium")), "the answer")
    scene.ask(agent)
    (asked,) = agent.get_state(scene.config).interrupts
    plan = asked.value["shown"]
    plan["steps"][0]["params"]["text"] = "secret"
    with pytest.raises(GateError, match="policy_conflict"):
        scene.answer(
            agent, {"type": "edit", "edited_action": {"name": "approve_plan", "args": {"plan": plan}}}
        )
    assert scene.decide(agent, "approve")["answer"] == "the answer"


def test_a_rule_that_cannot_be_evaluated_allows_nothing_and_says_so(scene: Scene) -> None:
    policy(scene, 'match.capability = "work.write"\nwhen = \'args.nothing == 1\'\ndecide = "allow"')
    agent = scene.agent(scene.plan(scene.step("s1", "work.write")), "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    (asked,) = agent.get_state(scene.config).interrupts
    assert "cannot be evaluated: there is no 'nothing'" in asked.value["shown"]["reason"]
    assert scene.done == []


def test_a_policy_that_names_what_there_is_not_stops_the_start(scene: Scene) -> None:
    policy(scene, 'match.capability = "work.wirte"\ndecide = "deny"')
    with pytest.raises(SetupError, match=r"policy\.toml:1: there is no capability 'work\.wirte'"):
        scene.agent()


def test_the_version_of_the_policy_is_on_record(scene: Scene) -> None:
    policy(scene, f'{SECRET}\ndecide = "deny"')
    agent = scene.agent(scene.plan(scene.step("s1", "work.read")), "the answer")
    scene.ask(agent)
    (verified,) = [event["data"] for event in scene.journal() if event["type"] == "plan_verified"]
    (created,) = [event["data"] for event in scene.journal() if event["type"] == "plan_created"]
    context = json.loads(agent.stores.blobs.get(created["context_hash"]))
    version = load_policy(scene.workspace).hash
    assert (verified["policy"], context["versions"]["policy"]) == (version, version)


@pytest.mark.parametrize("name", ["policy.toml", "planwright.toml"])
def test_what_would_loosen_a_policy_cannot_be_written_by_a_capability(scene: Scene, name: str) -> None:
    policy(scene, f'{SECRET}\ndecide = "deny"')
    before = (scene.workspace / name).read_text("utf-8")
    calls = [
        ("files__write", {"path": path, "text": ALLOW_ALL}) for path in (name, f"./{name}", f"a/../{name}")
    ]
    agent = looped(scene, scene.calls(*calls), "done")
    scene.ask(agent, "Write it down")
    assert (scene.workspace / name).read_text("utf-8") == before
