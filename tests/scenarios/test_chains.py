"""Chains that a run makes for itself: made, called step by step, asked for, killed, and gone with the run."""

from __future__ import annotations

import json
import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import ToolMessage

from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from tests.opened_store import opened_store

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

AUTO = {"planning": {"mode": "auto"}}
ASK = "Chain tools: read, write, wipe, destroy, send"  # the tags of what it needs
COPY = [
    {"toolName": "work.read", "arguments": {"name": "{{input.source}}"}},
    {"toolName": "work.write", "arguments": {"name": "copy", "text": "{{previous_result.text}}"}},
    {
        "toolName": "work.write",
        "arguments": {"name": "end", "text": "{{steps.1.output.turn}} {{input.source}}"},
    },
]
WIPE = [
    {"toolName": "work.read", "arguments": {"name": "{{input.what}}"}},
    {"toolName": "work.wipe", "arguments": {"name": "{{input.what}}"}},
    {"toolName": "work.wipe", "arguments": {"name": "{{steps.1.output.text}}"}},
]


@pytest.fixture(autouse=True)
def every_tool(scene: Scene) -> None:
    """Offer a model all tools there are, and not the ten best."""
    with (scene.workspace / "planwright.toml").open("a") as file:
        file.write("[tools]\ntop_k = 40\n")


def made(steps: list[dict[str, Any]] = COPY, name: str = "copy_it") -> dict[str, Any]:
    return {"name": name, "description": "Do it in a row", "steps": steps}


def making(steps: list[dict[str, Any]] = COPY, name: str = "copy_it") -> tuple[str, dict[str, Any]]:
    return "tool__create_chain", made(steps, name)


def scripted(*replies: Any) -> ScriptedModel:
    return ScriptedModel(replies=list(replies))


def results(model: ScriptedModel) -> list[str]:
    """What the model was told of its calls, the last time it was asked, without the fences."""
    told = [message.text for message in model.prompts[-1] if isinstance(message, ToolMessage)]
    return [re.sub(r"</?untrusted-\w+>\n?|\n(?=</untrusted-)", "", text) for text in told]


def planned(scene: Scene, steps: list[dict[str, Any]] = COPY, **args: Any) -> str:
    """A plan that makes a chain and calls it."""
    return scene.plan(
        scene.step("s1", "tool.create_chain", params=made(steps)),
        scene.step("s2", "copy_it", "s1", params=args or {"source": "a"}),
    )


def shown(agent: Agent, scene: Scene, index: int = 0) -> dict[str, Any]:
    value: dict[str, Any] = agent.get_state(scene.config).interrupts[index].value["shown"]
    return value


def test_a_model_makes_a_chain_and_calls_it(scene: Scene) -> None:
    call = scene.calls(("copy_it", {"source": "a"}))
    model = scripted(scene.calls(making()), call, "copied")
    output = scene.ask(scene.agent(model=model, **AUTO), ASK)
    assert (output["status"], output["answer"]) == ("completed", "copied")
    assert scene.done == ["a", "copy:a, reading 1", "end:1 a"]
    told = json.loads(results(model)[1])
    assert told["text"] == "end written"


def test_every_part_has_a_row_of_its_own_in_the_ledger(scene: Scene) -> None:
    scene.ask(
        scene.agent(scene.calls(making()), scene.calls(("copy_it", {"source": "a"})), "done", **AUTO), ASK
    )
    rows = scene.rows("SELECT capability, status FROM effects ORDER BY intended_at, rowid")
    names = ["tool.create_chain", "work.write", "work.write"]
    assert rows == [{"capability": name, "status": "done"} for name in names]
    calls = [e["data"]["capability"] for e in scene.journal() if e["type"] == "tool_call_start"]
    assert calls == ["tool.create_chain", "copy_it", "work.read", "work.write", "work.write"]


def test_a_plan_makes_a_chain_and_calls_it(scene: Scene) -> None:
    agent = scene.agent(planned(scene), "done", approval={"plan": "always"})
    scene.ask(agent)
    card = shown(agent, scene)["steps"][1]
    assert [call["capability"] for call in card["chain"]["calls"]] == [
        "work.read",
        "work.write",
        "work.write",
    ]
    assert (card["mode"], card["risk"], card["effect"]) == ("local_write", "Low", "idempotent")
    output = scene.decide(agent, "approve")
    assert output["status"] == "completed"
    assert scene.done == ["a", "copy:a, reading 1", "end:1 a"]


def test_a_chain_with_a_destructive_part_asks_and_shows_its_calls(scene: Scene) -> None:
    model = scripted(scene.calls(making(WIPE, "wipe_it")), scene.calls(("wipe_it", {"what": "w"})), "wiped")
    agent = scene.agent(model=model, **AUTO)
    scene.ask(agent, ASK)
    card = shown(agent, scene)
    assert scene.done == []
    assert (card["capability"], card["mode"], card["args"]) == ("wipe_it", "destructive", {"what": "w"})
    assert [(step["capability"], step["args"]) for step in card["steps"]] == [
        ("work.read", {"name": "w"}),
        ("work.wipe", {"name": "w"}),
        ("work.wipe", {"name": "{{steps.1.output.text}}"}),
    ]
    assert len(card["definition"]) == 64


def test_approving_a_chain_includes_the_calls_it_showed_whole_and_no_other(scene: Scene) -> None:
    model = scripted(scene.calls(making(WIPE, "wipe_it")), scene.calls(("wipe_it", {"what": "w"})), "wiped")
    agent = scene.agent(model=model, **AUTO)
    scene.ask(agent, ASK)
    scene.decide(agent, "approve")
    assert scene.done == ["w", "w"]
    card = shown(agent, scene)
    assert (card["capability"], card["args"]) == ("work.wipe", {"name": "w, reading 1"})
    output = scene.decide(agent, "approve")
    assert output["answer"] == "wiped"
    assert scene.done == ["w", "w", "w, reading 1"]


def test_a_part_that_is_rejected_ends_its_chain(scene: Scene) -> None:
    model = scripted(scene.calls(making(WIPE, "wipe_it")), scene.calls(("wipe_it", {"what": "w"})), "stopped")
    agent = scene.agent(model=model, **AUTO)
    scene.ask(agent, ASK)
    scene.decide(agent, "approve")
    output = scene.decide(agent, "reject", "not that one")
    assert output["answer"] == "stopped"
    assert scene.done == ["w", "w"]
    assert "not that one" in results(model)[1]
    assert "done before it" in results(model)[1]


def test_a_chain_that_is_rejected_calls_nothing(scene: Scene) -> None:
    agent = scene.agent(planned(scene, WIPE, what="w"), "never asked")
    scene.ask(agent)
    scene.decide(agent, "approve")
    assert shown(agent, scene)["capability"] == "copy_it"
    output = scene.decide(agent, "reject", "no")
    assert scene.done == []
    assert output["plan"] is not None
    assert {row["status"] for row in scene.rows("SELECT status FROM steps WHERE step_id = 's2'")} == {
        "rejected"
    }


def test_the_gates_of_a_chain_in_a_plan_are_answered_one_after_another(scene: Scene) -> None:
    agent = scene.agent(planned(scene, WIPE, what="w"), "all wiped")
    scene.ask(agent)
    for _ in range(3):
        output = scene.decide(agent, "approve")
    assert output["status"] == "completed"
    assert scene.done == ["w", "w", "w, reading 1"]
    gates = scene.rows("SELECT kind, status, reason FROM gates ORDER BY requested_at")
    assert [gate["status"] for gate in gates] == ["approved"] * 4
    assert "with the plan" in gates[2]["reason"]
    types = [event["type"] for event in scene.journal()]
    assert (types.count("approval_requested"), types.count("approval_resolved")) == (4, 4)


def test_a_plan_approved_with_its_gates_includes_those_of_its_chains(scene: Scene) -> None:
    agent = scene.agent(planned(scene, WIPE[:2], what="w"), "wiped", approval={"depth": "plan_and_gates"})
    scene.ask(agent)
    assert shown(agent, scene)["steps"][1]["gate_included"]
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["w", "w"]


@pytest.mark.parametrize("place", ["copy", "end"])
def test_a_chain_killed_in_the_middle_goes_on_and_repeats_nothing(scene: Scene, place: str) -> None:
    (scene.workspace / f"die-{place}").touch()
    agent = scene.agent(planned(scene), "never asked", approval={"plan": "always"})
    scene.ask(agent)
    approve = scene.entry(resume={"decisions": [{"type": "approve"}]})
    scene.child(approve, replies=["never asked"], dies=True)
    keys = scene.rows("SELECT key FROM effects")
    output = scene.recover(scene.agent("done"))
    assert output["status"] == "completed"
    assert [line for line in scene.done if not line.startswith("began")] == [
        "a",
        "copy:a, reading 1",
        "end:1 a",
    ]
    after = scene.rows("SELECT key, status FROM effects")
    assert {row["key"] for row in keys} <= {row["key"] for row in after}
    assert [row["status"] for row in after] == ["done"] * 3


def test_a_chain_of_a_model_killed_in_the_middle_goes_on_in_another_process(scene: Scene) -> None:
    (scene.workspace / "die-end").touch()
    replies = [scene.calls(making()), scene.calls(("copy_it", {"source": "a"})), "never asked"]
    scene.child(scene.entry(message=ASK), replies=replies, settings=AUTO, dies=True)
    output = scene.recover(scene.agent("copied after all", **AUTO))
    assert output["answer"] == "copied after all"
    assert scene.done == ["a", "copy:a, reading 1", "began end", "end:1 a"]


def test_a_chain_made_before_a_crash_is_there_after_it(scene: Scene) -> None:
    replies = [scene.calls(making()), scene.calls(("work__wipe", {"name": "w"})), "never asked"]
    scene.child(scene.entry(message=ASK), replies=replies, settings=AUTO, die=True)
    model = scripted(scene.calls(("copy_it", {"source": "a"})), "copied")
    scene.decide(scene.agent(model=model, **AUTO), "approve")
    assert scene.done == ["w", "a", "copy:a, reading 1", "end:1 a"]


def test_a_blind_part_that_died_is_in_doubt_and_the_chain_goes_on_behind_it(scene: Scene) -> None:
    steps = [
        {"toolName": "work.write", "arguments": {"name": "first"}},
        {"toolName": "work.destroy", "arguments": {"name": "d"}},
        {"toolName": "work.write", "arguments": {"name": "last", "text": "{{previous_result.text}}"}},
    ]
    plan = scene.plan(
        scene.step("s1", "tool.create_chain", params=made(steps)),
        scene.step("s2", "copy_it", "s1", params={}),
    )
    (scene.workspace / "die-d").touch()
    agent = scene.agent(plan, "never asked")
    scene.ask(agent)
    scene.decide(agent, "approve")
    approve = scene.entry(resume={"decisions": [{"type": "approve"}]})
    scene.child(approve, replies=["never asked"], dies=True)
    after = scene.agent("told")
    scene.recover(after)
    assert shown(after, scene)["in_doubt"] == ["s2"]
    scene.answer(after, {"type": "respond", "message": '{"text": "it is gone"}'})
    output = scene.decide(after, "approve")
    assert output["status"] == "completed"
    assert scene.done == ["first", "began d", "last:it is gone"]


def test_a_chain_that_fails_and_is_run_again_keeps_what_it_did(scene: Scene) -> None:
    steps = [
        {"toolName": "work.write", "arguments": {"name": "first"}},
        {"toolName": "work.break", "arguments": {"name": "b"}},
    ]
    plan = scene.plan(
        scene.step("s1", "tool.create_chain", params=made(steps)),
        scene.step("s2", "copy_it", "s1", params={}),
    )
    agent = scene.agent(plan, "told", approval={"depth": "plan_and_gates"})
    scene.ask(agent)
    scene.decide(agent, "approve")
    assert shown(agent, scene)["capability"] == "escalation"
    output = scene.decide(agent, "approve")
    while output.get("__interrupt__"):
        output = scene.decide(agent, "approve")
    assert output["status"] == "completed"
    assert scene.done == ["first", "b", "b"]


def test_a_second_run_does_not_see_a_chain(scene: Scene) -> None:
    first = scripted(scene.calls(making()), "made")
    scene.ask(scene.agent(model=first, **AUTO), ASK)
    second = scripted(scene.calls(("copy_it", {"source": "a"})), "there is none")
    scene.ask(scene.agent(model=second, **AUTO), ASK)
    assert "there is no tool copy_it" in results(second)[-1]
    assert scene.done == []


def test_a_plan_cannot_call_a_chain_of_another_run(scene: Scene) -> None:
    scene.ask(scene.agent(scene.calls(making()), "made", **AUTO), ASK)
    step = scene.step("s1", "copy_it", params={"source": "a"})
    output = scene.ask(scene.agent(*[scene.plan(step)] * 4))
    assert output["status"] == "refused"
    assert "there is no capability 'copy_it'" in output["answer"]


def test_a_chain_is_offered_to_the_planner_when_it_plans_again(scene: Scene) -> None:
    first = scene.plan(
        scene.step("s1", "tool.create_chain", params=made()),
        scene.step("s2", "work.flaky", params={"name": "f", "failures": 9}),
    )
    again = scene.plan(
        scene.step("s1", "tool.create_chain", params=made()),
        scene.step("s3", "copy_it", "s1", params={"source": "a"}),
    )
    model = scripted(first, again, "done")
    agent = scene.agent(model=model)
    output = scene.ask(agent)
    while output.get("__interrupt__"):
        output = scene.decide(agent, "approve")
    assert output["status"] == "completed"
    assert '"copy_it"' in model.prompts[1][-1].text
    assert scene.done[-3:] == ["a", "copy:a, reading 1", "end:1 a"]


def test_a_changed_chain_of_the_same_name_needs_a_new_approval(scene: Scene) -> None:
    steps = [{"toolName": "work.send", "arguments": {"name": "{{input.what}}"}}]
    changed = [{"toolName": "work.send", "arguments": {"name": "{{input.what}}", "to": "everybody"}}]

    def run(definition: list[dict[str, Any]]) -> tuple[Agent, dict[str, Any]]:
        call = scene.calls(("send_it", {"what": "w"}))
        agent = scene.agent(scene.calls(making(definition, "send_it")), call, "sent", **AUTO)
        return agent, scene.ask(agent, ASK)

    agent, _ = run(steps)
    scene.answer(agent, {"type": "approve", "remember": "always"})
    _, output = run(steps)
    assert output["answer"] == "sent"
    agent, output = run(changed)
    assert "answer" not in output or not output["answer"]
    assert shown(agent, scene)["capability"] == "send_it"
    assert scene.done == ["w>nobody", "w>nobody"]


def test_an_edit_that_changes_a_chain_is_asked_for_again(scene: Scene) -> None:
    agent = scene.agent(planned(scene), "done", approval={"plan": "always"})
    output = scene.ask(agent)
    plan = output["__interrupt__"][0].value["shown"]
    echoed = json.loads(json.dumps(plan))
    echoed["steps"][0]["params"]["steps"][2]["arguments"]["name"] = "other"
    del echoed["steps"][1]["chain"]
    edit = {"type": "edit", "edited_action": {"name": "approve_plan", "args": {"plan": echoed}}}
    scene.answer(agent, edit)
    assert scene.done == []
    assert shown(agent, scene)["steps"][1]["chain"]["calls"][2]["arguments"]["name"] == "other"
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["a", "copy:a, reading 1", "other:1 a"]


def test_a_name_stands_for_one_chain_in_a_run(scene: Scene) -> None:
    other = [{"toolName": "work.read", "arguments": {"name": "x"}}]
    model = scripted(scene.calls(making()), scene.calls(making(), making(other)), "done")
    scene.ask(scene.agent(model=model, **AUTO), ASK)
    assert '"copy_it"' in results(model)[1]
    assert "already, with another definition" in results(model)[2]


def test_a_chain_is_not_made_of_tools_an_agent_does_not_have(scene: Scene) -> None:
    settings = AUTO | {"agents": {"reader": {"tools": ["work.read", "tool.create_chain"]}}}
    model = scripted(scene.calls(making()), "no")
    agent = scene.agent(model=model, **settings)
    agent.invoke({"messages": [("user", ASK)]}, scene.config, context={"agent": "reader"})
    assert "work.write may not be used here" in results(model)[0]


def test_a_step_has_to_wait_for_the_chain_it_calls(scene: Scene) -> None:
    plan = scene.plan(
        scene.step("s1", "tool.create_chain", params=made()),
        scene.step("s2", "copy_it", params={"source": "a"}),
    )
    output = scene.ask(scene.agent(*[plan] * 3))
    assert output["status"] == "refused"
    assert "made by s1, which it does not wait for" in output["answer"]


def test_a_fork_has_the_chains_of_the_steps_it_keeps(scene: Scene) -> None:
    agent = scene.agent(planned(scene), "done", approval={"plan": "always"})
    scene.ask(agent)
    scene.decide(agent, "approve")
    config = agent.fork(scene.thread, rerun=["s2"])
    agent.invoke(None, config)
    scene.thread = config["configurable"]["thread_id"]
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done[3:] == ["a", "copy:a, reading 2", "end:2 a"]


def test_a_chain_that_is_not_on_record_calls_nothing_more(scene: Scene) -> None:
    (scene.workspace / "die-copy").touch()
    agent = scene.agent(planned(scene), "never asked", approval={"plan": "always"})
    scene.ask(agent)
    approve = scene.entry(resume={"decisions": [{"type": "approve"}]})
    scene.child(approve, replies=["never asked"], dies=True)
    with closing(opened_store(scene.workspace / ".planwright")) as connection:
        connection.execute("DELETE FROM chains")
        connection.commit()
    output = scene.recover(scene.agent("told"))
    assert output.get("status") != "completed"
    assert scene.done == ["a", "began copy"]


def test_text_that_a_result_brings_is_not_read_for_references(scene: Scene) -> None:
    steps = [
        {"toolName": "work.read", "arguments": {"name": "{{input.source}}"}},
        {"toolName": "work.write", "arguments": {"name": "copy", "text": "{{previous_result.text}}"}},
    ]
    trap = "{{input.source}} {{steps.1.output.turn}}"
    model = scripted(scene.calls(making(steps)), scene.calls(("copy_it", {"source": trap})), "done")
    scene.ask(scene.agent(model=model, **AUTO), ASK)
    assert scene.done == [trap, f"copy:{trap}, reading 1"]


def test_a_budget_of_calls_counts_every_part(scene: Scene) -> None:
    replies = [scene.calls(making()), scene.calls(("copy_it", {"source": "a"})), "done"]
    model = scripted(*replies)
    out = scene.ask(scene.agent(model=model, budgets={"run": {"tool_calls": 3}}, **AUTO), ASK)
    assert scene.done == ["a", "copy:a, reading 1"]
    assert (out["status"], "tool_calls" in out["answer"]) == ("budget_exceeded", True)


def test_a_chain_is_not_offered_to_an_agent_without_its_parts(scene: Scene) -> None:
    delegate = ("agent__delegate", {"task": "Copy a", "tools": ["work.read"]})
    model = scripted(
        scene.calls(making()), scene.calls(delegate), scene.calls(("copy_it", {"source": "a"})), "no", "done"
    )
    scene.ask(scene.agent(model=model, **AUTO), f"{ASK}, delegate")
    assert "there is no tool copy_it" in str(model.prompts[3][-1].content)
    assert scene.done == []


def test_two_calls_of_a_chain_in_one_reply_do_not_mix(scene: Scene) -> None:
    both = scene.calls(("copy_it", {"source": "a"}), ("copy_it", {"source": "b"}))
    model = scripted(scene.calls(making()), both, "done")
    scene.ask(scene.agent(model=model, **AUTO), ASK)
    assert sorted(scene.done) == ["a", "b", "copy:a, reading 1", "copy:b, reading 1", "end:1 a", "end:1 b"]
