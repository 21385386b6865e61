"""A model with tools: for a simple request, and for a step of a plan that names tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from planwright.capabilities.declaration import capability
from planwright.domain.errors import GateError
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

AUTO = {"planning": {"mode": "auto"}}
ASK = "Read, wipe, destroy or fail"  # names the tags of the tools, so that the filter offers them
READ = ("work__read", {"name": "r"})
WIPE = ("work__wipe", {"name": "w"})
ALSO = ("work__wipe", {"name": "also"})


def scripted(*replies: Any) -> ScriptedModel:
    return ScriptedModel(replies=list(replies))


def results(model: ScriptedModel) -> list[str]:
    """List what the model was told of its calls, in the newest conversation."""
    return [message.text for message in model.prompts[-1] if isinstance(message, ToolMessage)]


def test_a_simple_request_is_answered_by_a_model_that_calls_tools(scene: Scene) -> None:
    model = scripted(scene.calls(READ), "It says r.")
    output = scene.ask(scene.agent(model=model, **AUTO), ASK)
    assert (output["status"], output["answer"]) == ("completed", "It says r.")
    assert output["messages"][-1].text == "It says r."
    assert scene.done == ["r"]


def test_the_calls_of_a_reply_are_answered_in_their_order(scene: Scene) -> None:
    names = [f"r{number}" for number in range(5)]
    model = scripted(scene.calls(*(("work__read", {"name": name}) for name in names)), "done")
    scene.ask(scene.agent(model=model, **AUTO), ASK)
    assert [name in text for name, text in zip(names, results(model), strict=True)] == [True] * 5
    assert sorted(scene.done) == names


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("work__reed", {"name": "x"}), "there is no tool"),
        (("work__read", {}), "bad arguments"),
        (("work__read", {"name": "x", "extra": 1}), "bad arguments"),
        (("files__read", {"path": "../outside"}), "outside"),
        (("work__fail", {"name": "x"}), "is broken"),
    ],
    ids=["unknown", "missing", "extra", "not permitted", "failing"],
)
def test_a_call_that_fails_is_told_to_the_model_and_ends_nothing(
    scene: Scene, call: tuple[str, dict[str, Any]], said: str
) -> None:
    model = scripted(scene.calls(call, READ), "done")
    output = scene.ask(scene.agent(model=model, **AUTO), ASK)
    assert output["status"] == "completed"
    assert said in results(model)[0]
    assert "r, reading 1" in results(model)[1]


def test_no_call_is_made_before_every_gate_of_its_reply_is_decided(scene: Scene) -> None:
    model = scripted(scene.calls(READ, WIPE, ALSO), "done")
    agent = scene.agent(model=model, **AUTO)
    scene.ask(agent, ASK)
    assert (list(scene.waiting(agent)), scene.done) == (["main.1.1, main.1.2"], [])
    with pytest.raises(GateError, match="asks about 2 calls"):
        scene.answer(agent, {"decisions": [{"type": "approve"}]})
    assert scene.done == []
    no = {"type": "reject", "message": "not that"}
    output = scene.answer(agent, {"decisions": [{"type": "approve"}, no]})
    assert output["status"] == "completed"
    assert sorted(scene.done) == ["r", "w"]
    assert "not that" in results(model)[2]


def test_a_gate_of_a_call_is_answered_in_another_process(scene: Scene) -> None:
    settings = {"planning": {"mode": "auto"}}
    replies = [scene.calls(WIPE), "It is wiped."]
    scene.child(scene.entry(message=ASK), replies=replies, settings=settings)
    approve = scene.entry(resume={"decisions": [{"type": "approve"}]})
    report = scene.child(approve, replies=["It is wiped."], settings=settings)
    assert report["outputs"][0]["answer"] == "It is wiped."
    assert scene.done == ["w"]


def test_a_call_that_died_in_the_middle_is_made_again_under_the_same_key(scene: Scene) -> None:
    settings = {"planning": {"mode": "auto"}}
    agent = scene.agent(scene.calls(WIPE), "never asked", **settings)
    scene.ask(agent, ASK)
    (scene.workspace / "die-w").touch()
    approve = scene.entry(resume={"decisions": [{"type": "approve"}]})
    scene.child(approve, replies=["never asked"], settings=settings, dies=True)
    assert [row["status"] for row in scene.rows("SELECT status FROM effects")] == ["intent"]
    (key,) = (row["key"] for row in scene.rows("SELECT key FROM effects"))
    output = scene.recover(scene.agent("wiped after all", **settings))
    assert (output["status"], output["answer"]) == ("completed", "wiped after all")
    assert scene.rows("SELECT key, status FROM effects") == [{"key": key, "status": "done"}]


def test_a_blind_call_that_died_in_the_middle_is_put_before_a_person_and_not_repeated(scene: Scene) -> None:
    settings = {"planning": {"mode": "auto"}}
    agent = scene.agent(scene.calls(("work__destroy", {"name": "d"})), "never asked", **settings)
    scene.ask(agent, ASK)
    (scene.workspace / "die-d").touch()
    approve = scene.entry(resume={"decisions": [{"type": "approve"}]})
    scene.child(approve, replies=["never asked"], settings=settings, dies=True)
    model = scripted("nobody knows")
    later = scene.agent(model=model, **settings)
    scene.recover(later)
    (asked,) = later.get_state(scene.config).interrupts
    assert (asked.value["kind"], len(asked.value["shown"]["effects"])) == ("escalation", 1)
    assert (scene.done, model.prompts) == (["began d"], [])


def test_the_same_call_again_and_again_is_steered_and_then_refused(scene: Scene) -> None:
    model = scripted(*[scene.calls(READ)] * 6, "I give up.")
    output = scene.ask(scene.agent(model=model, **AUTO), ASK)
    assert output["answer"] == "I give up."
    assert scene.done == ["r"] * 4
    assert sum("loop guard" in message.text for message in model.prompts[-1]) >= 2
    trips = [event["data"] for event in scene.journal() if event["type"] == "loop_guard"]
    assert [trip["severity"] for trip in trips] == ["warning", "critical"]


def test_the_turns_of_a_loop_are_limited_and_told(scene: Scene) -> None:
    replies = [scene.calls(("work__read", {"name": f"r{turn}"})) for turn in range(20)]
    agent = scene.agent(*replies, execution={"max_tool_iterations": 12}, **AUTO)
    output = scene.ask(agent, ASK)
    assert output["status"] == "failed"
    assert "max_tool_iterations" in output["answer"]
    assert len(scene.done) == 12
    assert [e["data"]["turn"] for e in scene.journal() if e["type"] == "progress"] == [10]


def test_a_budget_of_tokens_ends_a_loop(scene: Scene) -> None:
    replies = [scene.calls(("work__read", {"name": f"r{turn}"})) for turn in range(20)]
    output = scene.ask(scene.agent(*replies, budgets={"run": {"tokens": 5000}}, **AUTO), ASK)
    assert output["status"] == "budget_exceeded"
    assert "budgets.run.tokens" in output["answer"]


def test_a_reply_with_malformed_calls_leaves_a_history_that_is_valid(scene: Scene) -> None:
    broken = {"name": "work__read", "args": '{"name": ', "id": None, "error": None}
    reply = {**scene.calls(READ), "invalid_tool_calls": [{**broken, "type": "invalid_tool_call"}]}
    model = scripted(reply, "done")
    scene.ask(scene.agent(model=model, **AUTO), ASK)
    said = next(m for m in model.prompts[-1] if isinstance(m, AIMessage))
    answered = [m.tool_call_id for m in model.prompts[-1] if isinstance(m, ToolMessage)]
    assert [call["id"] for call in said.tool_calls] == answered
    assert "no JSON object" in results(model)[1]


def test_a_follow_up_sees_the_conversation(scene: Scene) -> None:
    model = scripted("first answer", "second answer")
    agent = scene.agent(model=model, **AUTO)
    scene.ask(agent, "first question")
    scene.ask(agent, "second question")
    assert [m.text for m in model.prompts[-1]][1:] == ["first question", "first answer", "second question"]


def agentic(scene: Scene, *after: str, tools: tuple[str, ...] = ("work.read", "work.wipe")) -> dict[str, Any]:
    """Write a step that an agent does with some tools."""
    return {"id": "look", "description": "Find out", "tool_hints": list(tools), "depends_on": list(after)}


def test_a_step_of_a_plan_is_done_by_an_agent_and_its_words_are_its_output(scene: Scene) -> None:
    after = scene.step("end", "work.write", "look")
    after["params"]["text"] = "{{steps.look.output.text}}"
    plan = scene.plan(agentic(scene, tools=("work.read",)), after)
    agent = scene.agent(plan, scene.calls(READ), "found it", "the answer", approval={"plan": "never"})
    scene.ask(agent)
    (shown,) = agent.get_state(scene.config).interrupts
    assert shown.value["shown"]["args"] == {"name": "end", "text": "found it"}
    assert scene.done == ["r"]
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["r", "end:found it"]


def test_a_gate_inside_an_agentic_step_parks_what_waits_for_it_and_nothing_else(scene: Scene) -> None:
    plan = scene.plan(agentic(scene), scene.step("end", "work.read", "look"), scene.step("free", "work.read"))
    agent = scene.agent(plan, scene.calls(WIPE), "wiped", "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    assert scene.done == ["free"]
    output = scene.decide(agent, "approve")
    assert output["status"] == "completed"
    assert scene.done == ["free", "w", "end"]


def test_an_agentic_step_can_use_nothing_but_the_tools_that_were_approved(scene: Scene) -> None:
    plan = scene.plan(agentic(scene, tools=("work.read",)))
    model = scripted(plan, scene.calls(WIPE), "no way", "the answer")
    scene.ask(scene.agent(model=model))
    assert scene.done == []
    told = [m.text for call in model.prompts for m in call if isinstance(m, ToolMessage)]
    assert any("there is no tool work__wipe" in text for text in told)


@pytest.mark.parametrize(
    ("tools", "code"),
    [(("work.reed",), "unknown_capability"), (("respond",), "not_permitted")],
)
def test_the_tools_of_an_agentic_step_are_verified(scene: Scene, tools: tuple[str, ...], code: str) -> None:
    agent = scene.agent(scene.plan(agentic(scene, tools=tools)))
    output = scene.ask(agent)
    assert output["status"] == "refused"
    assert code in output["answer"]


@pytest.mark.parametrize(
    ("vote", "planned"), [("Yes", True), ("no.", False), ("hmm", False), ({"content": ""}, False)]
)
def test_the_model_may_decide_whether_to_plan(scene: Scene, vote: Any, planned: bool) -> None:
    plan = scene.plan(scene.step("s1", "work.read"))
    model = scripted(vote, plan if planned else scene.calls(READ), "the answer")
    output = scene.ask(scene.agent(model=model, planning={"mode": "llm_decides"}), ASK)
    assert output["answer"] == "the answer"
    assert (output.get("plan") is not None) is planned
    assert model.prompts[0][0].text.startswith("Role: planning")


def long_file(scene: Scene) -> str:
    """Write a file that is shortened when it is read, and return the reference of the whole of it."""
    (scene.workspace / "long.md").write_text("\n".join(f"line {n}" for n in range(200)), "utf-8")
    agent = limited(scene, scripted(scene.calls(LONG), "read"))
    scene.ask(agent, "Read the file")
    (row,) = scene.rows("SELECT json_extract(result, '$.blob') AS blob FROM steps")
    return str(row["blob"])[:12]


def unfenced(text: str) -> str:
    """Read what stands in a fence."""
    opened, body, closed = text.split("\n", 2) if text.count("\n") > 1 else (text, "", "")
    assert closed == opened.replace("<", "</"), text
    return body


LONG = ("files__read", {"path": "long.md"})


def limited(scene: Scene, model: ScriptedModel) -> Agent:
    """Build an agent whose results are shortened early."""
    toml = scene.workspace / "planwright.toml"
    if "result_limit" not in toml.read_text("utf-8"):
        toml.write_text(toml.read_text("utf-8") + "[tools]\nresult_limit = 1000\n", "utf-8")
    return scene.agent(model=model, **AUTO)


def test_a_shortened_result_can_be_read_whole_by_its_reference(scene: Scene) -> None:
    ref = long_file(scene)
    scene.thread = "another"
    more = scene.calls(("results__read", {"ref": ref, "start": 1200}))
    model = scripted(scene.calls(LONG), more, "the answer")
    assert scene.ask(limited(scene, model), "Read the file")["answer"] == "the answer"
    first, second = results(model)
    assert json.loads(unfenced(first))["...whole"] == f"results__read ref={ref}"
    piece = json.loads(unfenced(second))
    assert "line 150" not in first
    assert "line 150" in piece["text"]
    assert piece["next"] == 1200 + len(piece["text"]) < piece["total"]


@pytest.mark.parametrize("ref", ["", "000000000000", "%", "../../planwright.db"])
def test_no_result_of_another_run_can_be_read(scene: Scene, ref: str) -> None:
    elsewhere = long_file(scene)
    scene.thread = "another"
    (scene.workspace / "other.md").write_text("x " * 2000, "utf-8")
    calls = scene.calls(("results__read", {"ref": ref or elsewhere}))
    model = scripted(scene.calls(("files__read", {"path": "other.md"})), calls, "the answer")
    scene.ask(limited(scene, model), "Read the file")
    assert "no result of this thread is" in results(model)[1]


@pytest.mark.parametrize(
    ("message", "reads", "status"),
    [("What does it say?", 1, "completed"), ("What does it say?", 0, "rejected"), ("Send it", 1, "rejected")],
)
def test_a_question_that_is_answered_does_not_end_as_the_effect_that_was_refused_in_it(
    scene: Scene, message: str, reads: int, status: str
) -> None:
    def deliver(to: str) -> str:
        """Deliver it."""
        raise AssertionError(to)

    reading = [scene.calls(("work__read", {"name": "it"}))] * reads
    delivering = scene.calls(("deliver", {"to": "elsewhere"}))
    capabilities = [capability("deliver")(deliver)]
    agent = scene.agent(*reading, delivering, "It says hello.", capabilities=capabilities, **AUTO)
    scene.ask(agent, message)
    output = scene.decide(agent, "reject", "not that")
    assert (output["status"], output["answer"]) == (status, "It says hello.")
