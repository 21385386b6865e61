"""An agent that gives a part of its task to another: fewer tools, a budget of its own, one level less."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import ToolMessage

from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

ASK = "Delegate to agents: read, write, send, wipe, destroy"
READ = ("work__read", {"name": "r"})
WRITE = ("work__write", {"name": "w"})


def delegate(task: str = "Read r", *tools: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "agent__delegate", {"task": task, "tools": list(tools or ("work.read",)), **more}


def scripted(*replies: Any) -> ScriptedModel:
    return ScriptedModel(replies=list(replies))


def play(scene: Scene, model: ScriptedModel, **options: Any) -> Agent:
    return scene.agent(model=model, planning={"mode": "auto"}, **options)


def results(model: ScriptedModel) -> list[str]:
    """What the model was told of its calls, the last time it was asked, without the fences."""
    told = [message.text for message in model.prompts[-1] if isinstance(message, ToolMessage)]
    return [re.sub(r"</?untrusted-\w+>\n?|\n(?=</untrusted-)", "", text) for text in told]


def test_a_part_is_done_in_a_lane_of_its_own(scene: Scene) -> None:
    model = scripted(scene.calls(delegate(expected="its text")), scene.calls(READ), "r is read", "done")
    assert scene.ask(play(scene, model), ASK)["answer"] == "done"
    assert scene.done == ["r"]
    assert results(model) == ['{"text":"r is read"}']
    child = [message.text for message in model.prompts[1]]
    assert "Read r" in child[1]
    assert "its text" in child[1]
    assert ASK not in " ".join(child)


def test_two_parts_are_done_at_the_same_time_and_come_back_in_order(scene: Scene) -> None:
    both = scene.calls(delegate("First", "work.read"), delegate("Second", "work.read"))
    model = scripted(both, "one", "two", "done")
    assert scene.ask(play(scene, model), ASK)["answer"] == "done"
    said = {message[1].text.split("<task>")[1].split("</task>")[0] for message in model.prompts[1:3]}
    assert len(said) == 2
    assert len(results(model)) == 2


def test_an_agent_has_only_the_tools_it_was_given(scene: Scene) -> None:
    model = scripted(scene.calls(delegate()), scene.calls(WRITE), "I could not", "done")
    assert scene.ask(play(scene, model), ASK)["answer"] == "done"
    assert scene.done == []
    assert "there is no tool work__write" in str(model.prompts[2][-1].content)


@pytest.mark.parametrize("tool", ["files.delete", "work.nothing", "respond", "clarify"])
def test_nobody_can_give_what_they_do_not_have(scene: Scene, tool: str) -> None:
    model = scripted(scene.calls(delegate("Do it", "work.read", tool)), "done")
    assert scene.ask(play(scene, model), ASK)["answer"] == "done"
    assert f"what you do not have: {tool}" in results(model)[0]
    assert scene.done == []


def test_an_agent_of_a_step_can_give_only_the_tools_of_the_step(scene: Scene) -> None:
    step = {"id": "s1", "description": "Find out", "tool_hints": ["work.read", "agent.delegate"]}
    wider = scene.calls(delegate("Write", "work.write"))
    model = scripted(scene.plan(step), wider, "could not", "the answer")
    agent = scene.agent(model=model)
    scene.ask(agent)
    assert scene.done == []
    assert "what you do not have: work.write" in str(model.prompts[2][-1].content)


def test_what_an_agent_calls_still_asks_a_person(scene: Scene) -> None:
    destroy = ("work__destroy", {"name": "d"})
    model = scripted(scene.calls(delegate("Destroy d", "work.destroy")), scene.calls(destroy), "gone", "done")
    agent = play(scene, model)
    scene.ask(agent, ASK)
    assert scene.done == []
    (asked,) = agent.get_state(scene.config).interrupts
    assert asked.value["shown"]["capability"] == "work.destroy"
    assert scene.decide(agent, "approve")["answer"] == "done"
    assert scene.done == ["d"]


def test_an_agent_goes_on_in_another_process(scene: Scene) -> None:
    destroy = ("work__destroy", {"name": "d"})
    first = scripted(scene.calls(delegate("Destroy d", "work.destroy")), scene.calls(READ, destroy))
    agent = play(scene, first)
    scene.ask(agent, ASK)
    agent.close()
    scene.agents.remove(agent)
    later = scripted("gone", "done")
    assert scene.decide(play(scene, later), "approve")["answer"] == "done"
    assert scene.done == ["d"]


def test_agents_go_three_levels_deep_and_no_further(scene: Scene) -> None:
    deeper = scene.calls(delegate("Deeper", "work.read", "agent.delegate"))
    model = scripted(deeper, deeper, deeper, deeper, "level 3", "level 2", "level 1", "done")
    assert scene.ask(play(scene, model), ASK)["answer"] == "done"
    assert "there is no tool agent__delegate" in str(model.prompts[4][-1].content)
    assert len(model.prompts) == 8


def test_a_budget_of_calls_is_kept_and_the_parent_goes_on(scene: Scene) -> None:
    reads = scene.calls(*(("work__read", {"name": f"r{n}"}) for n in range(4)))
    given = scene.calls(delegate(tool_calls=2))
    model = scripted(given, reads, "two of four", scene.calls(READ), "done")
    assert scene.ask(play(scene, model), ASK)["answer"] == "done"
    assert len(scene.done) == 3
    refused = [message.text for message in model.prompts[2] if isinstance(message, ToolMessage)]
    assert sum("the budget of this agent, 2 calls, is spent" in text for text in refused) == 2


def test_a_budget_of_tokens_ends_the_agent_not_the_run(scene: Scene) -> None:
    model = scripted(scene.calls(delegate(tokens=10)), "done")
    assert scene.ask(play(scene, model), ASK)["answer"] == "done"
    assert results(model)[0].startswith("lane.tokens: the budget of this agent, 10 tokens")


def test_a_part_gets_no_more_than_is_left_of_the_whole(scene: Scene) -> None:
    reads = scene.calls(*(("work__read", {"name": f"r{n}"}) for n in range(4)))
    model = scripted(scene.calls(READ), scene.calls(delegate(tool_calls=50)), reads, "some", "done")
    scene.ask(play(scene, model, budgets={"run": {"tool_calls": 3}}), ASK)
    assert len(scene.done) == 3


def test_a_grandchild_spends_the_budget_of_its_parent(scene: Scene) -> None:
    reads = scene.calls(*(("work__read", {"name": f"r{n}"}) for n in range(3)))
    outer = scene.calls(delegate("Outer", "work.read", "agent.delegate", tool_calls=2))
    model = scripted(
        outer, scene.calls(delegate("Inner")), reads, "inner", scene.calls(READ), "outer", "done"
    )
    assert scene.ask(play(scene, model), ASK)["answer"] == "done"
    assert len(scene.done) == 2


def test_turns_may_be_limited(scene: Scene) -> None:
    model = scripted(scene.calls(delegate(max_turns=1)), scene.calls(READ), "done")
    assert scene.ask(play(scene, model), ASK)["answer"] == "done"
    assert "stopped after 1 turns" in results(model)[0]


def test_a_plan_cannot_delegate_in_a_step_of_one_call(scene: Scene) -> None:
    step = scene.step("s1", "agent.delegate", params={"task": "Do it", "tools": []})
    output = scene.ask(scene.agent(*[scene.plan(step)] * 3))
    assert output["status"] == "refused"
    assert "only an agent can delegate" in output["answer"]


@pytest.mark.parametrize(
    ("words", "told"),
    [("Sent!", "no_effect: "), ("I am not able to do that.", "refused_in_words: ")],
    ids=["lazy", "refusing"],
)
def test_what_the_record_of_an_agent_does_not_bear_out_reaches_the_model_as_an_error(
    scene: Scene, words: str, told: str
) -> None:
    model = scripted(scene.calls(delegate("Send the letter", "work.send")), words, "it was not done")
    assert scene.ask(play(scene, model), ASK)["answer"] == "it was not done"
    assert results(model)[0].startswith(told)
    assert words in results(model)[0]
    (call,) = scene.rows("SELECT status, json_extract(result, '$.envelope.result') AS said FROM steps")
    assert call == {"status": "failed", "said": words}
