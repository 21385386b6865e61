"""Undoing a run: what its effects declare to be undone by, in reverse order, once, and as a person says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.domain.clock import utc_now
from planwright.domain.errors import GateError, RunError
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from planwright.records.forks import Fork

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene


def booked(scene: Scene, *steps: dict[str, Any], **options: Any) -> Agent:
    """Run a plan to its end: `b` builds on `a` by way of a reading step, `c` on nothing."""
    said = scene.step("said", "work.read", params={"name": "{{steps.a.output.text}}"})
    plan = steps or (
        scene.step("a", "work.book"),
        said,
        scene.step("b", "work.book", "said"),
        scene.step("c", "work.book"),
    )
    agent = scene.agent(scene.plan(*plan), "the answer", **options)
    scene.ask(agent)
    if scene.rows("SELECT 1 FROM gates WHERE kind = 'escalation' AND status = 'open'"):  # it is left so
        scene.decide(agent, "reject")
    return agent


def begin(agent: Agent, scene: Scene) -> tuple[RunnableConfig, Any]:
    """Begin to undo the scene's run, up to its gate, and return its thread and its card."""
    config = agent.undo(scene.thread)
    agent.invoke(None, config)
    (asked,) = agent.get_state(config).interrupts
    assert asked.value["kind"] == "plan"
    return config, asked.value["shown"]


def decide(agent: Agent, config: RunnableConfig, answer: str = "approve") -> dict[str, Any]:
    output: dict[str, Any] = agent.invoke(Command(resume=answer), config)
    return output


def undone(scene: Scene) -> list[str]:
    return [line for line in scene.done if line.startswith("un")]


def test_what_builds_on_an_effect_is_undone_before_it(scene: Scene) -> None:
    agent = booked(scene)
    config, card = begin(agent, scene)
    assert {step["id"]: step["after"] for step in card["steps"]} == {
        "undo_a": ["undo_b"],
        "undo_b": [],
        "undo_c": [],
    }
    assert undone(scene) == []
    output = decide(agent, config)
    assert output["status"] == "completed"
    assert sorted(undone(scene)) == ["una 1", "unb 1", "unc 1"]
    assert undone(scene).index("unb 1") < undone(scene).index("una 1")
    (run, *_) = scene.rows("SELECT run_id FROM forks WHERE undo = 1")
    effects = scene.rows("SELECT capability, status FROM effects WHERE run_id = ?", run["run_id"])
    assert effects == [{"capability": "work.unbook", "status": "done"}] * 3


def test_a_step_that_is_left_out_stays_with_what_it_builds_on(scene: Scene) -> None:
    agent = booked(scene)
    config = agent.undo(scene.thread, without=["b"])
    agent.invoke(None, config)
    (asked,) = agent.get_state(config).interrupts
    assert [step["id"] for step in asked.value["shown"]["steps"]] == ["undo_c"]
    assert "b work.book: it is left out" in asked.value["shown"]["goal"]
    assert "a work.book: work.book, which builds on it, is left out" in asked.value["shown"]["goal"]
    assert decide(agent, config)["status"] == "completed"
    assert undone(scene) == ["unc 1"]
    later, card = begin(agent, scene)
    assert [step["id"] for step in card["steps"]] == ["undo_b", "undo_a"]
    assert decide(agent, later)["status"] == "completed"
    assert undone(scene) == ["unc 1", "unb 1", "una 1"]


def test_a_step_that_has_done_nothing_cannot_be_left_out(scene: Scene) -> None:
    agent = booked(scene)
    with pytest.raises(RunError, match="step said of run"):
        agent.undo(scene.thread, without=["said"])


@pytest.mark.parametrize("approval", ["never", "risk", "always"])
def test_a_person_is_always_asked(scene: Scene, approval: str) -> None:
    agent = booked(scene, scene.step("a", "work.book"), approval={"plan": approval})
    if approval == "always":
        scene.decide(agent, "approve")
    config, card = begin(agent, scene)
    assert card["steps"][0]["params"] == {"name": "a", "turn": 1}
    assert decide(agent, config, "reject")["status"] == "rejected"
    assert undone(scene) == []


def test_nothing_is_undone_twice(scene: Scene) -> None:
    agent = booked(scene)
    config, _ = begin(agent, scene)
    decide(agent, config)
    with pytest.raises(RunError, match="it was undone by run_"):
        agent.undo(scene.thread)
    assert len(undone(scene)) == 3


def test_what_was_rejected_can_be_asked_for_again(scene: Scene) -> None:
    agent = booked(scene)
    decide(agent, begin(agent, scene)[0], "reject")
    config, card = begin(agent, scene)
    assert len(card["steps"]) == 3
    assert decide(agent, config)["status"] == "completed"


def test_one_undoing_at_a_time(scene: Scene) -> None:
    agent = booked(scene)
    config, _ = begin(agent, scene)
    with pytest.raises(RunError, match=r"is undoing run_.*, and has not ended") as refused:
        agent.undo(scene.thread)
    assert str(config["configurable"]["thread_id"]) in refused.value.next_step
    assert decide(agent, config)["status"] == "completed"


def test_what_could_not_be_undone_keeps_what_it_builds_on_and_can_be_tried_again(scene: Scene) -> None:
    agent = booked(scene)
    (scene.workspace / "keep-b").touch()
    config, _ = begin(agent, scene)
    assert decide(agent, config)["status"] == "failed"
    assert undone(scene) == ["unc 1"]
    (scene.workspace / "keep-b").unlink()
    config, card = begin(agent, scene)
    assert [step["id"] for step in card["steps"]] == ["undo_b", "undo_a"]
    assert "not undone: c work.book: it was undone by run_" in card["goal"]
    assert decide(agent, config)["status"] == "completed"
    assert undone(scene) == ["unc 1", "unb 1", "una 1"]


def test_an_effect_stays_while_anything_that_builds_on_it_does(scene: Scene) -> None:
    agent = booked(scene, *(scene.step(name, "work.book", *"a"[: name != "a"]) for name in "abc"))
    (scene.workspace / "keep-b").touch()
    config, card = begin(agent, scene)
    assert sorted(card["steps"][2]["after"]) == ["undo_b", "undo_c"]
    decide(agent, config)
    assert undone(scene) == ["unc 1"]


def test_two_that_planned_the_same_undoing_do_not_both_begin(scene: Scene) -> None:
    agent = booked(scene, scene.step("a", "work.book"))
    config, _ = begin(agent, scene)
    decide(agent, config)
    (effect,) = scene.rows("SELECT key, run_id FROM effects WHERE capability = 'work.book'")
    late = Fork(run_id="run_late", source_run=effect["run_id"], task={"task": "Undo"}, undo=True)
    run = agent.loop.call(lambda: agent.stores.forks.run_named(effect["run_id"]))
    run = run.model_copy(update={"run_id": "run_late", "thread_id": "late", "status": "running"})
    before = scene.everything()
    with pytest.raises(RunError, match="was undone meanwhile"):
        agent.loop.call(lambda: agent.stores.undos.begin(run, late, {effect["key"]: "undo_a"}, utc_now()))
    assert scene.everything() == before


def test_no_model_has_a_say_in_it(scene: Scene) -> None:
    plan = scene.plan(scene.step("a", "work.book"))
    other = '{"capability": "work.write", "params": {"name": "instead"}}'
    model = ScriptedModel(replies=[plan, "the answer"], alternatives=[other] * 3)
    agent = scene.agent(model=model, approval={"plan": "never"}, alternative={"enabled": True})
    scene.ask(agent)
    (scene.workspace / "keep-a").touch()
    config, card = begin(agent, scene)
    assert card["replans_left"] == 0
    with pytest.raises(GateError, match="does not take `respond`"):
        agent.invoke(Command(resume={"type": "respond", "message": "write it instead"}), config)
    assert decide(agent, config)["status"] == "failed"
    assert len(model.alternatives) == 3
    assert len(model.prompts) == 3  # the plan, and the words at the end of both runs
    assert "instead" not in scene.done


def test_a_plan_that_may_not_run_is_refused_and_none_is_made_in_its_place(scene: Scene) -> None:
    booked(scene, scene.step("a", "work.book"))
    policy = '[[rule]]\nmatch = { capability = "work.unbook" }\ndecide = "deny"\n'
    everything = '[[rule]]\nmatch = { capability = "*" }\ndecide = "allow"\n'
    (scene.workspace / "policy.toml").write_text(policy + everything)
    model = ScriptedModel(replies=["never asked"])
    agent = scene.agent(model=model)
    output = agent.invoke(None, agent.undo(scene.thread))
    assert output["status"] == "refused"
    assert "the policy denies work.unbook" in output["answer"]
    assert (model.prompts, undone(scene)) == ([], [])


@pytest.mark.parametrize("where", ["its beginning", "its approval", "an undo", "its record"])
def test_an_undoing_that_is_killed_goes_on_and_undoes_everything_once(scene: Scene, where: str) -> None:
    booked(scene).close()
    thread = "22222222-3333-4444-8555-666666666666"
    beginning = {"how": "undo", "thread": scene.thread, "into": thread}
    early = {"die_at": "undo"} if where == "its beginning" else {}
    scene.child(beginning, replies=["the answer"], **early)
    approve = {"how": "invoke", "thread": thread, "resume": "approve"}
    if where == "an undo":
        (scene.workspace / "die-unb").touch()
        scene.child({"how": "invoke", "thread": thread}, approve, replies=["the answer"], dies=True)
    elif not early:
        at = {"its record": "done", "its approval": "decision"}[where]
        scene.child({"how": "invoke", "thread": thread}, approve, replies=["the answer"], die_at=at)
    agent = scene.agent("the answer")
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    output = agent.invoke(None, config)
    assert (decide(agent, config) if early else output)["status"] == "completed"
    assert sorted(set(undone(scene))) == ["una 1", "unb 1", "unc 1"]
    keys = scene.rows(
        "SELECT step_uid FROM effects WHERE run_id IN (SELECT run_id FROM forks WHERE undo = 1)"
    )
    assert len(keys) == 3
    with pytest.raises(RunError, match=r"nothing of run run_.* can be undone"):
        agent.undo(scene.thread)


def doubtful(scene: Scene, capability: str) -> Agent:
    """Kill a run in a call, and leave it in doubt."""
    (scene.workspace / "die-a").touch()
    plan = scene.plan(scene.step("a", capability))
    scene.child(scene.entry(message="Do it"), replies=[plan], dies=True)
    agent = scene.agent("the answer")
    scene.recover(agent)
    assert scene.decide(agent, "reject")["status"] == "escalated"
    return agent


def test_an_effect_in_doubt_is_undone_and_shown_as_such(scene: Scene) -> None:
    agent = doubtful(scene, "work.engrave")
    config, card = begin(agent, scene)
    assert "nobody knows whether these happened: a work.engrave" in card["goal"]
    assert card["steps"][0]["description"].endswith("IN DOUBT: nobody knows whether it happened")
    assert decide(agent, config)["status"] == "completed"
    assert undone(scene) == ["una 0"]


def test_an_effect_in_doubt_is_not_undone_by_a_result_that_nobody_knows(scene: Scene) -> None:
    agent = doubtful(scene, "work.engrave_numbered")
    with pytest.raises(RunError, match="undoing it takes its result, which nobody knows"):
        agent.undo(scene.thread)


def test_an_undo_in_doubt_is_not_done_again(scene: Scene) -> None:
    agent = booked(scene, scene.step("a", "work.book", compensation=back("work.engrave", "{{input.name}}")))
    thread = "22222222-3333-4444-8555-666666666666"
    (scene.workspace / "die-a").touch()
    scene.child(
        {"how": "undo", "thread": scene.thread, "into": thread},
        {"how": "invoke", "thread": thread},
        {"how": "invoke", "thread": thread, "resume": "approve"},
        replies=["the answer"],
        dies=True,
    )
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    agent.invoke(None, config)
    assert decide(agent, config, "reject")["status"] == "escalated"
    with pytest.raises(RunError, match=r"nobody knows whether run_.* has undone it"):
        agent.undo(scene.thread)


ONE_TRY: dict[str, Any] = {"planning": {"mode": "always", "replan_budget": 0}}


def test_an_effect_that_was_not_answered_is_in_doubt_and_can_be_undone(scene: Scene) -> None:
    (scene.workspace / "mute-pay").touch()
    agent = booked(scene, scene.step("a", "work.pay"), **ONE_TRY)
    config, card = begin(agent, scene)
    assert "nobody knows whether these happened: a work.pay" in card["goal"]
    assert card["steps"][0]["description"].endswith("IN DOUBT: nobody knows whether it happened")
    assert decide(agent, config)["status"] == "completed"


@pytest.mark.parametrize(
    "refusal", ["refuse-pay", "mute-engrave"], ids=["it was refused", "a blind call that says so"]
)
def test_an_effect_that_has_not_happened_is_not_undone(scene: Scene, refusal: str) -> None:
    (scene.workspace / refusal).touch()
    agent = booked(scene, scene.step("a", f"work.{refusal.split('-')[1]}"), **ONE_TRY)
    with pytest.raises(RunError, match="it has had no effects"):
        agent.undo(scene.thread)


@pytest.mark.parametrize(("how", "keys"), [("mute", 1), ("refuse", 2)])
def test_an_undoing_that_was_not_answered_is_sent_again_under_its_key_and_one_refused_under_another(
    scene: Scene, how: str, keys: int
) -> None:
    agent = booked(scene, scene.step("a", "work.pay"))
    (scene.workspace / f"{how}-refund").touch()
    assert decide(agent, begin(agent, scene)[0])["status"] == "failed"
    (scene.workspace / f"{how}-refund").unlink()
    assert decide(agent, begin(agent, scene)[0])["status"] == "completed"
    sent = [line.split()[-1] for line in scene.done if line.startswith("refund a")]
    assert (len(sent) >= 2, len(set(sent))) == (True, keys)
    (paid,) = (line.split()[-1] for line in scene.done if line.startswith("pay a"))
    assert paid not in sent


def back(capability: str, name: str) -> dict[str, Any]:
    return {"capability": capability, "params": {"name": name}}


def test_a_plan_says_how_its_own_step_is_undone_and_shows_it_at_its_gate(scene: Scene) -> None:
    step = scene.step("a", "work.write", compensation=back("work.unbook", "{{output.text}}"))
    agent = booked(scene, step, approval={"plan": "always"})
    (asked,) = agent.get_state(scene.config).interrupts
    assert asked.value["shown"]["steps"][0]["compensation"] == back("work.unbook", "{{output.text}}")
    scene.decide(agent, "approve")
    config, _ = begin(agent, scene)
    decide(agent, config)
    assert undone(scene) == ["una written 0"]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"compensation": back("work.nothing", "x")}, "there is no capability 'work.nothing'"),
        ({"compensation": back("work.read", "x")}, "work.read changes nothing: it cannot undo anything"),
        ({"compensation": back("work.unbook", "{{steps.a.output.text}}")}, "neither {{input.…}} nor"),
        ({"compensation": back("work.unbook", "{{input.nobody}}")}, "work.write takes no 'nobody'"),
        ({"compensation": back("work.unbook", "{{output.nobody}}")}, "work.write returns no 'nobody'"),
        ({"compensation": {"capability": "work.unbook"}}, "work.unbook: name: field required"),
        (
            {"capability": "work.read", "compensation": back("work.unbook", "x")},
            "work.read changes nothing: it cannot be undone",
        ),
    ],
    ids=["unknown", "pure", "a step", "no such input", "no such output", "arguments missing", "pure step"],
)
def test_a_plan_whose_compensation_could_not_be_called_is_refused(
    scene: Scene, step: dict[str, Any], said: str
) -> None:
    agent = scene.agent(scene.plan({**scene.step("a", "work.write"), **step}))
    output = scene.ask(agent)
    assert output["status"] == "refused"
    assert said in output["answer"]
    assert scene.done == []


@pytest.mark.parametrize(
    "change",
    [{"id": "take_back"}, {"params": {"name": "b", "turn": 1}}, {"capability": "work.write"}],
    ids=["another id", "other arguments", "another call"],
)
def test_an_edit_would_belie_the_record_and_is_refused(scene: Scene, change: dict[str, Any]) -> None:
    agent = booked(scene, scene.step("a", "work.book"))
    config, _ = begin(agent, scene)
    steps = [{"id": "undo_a", "capability": "work.unbook", "params": {"name": "a", "turn": 1}} | change]
    edit = {"type": "edit", "edited_action": {"name": "approve_plan", "args": {"plan": {"steps": steps}}}}
    before = scene.everything()
    with pytest.raises(GateError, match="what undoes a run is not edited; reject it") as refused:
        agent.invoke(Command(resume={"decisions": [edit]}), config)
    assert refused.value.next_step == "it takes: approve, reject"
    assert scene.everything() == before
    assert decide(agent, config)["status"] == "completed"
    assert undone(scene) == ["una 1"]


def test_text_that_would_be_read_as_a_reference_is_not_filled_in(scene: Scene) -> None:
    hidden = scene.step("a", "work.book", params={"name": "{{input.request}}"})
    agent = scene.agent(scene.plan(hidden), "the answer")
    scene.ask(agent, "take {{input.request}} back")
    with pytest.raises(RunError, match="which would be read as a reference"):
        agent.undo(scene.thread)


def test_the_calls_of_an_agent_are_undone_in_reverse(scene: Scene) -> None:
    calls = [scene.calls(("work__book", {"name": name})) for name in ("x", "y")]
    agent = scene.agent(*calls, "done", planning={"mode": "auto"})
    scene.ask(agent, "Book")
    assert scene.done == ["x", "y"]
    config, card = begin(agent, scene)
    assert [step["params"]["name"] for step in card["steps"]] == ["y", "x"]
    assert card["steps"][1]["after"] == [card["steps"][0]["id"]]
    decide(agent, config)
    assert undone(scene) == ["uny 1", "unx 1"]


def test_more_is_undone_than_a_model_may_plan_at_once(scene: Scene) -> None:
    names = [f"n{n}" for n in range(25)]
    calls = scene.calls(*(("work__book", {"name": name}) for name in names))
    budgets = {"run": {"effects": 25, "effects_per_minute": "unlimited"}}
    agent = scene.agent(calls, "done", planning={"mode": "auto"}, budgets=budgets)
    scene.ask(agent, "Book")
    config, card = begin(agent, scene)
    assert len(card["steps"]) == 25
    assert decide(agent, config)["status"] == "completed"
    assert sorted(undone(scene)) == sorted(f"un{name} 1" for name in names)


def test_the_calls_of_a_chain_are_undone_in_reverse_and_what_cannot_be_is_named(scene: Scene) -> None:
    calls = [{"toolName": "work.book", "arguments": {"name": name}} for name in ("x", "y")]
    chain = {"name": "book_both", "description": "Book both", "steps": calls}
    making = scene.step("s1", "tool.create_chain", params=chain)
    agent = booked(scene, making, scene.step("s2", "book_both", "s1", params={}), approval={"plan": "never"})
    assert scene.done == ["x", "y"]
    config, card = begin(agent, scene)
    assert "not undone: s1 tool.create_chain: no compensation is declared" in card["goal"]
    decide(agent, config)
    assert undone(scene) == ["uny 1", "unx 1"]


def test_a_run_that_has_not_ended_is_not_undone(scene: Scene) -> None:
    agent = booked(scene, scene.step("a", "work.book"), scene.step("b", "work.wipe"))
    with pytest.raises(RunError, match="has not ended"):
        agent.undo(scene.thread)


def test_an_undoing_is_neither_undone_nor_forked(scene: Scene) -> None:
    agent = booked(scene, scene.step("a", "work.book"))
    config, _ = begin(agent, scene)
    decide(agent, config)
    thread = str(config["configurable"]["thread_id"])
    with pytest.raises(RunError, match="it is not undone itself"):
        agent.undo(thread)
    with pytest.raises(RunError, match="it is not forked"):
        agent.fork(thread)
    assert undone(scene) == ["una 1"]


def test_a_memory_is_undone_by_forgetting_it(scene: Scene) -> None:
    step = scene.step("a", "memory.write", params={"text": "the office closes at six"})
    agent = booked(scene, step, approval={"plan": "never"})
    config, _ = begin(agent, scene)
    assert len(scene.rows("SELECT text FROM memories")) == 1
    assert decide(agent, config)["status"] == "completed"
    assert scene.rows("SELECT text FROM memories") == []
