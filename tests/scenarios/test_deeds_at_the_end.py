"""A run that is short of success says what it has done and what it has not, from its record."""

from __future__ import annotations

import asyncio
from typing import Any

from planwright.capabilities.declaration import capability
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from tests.scenarios.conftest import Scene

FREE: dict[str, Any] = {"approval": {"plan": "never"}}
DONE = '- work.write "a": done'


def write(name: str) -> tuple[str, dict[str, str]]:
    """Call for one thing to be written."""
    return "work__write", {"name": name}


def told_next(scene: Scene) -> str:
    """Ask something else on the thread, and return what the model is shown of the run before."""
    model = ScriptedModel(replies=["I see."])
    scene.ask(scene.agent(model=model, planning={"mode": "never"}), "What happened?")
    return "\n".join(message.text for message in model.prompts[0][1:])


def test_a_cancelled_loop_tells_the_next_question_what_it_has_done(scene: Scene) -> None:
    agents: list[Agent] = []

    @capability("odd.cancels", mode="read_only", trusted_result=True)
    async def cancels(name: str) -> str:
        """Ask for the end of the run from elsewhere."""
        await agents[0].door.control.cancel(scene.thread, "ada")
        await asyncio.sleep(2.5)
        return name

    replies = [scene.calls(write("a")), scene.calls(("odd__cancels", {"name": "x"})), scene.calls(write("b"))]
    agents.append(scene.agent(*replies, planning={"mode": "never"}, capabilities=[cancels], **FREE))
    ended = scene.ask(agents[0], "Write a and b")
    assert (ended["status"], scene.done) == ("cancelled", ["a"])
    assert ended["answer"].splitlines()[1:] == ["On record:", DONE]
    assert ended["answer"] == scene.rows("SELECT answer FROM runs")[0]["answer"]
    assert ended["messages"][-1].text == ended["answer"]
    assert DONE in told_next(scene)


def test_a_loop_that_has_had_all_its_turns_tells_what_it_has_done_and_was_kept_from(scene: Scene) -> None:
    replies = [scene.calls(write(name)) for name in "ab"]
    settings = {"planning": {"mode": "never"}, "execution": {"max_tool_iterations": 1}}
    ended = scene.ask(scene.agent(*replies, **settings, **FREE), "Write a and b")
    assert (ended["status"], scene.done) == ("failed", ["a"])
    assert ended["answer"].splitlines()[1:] == ["On record:", DONE]


def test_no_words_of_a_model_hide_what_a_limit_kept_a_loop_from(scene: Scene) -> None:
    limit = {"budgets": {"run": {"tool_calls": 2}}, "planning": {"mode": "never"}}
    ended = scene.ask(scene.agent(scene.calls(*map(write, "abcde")), "All are written.", **limit, **FREE))
    assert ended["status"] == "budget_exceeded"
    assert len(scene.done) == 2
    check(scene, ended["answer"], "the run budget of 2 calls is spent")


def test_no_words_of_a_model_hide_what_a_failure_kept_a_plan_from(scene: Scene) -> None:
    steps = [scene.step("a", "work.write"), scene.step("b", "work.write", "a")]
    steps += [scene.step("x", "work.flaky", "b", params={"name": "x", "failures": 99})]
    steps += [scene.step(name, "work.write", "x") for name in "cde"]
    settings = {"planning": {"replan_budget": 0}, "execution": {"step_retries": 0}}
    agent = scene.agent(scene.plan(*steps), "All are written.", **settings, **FREE)
    assert "__interrupt__" in scene.ask(agent)
    ended = scene.decide(agent, "reject")
    assert ended["status"] in ("failed", "escalated")
    assert [name for name in scene.done if name in "abcde"] == ["a", "b"]
    check(scene, ended["answer"])


def check(scene: Scene, answer: str, begins: str = "All are written.") -> None:
    """Check that an answer names each of five writes as what became of it, below what it begins with."""
    words, *lines = answer.splitlines()
    assert words.startswith(begins)
    about = {name: next(line for line in lines if f'work.write "{name}"' in line) for name in "abcde"}
    assert [name for name, line in about.items() if line.endswith(": done")] == [
        name for name in about if name in scene.done
    ]
    assert sum(": not done" in line for line in about.values()) == 3


def test_a_success_says_no_more_than_its_words(scene: Scene) -> None:
    agent = scene.agent(scene.calls(write("a")), "Written.", planning={"mode": "never"}, **FREE)
    assert scene.ask(agent, "Write a")["answer"] == "Written."


def test_a_run_that_was_to_change_nothing_has_nothing_to_tell(scene: Scene) -> None:
    read = scene.calls(("work__read", {"name": "a"}))
    settings = {"planning": {"mode": "never"}, "execution": {"max_tool_iterations": 1}}
    ended = scene.ask(scene.agent(read, "never asked", **settings, **FREE), "Read a")
    assert (ended["status"], scene.done) == ("failed", ["a"])
    assert "On record" not in ended["answer"]
