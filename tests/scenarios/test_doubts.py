"""Effects of which nobody knows whether they happened, decided one by one: each happens once in the end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import ToolMessage

from planwright.domain.errors import GateError
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

NAMES = ("p0", "p1", "p2", "p3")
ASK = "Post things; delegate to agents; make a chain"
AUTO = {"planning": {"mode": "auto"}}
Play = Callable[["Scene", int], Agent]


@pytest.fixture(autouse=True)
def every_tool(scene: Scene) -> None:
    with (scene.workspace / "planwright.toml").open("a") as file:
        file.write("[tools]\ntop_k = 60\n")


def lose(scene: Scene, happened: int, names: tuple[str, ...] = NAMES) -> None:
    """Have the answers to all calls be lost, of the first ones after they happened."""
    for number, name in enumerate(names):
        (scene.workspace / f"lose-{'after' if number < happened else 'before'}-{name}").touch()


def posts(scene: Scene, names: tuple[str, ...]) -> dict[str, Any]:
    return scene.calls(*(("work__post", {"name": name}) for name in names))


def replies(scene: Scene, happened: int) -> list[dict[str, Any]]:
    """What a model says that posts everything, and again what did not happen, with what stood behind it."""
    return [posts(scene, NAMES), *(posts(scene, NAMES[n:]) for n in range(happened, len(NAMES)))]


def agent(scene: Scene, *said: Any, **options: Any) -> Agent:
    return scene.agent(model=ScriptedModel(replies=list(said)), **options)


def asked(scene: Scene, agent: Agent) -> dict[str, Any]:
    (found,) = agent.get_state(scene.config).interrupts
    value: dict[str, Any] = found.value
    return value


def truth(scene: Scene, card: dict[str, Any]) -> list[dict[str, Any]]:
    """What somebody says who has looked at the receiver; keys are shortened as they are shown."""
    answers: list[dict[str, Any]] = []
    for effect in card["effects"]:
        name = effect["args"]["name"]
        answers.append({"key": effect["key"][:12], "happened": name in scene.done})
        if answers[-1]["happened"]:
            answers[-1]["result"] = {"text": f"{name} seen there", "turn": 1}
    return answers


def to_the_end(scene: Scene, agent: Agent) -> list[int]:
    """Answer every gate truthfully; returns how many effects were in doubt at each that asked for that."""
    counts: list[int] = []
    for _ in range(20):
        interrupts = agent.get_state(scene.config).interrupts
        if not interrupts:
            return counts
        value = interrupts[0].value
        decision: dict[str, Any] = {"type": "approve"}
        if value["kind"] == "escalation":
            counts.append(len(value["shown"]["effects"]))
            decision = {"type": "respond", "effects": truth(scene, value["shown"])}
        scene.answer(agent, {"decisions": [{**decision, "gate_id": value["gate_id"]}]})
    raise AssertionError("it never ended")


def in_plan(scene: Scene, happened: int) -> Agent:
    steps = [scene.step(name, "work.post") for name in NAMES]
    return agent(scene, scene.plan(*steps), "the answer")


def in_loop(scene: Scene, happened: int) -> Agent:
    return agent(scene, *replies(scene, happened), "the answer", **AUTO)


def in_sub_agent(scene: Scene, happened: int) -> Agent:
    delegate = scene.calls(("agent__delegate", {"task": "Post", "tools": ["work.post"]}))
    return agent(scene, delegate, *replies(scene, happened), "posted", "the answer", **AUTO)


def in_step(scene: Scene, happened: int) -> Agent:
    step = {"id": "s1", "description": "Post it all", "tool_hints": ["work.post"]}
    return agent(scene, scene.plan(step), *replies(scene, happened), "posted", "the answer")


def chain() -> dict[str, Any]:
    steps = [{"toolName": "work.post", "arguments": {"name": name}} for name in NAMES]
    return {"name": "post_all", "description": "Post in a row", "steps": steps}


def in_chain(scene: Scene, happened: int) -> Agent:
    made = scene.calls(("tool__create_chain", chain()))
    return agent(scene, made, scene.calls(("post_all", {})), "the answer", **AUTO)


def in_planned_chain(scene: Scene, happened: int) -> Agent:
    made = scene.step("s1", "tool.create_chain", params=chain())
    return agent(scene, scene.plan(made, scene.step("s2", "post_all", "s1", params={})), "the answer")


SHAPES: list[tuple[Play, list[int]]] = [
    (in_plan, [4]),
    (in_loop, [1] * 4),
    (in_sub_agent, [1] * 4),
    (in_step, [1] * 4),
    (in_chain, [1] * 4),
    (in_planned_chain, [1] * 4),
]


def test_a_call_that_was_in_doubt_did_not_read_its_own_answer(scene: Scene) -> None:
    """Its plan is verified anew, when something of others was read: by the call itself, after it was made."""
    lose(scene, 1, ("p0",))
    step = scene.step("p0", "work.post_abroad")
    playing = agent(scene, scene.plan(step), "the answer", approval={"plan": "never"})
    scene.ask(playing, ASK)
    assert to_the_end(scene, playing) == [1]
    verdict = playing.get_state(scene.config).values["verdict"]
    assert [score.safety for score in verdict.step_scores] == [1.0]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("happened", range(len(NAMES) + 1))
@pytest.mark.parametrize(("play", "gates"), SHAPES, ids=[play.__name__ for play, _ in SHAPES])
def test_a_truthful_person_ends_with_each_effect_once(
    scene: Scene, play: Play, gates: list[int], happened: int
) -> None:
    lose(scene, happened)
    playing = play(scene, happened)
    scene.ask(playing, ASK)
    assert to_the_end(scene, playing) == gates
    assert sorted(scene.done) == list(NAMES)
    output = playing.get_state(scene.config).values
    assert (output["status"], output["answer"]) == ("completed", "the answer")
    (open_,) = scene.rows("SELECT count(*) AS n FROM effects WHERE status IN ('in_doubt', 'intent')")
    assert open_["n"] == 0
    codes = scene.rows("SELECT code FROM effects WHERE code = 'did_not_happen'")
    assert len(codes) == len(NAMES) - happened


def doubtful(scene: Scene, happened: int = 2, play: Play = in_plan) -> tuple[Agent, dict[str, Any]]:
    lose(scene, happened)
    playing = play(scene, happened)
    scene.ask(playing, ASK)
    return playing, asked(scene, playing)


def test_a_card_shows_every_effect_with_its_arguments(scene: Scene) -> None:
    _, value = doubtful(scene)
    effects = value["shown"]["effects"]
    begun = sorted((effect["args"] for effect in effects), key=str)  # side by side: any may be the first
    assert begun == [{"name": name, "text": ""} for name in NAMES]
    assert {effect["capability"] for effect in effects} == {"work.post"}
    assert all("the line went dead" in effect["why"] for effect in effects)
    assert sorted(effect["step_id"] for effect in effects) == list(NAMES)
    (request,) = value["action_requests"]
    assert request["args"]["effects"] == effects
    assert all(effect["key"][:12] in request["description"] for effect in effects)
    assert value["review_configs"][0]["allowed_decisions"] == ["respond", "reject"]


WRONG: list[tuple[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]], str]] = [
    ("one left out", lambda said: said[:3], "does not say whether these happened: work.post"),
    ("none", lambda said: [], "says nothing"),
    ("a stranger", lambda said: [*said, {"key": "f" * 64, "happened": True}], "fits no effect"),
    ("one twice", lambda said: [*said, said[0]], "is decided twice"),
    ("no word", lambda said: [{**said[0], "happened": "yes"}, *said[1:]], "valid boolean"),
    ("too short a key", lambda said: [{**said[0], "key": "a"}, *said[1:]], "at least 4"),
]


@pytest.mark.parametrize(("case", "change", "why"), WRONG, ids=[case for case, _, _ in WRONG])
def test_an_answer_that_does_not_fit_changes_nothing(
    scene: Scene, case: str, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], why: str
) -> None:
    playing, value = doubtful(scene)
    said, before = truth(scene, value["shown"]), scene.everything()
    with pytest.raises(GateError, match=why):
        scene.answer(playing, {"decisions": [{"type": "respond", "effects": change(said)}]})
    assert scene.everything() == before
    assert to_the_end(scene, playing) == [4]


def test_one_answer_for_several_effects_is_refused_with_the_command(scene: Scene) -> None:
    playing, _ = doubtful(scene)
    before = scene.everything()
    with pytest.raises(GateError, match="4 effects are in doubt, one by one") as refused:
        scene.decide(playing, "approve")
    assert "--happened KEY" in refused.value.next_step
    with pytest.raises(GateError, match="does not say whether these happened"):
        scene.decide(playing, "respond", "it arrived")
    assert scene.everything() == before


def told(model: ScriptedModel) -> list[str]:
    return [message.text for message in model.prompts[-1] if isinstance(message, ToolMessage)]


def one(scene: Scene, *said: Any, when: str = "before") -> tuple[Agent, ScriptedModel]:
    """A loop whose one call is in doubt."""
    (scene.workspace / f"lose-{when}-p").touch()
    model = ScriptedModel(replies=[scene.calls(("work__post", {"name": "p"})), *said])
    playing = scene.agent(model=model, **AUTO)
    scene.ask(playing, ASK)
    return playing, model


def test_the_model_is_told_what_the_person_said_and_nothing_before(scene: Scene) -> None:
    playing, model = one(scene, "the answer", when="after")
    assert len(model.prompts) == 1
    scene.decide(playing, "respond", json.dumps({"text": "seen there"}))
    (said,) = told(model)
    assert "it happened (confirmed by" in said
    assert "seen there" in said
    assert scene.done == ["p"]


def test_words_of_one_effect_that_did_not_happen_have_the_model_call_again(scene: Scene) -> None:
    playing, model = one(scene, scene.calls(("work__post", {"name": "p"})), "the answer")
    output = scene.decide(playing, "approve")
    assert "it did not happen" in told(model)[0]
    assert (output["status"], scene.done) == ("completed", ["p"])


def left(scene: Scene) -> tuple[Agent, ScriptedModel, dict[str, Any]]:
    """A loop whose person does not know either; its model tries something else, and the same again."""
    again = scene.calls(("work__post", {"name": "other"}), ("work__post", {"name": "p"}))
    playing, model = one(scene, again, "the answer", "a later answer")
    return playing, model, scene.decide(playing, "reject", "no idea")


def test_what_a_person_leaves_open_ends_the_run_as_escalated_and_is_not_repeated(scene: Scene) -> None:
    _, model, output = left(scene)
    assert output["status"] == "escalated"
    assert "Nobody knows whether a call of this happened" in output["answer"]
    first, other, again = told(model)
    assert "nobody knows whether it happened" in first
    assert "nobody knows whether work.post has happened already" in again
    assert "other posted" in other
    assert scene.done == ["other"]
    assert [row["status"] for row in scene.rows("SELECT status FROM effects ORDER BY rowid")] == [
        "in_doubt",
        "done",
    ]


def test_a_later_run_of_the_thread_is_refused_the_same_call_until_it_is_decided(scene: Scene) -> None:
    playing, _, _ = left(scene)
    playing.close()
    scene.agents.remove(playing)
    again = scene.calls(("work__post", {"name": "p"}))
    model = ScriptedModel(replies=[again, "not done", again, "done"])
    later = scene.agent(model=model, **AUTO)
    scene.ask(later, ASK)
    assert "nobody knows whether work.post has happened already" in told(model)[-1]
    assert "--happened KEY" in told(model)[-1]
    assert scene.done == ["other"]
    (run,) = scene.rows("SELECT run_id FROM runs WHERE status = 'escalated'")
    ((effect,)) = [scene.rows("SELECT key FROM effects WHERE status = 'in_doubt'")[0]]
    later.decide_effects(run["run_id"], [{"key": effect["key"][:8], "happened": False}])
    scene.ask(later, ASK)
    assert scene.done == ["other", "p"]


def test_a_plan_of_a_later_run_with_the_same_call_is_refused(scene: Scene) -> None:
    left(scene)
    plan = scene.plan(scene.step("s1", "work.post", params={"name": "p"}))
    output = scene.ask(agent(scene, *[plan] * 4), "Post it")
    assert output["status"] == "refused"
    assert "nobody knows whether work.post has happened already" in output["answer"]
    assert scene.done == ["other"]


def test_the_ledger_refuses_a_call_whose_arguments_were_known_too_late(scene: Scene) -> None:
    name = "x, reading 1"
    (scene.workspace / f"lose-before-{name}").touch()
    playing = agent(scene, scene.calls(("work__post", {"name": name})), "the answer", **AUTO)
    scene.ask(playing, ASK)
    scene.decide(playing, "reject")
    read = scene.step("s1", "work.read", params={"name": "x"})
    post = scene.step("s2", "work.post", "s1", params={"name": "{{steps.s1.output.text}}"})
    plan = scene.plan(read, post)  # the first time as the task, which a conversation needs
    scene.ask(agent(scene, plan, plan, "the answer"), "Post it")
    (row,) = scene.rows("SELECT result FROM steps WHERE step_id = 's2'")
    assert json.loads(row["result"])["code"] == "forbidden"
    assert scene.done == ["x"]


def test_a_step_of_an_agent_that_leaves_a_doubt_fails_and_is_not_asked_about_twice(scene: Scene) -> None:
    (scene.workspace / "lose-before-p").touch()
    step = {"id": "s1", "description": "Post it", "tool_hints": ["work.post"]}
    plan = scene.plan(step, scene.step("s2", "work.read", "s1"))
    playing = agent(scene, plan, scene.calls(("work__post", {"name": "p"})), "posted?", "the answer")
    scene.ask(playing)
    output = scene.decide(playing, "reject")
    assert (output["status"], scene.done) == ("escalated", [])
    steps = {row["step_id"]: json.loads(row["result"]) for row in scene.rows("SELECT * FROM steps")}
    assert (steps["s1"]["status"], steps["s1"]["code"], steps["s2"]["status"]) == (
        "failed",
        "undecided",
        "skipped",
    )


def test_an_agent_below_that_leaves_a_doubt_ends_the_whole_run_as_escalated(scene: Scene) -> None:
    (scene.workspace / "lose-before-p").touch()
    delegate = scene.calls(("agent__delegate", {"task": "Post", "tools": ["work.post"]}))
    said = [delegate, scene.calls(("work__post", {"name": "p"})), "posted?", "all is well"]
    playing = agent(scene, *said, **AUTO)
    scene.ask(playing, ASK)
    output = scene.decide(playing, "reject")
    assert output["status"] == "escalated"
    assert output["answer"].startswith("all is well\n(Nobody knows")


def test_a_chain_whose_part_is_left_open_stops_there_and_its_call_is_refused(scene: Scene) -> None:
    lose(scene, 0, NAMES[1:2])
    made, again = scene.calls(("tool__create_chain", chain())), scene.calls(("post_all", {}))
    model = ScriptedModel(replies=[made, again, again, "the answer"])
    playing = scene.agent(model=model, **AUTO)
    scene.ask(playing, ASK)
    output = scene.decide(playing, "reject")
    assert (output["status"], scene.done) == ("escalated", ["p0"])
    assert "nobody knows whether it happened" in told(model)[1]
    assert "nobody knows whether work.post has happened already" in told(model)[2]


KILLED = [("work__write", "n", 1, 0), ("work__transfer", "n", 1, 0), ("work__post", "n", 0, 1)]


@pytest.mark.parametrize(("tool", "name", "times", "gates"), KILLED, ids=["idempotent", "queryable", "blind"])
def test_a_call_of_a_loop_whose_process_died_goes_on_as_its_class_says(
    scene: Scene, tool: str, name: str, times: int, gates: int
) -> None:
    (scene.workspace / f"die-{name}").touch()
    first = scene.calls((tool, {"name": name}), ("work__read", {"name": "r"}))
    scene.child(scene.entry(message=ASK), replies=[first], settings=AUTO, dies=True)
    model = ScriptedModel(replies=["the answer"])
    later = scene.agent(model=model, **AUTO)
    scene.recover(later)
    assert scene.done.count(name) == times
    assert len(later.get_state(scene.config).interrupts) == gates
    assert len(model.prompts) == 1 - gates
    assert len(to_the_end(scene, later)) == gates
    assert len({row["key"] for row in scene.rows("SELECT key FROM effects")}) == 1


def test_the_answer_is_kept_over_a_crash_right_after_it(scene: Scene) -> None:
    lose(scene, 2)
    playing = in_loop(scene, 2)
    scene.ask(playing, ASK)
    said = {"type": "respond", "effects": truth(scene, asked(scene, playing)["shown"])}
    playing.close()
    scene.agents.remove(playing)
    scene.child(scene.entry(resume=said), replies=["never"], settings=AUTO, die_at="decision")
    later = agent(scene, *replies(scene, 2)[1:], "the answer", **AUTO)
    scene.recover(later)
    assert to_the_end(scene, later) == [1] * 3
    assert scene.done == list(NAMES)


def test_a_decision_is_on_the_gate_in_the_ledger_and_in_the_journal(scene: Scene) -> None:
    playing, value = doubtful(scene, happened=1)
    effects = truth(scene, value["shown"])
    scene.answer(playing, {"type": "respond", "effects": effects, "decided_by": "kim"})
    happened = [effect["happened"] for effect in effects]  # steps side by side: in any order
    assert sorted(happened) == [False, False, False, True]
    (gate,) = scene.rows("SELECT effects FROM gates WHERE kind = 'escalation'")
    assert [entry["happened"] for entry in json.loads(gate["effects"])] == happened
    rows = scene.rows("SELECT status, error, code FROM effects WHERE error <> '' ORDER BY status LIMIT 2")
    assert rows == [
        {"status": "done", "error": "confirmed by kim", "code": ""},
        {"status": "failed", "error": "it did not happen, says kim", "code": "did_not_happen"},
    ]
    told_ = [e["data"] for e in scene.journal() if e["type"] == "approval_resolved"]
    assert [entry["happened"] for entry in told_[0]["effects"]] == happened


def test_a_run_that_is_cancelled_asks_nobody(scene: Scene) -> None:
    playing, _ = doubtful(scene, play=in_loop)
    assert playing.cancel(scene.thread, "kim")
    output = scene.recover(playing)
    assert (output["status"], scene.done) == ("cancelled", ["p0"])
    assert [row["status"] for row in scene.rows("SELECT status FROM effects")] == ["in_doubt"]
