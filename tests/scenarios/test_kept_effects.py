"""A re-plan keeps every effect that is done; doing it once more needs a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from tests.scenarios.test_failures import Made

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

OFF: dict[str, Any] = {"alternative": {"enabled": False}}
POSTED = {"name": "hello"}


def kept(scene: Scene) -> list[str]:
    """List the steps whose effect was not done again."""
    return [event["data"]["step_id"] for event in scene.journal() if event["type"] == "effect_kept"]


def card(scene: Scene, agent: Agent) -> dict[str, Any]:
    (asked,) = agent.get_state(scene.config).interrupts
    shown: dict[str, Any] = asked.value["shown"]
    return shown


def shape(scene: Scene, how: str, id_: str = "post") -> dict[str, Any]:
    """Plan the same post as one call, or with a name that is known only when it is made."""
    params = {"literal": POSTED, "templated": {"name": "{{steps.word.output.text}}"}}[how]
    return scene.step(id_, "work.post", *(["word"] if how == "templated" else []), params=params)


def word(scene: Scene, id_: str = "word") -> dict[str, Any]:
    return scene.step(id_, "text.same", params={"text": "hello"})


@pytest.mark.parametrize("before", ["literal", "templated"])
@pytest.mark.parametrize("after", ["literal", "templated"])
def test_what_is_done_is_kept_whatever_its_place(
    scene: Scene, same: Capability, before: str, after: str
) -> None:
    first = scene.plan(word(scene), shape(scene, before), scene.step("bad", "work.fail"))
    other = scene.plan(word(scene), scene.step("new", "work.read"), shape(scene, after, "later"))
    agent = scene.agent(first, other, "done", capabilities=[same], **OFF)
    assert scene.ask(agent)["status"] == "completed"
    assert scene.done.count("hello") == 1
    assert kept(scene) == ["later"]


def test_a_dependent_write_that_ran_with_partial_context_is_not_repeated(scene: Scene) -> None:
    write = scene.step("w", "work.post", "r", "bad", params=POSTED)
    first = scene.plan(scene.step("r", "work.read"), scene.step("bad", "work.fail"), write)
    mended = scene.plan(scene.step("r", "work.read"), scene.step("bad", "work.read"), write)
    agent = scene.agent(first, mended, "done", **OFF)
    assert scene.ask(agent)["status"] == "completed"
    assert (scene.done.count("hello"), kept(scene)) == (1, [])
    rows = scene.rows("SELECT status FROM effects WHERE capability = 'work.post'")
    assert [row["status"] for row in rows] == ["done"]


def test_other_arguments_are_another_call(scene: Scene, same: Capability) -> None:
    first = scene.plan(word(scene), shape(scene, "templated"), scene.step("bad", "work.fail"))
    bye = scene.step("other", "text.same", params={"text": "bye"})
    farewell = scene.step("farewell", "work.post", params={"name": "{{steps.other.output.text}}"})
    agent = scene.agent(first, scene.plan(bye, farewell), "done", capabilities=[same], **OFF)
    assert scene.ask(agent)["status"] == "completed"
    assert ("hello" in scene.done, "bye" in scene.done, kept(scene)) == (True, True, [])


def test_two_equal_calls_of_one_plan_are_two_intents(scene: Scene) -> None:
    plan = scene.plan(*(scene.step(f"s{n}", "work.post", params=POSTED) for n in (1, 2)))
    assert scene.ask(scene.agent(plan, "done"))["status"] == "completed"
    assert scene.done == ["hello", "hello"]


@pytest.mark.parametrize("how", ["literal", "templated"])
def test_one_more_beside_a_step_that_stays_asks(scene: Scene, same: Capability, how: str) -> None:
    post = scene.step("post", "work.post", params=POSTED)
    first = scene.plan(post, scene.step("bad", "work.fail"))
    agent = scene.agent(
        first, scene.plan(post, word(scene), shape(scene, how, "two")), "done", capabilities=[same], **OFF
    )
    scene.ask(agent)
    if how == "literal":
        scene.decide(agent, "approve")
    assert card(scene, agent)["step_id"] == "two"
    scene.decide(agent, "reject")
    assert (scene.done.count("hello"), kept(scene)) == (1, [])


@pytest.mark.parametrize("answer", ["approve", "reject"])
@pytest.mark.parametrize("how", ["literal", "templated"])
def test_of_two_against_one_that_is_done_one_asks(
    scene: Scene, same: Capability, how: str, answer: str
) -> None:
    first = scene.plan(word(scene), shape(scene, how), scene.step("bad", "work.fail"))
    two = scene.plan(word(scene), shape(scene, how, "one"), shape(scene, how, "two"))
    agent = scene.agent(first, two, "done", capabilities=[same], **OFF)
    scene.ask(agent)
    if how == "literal":
        shown = card(scene, agent)
        assert shown["done"] == {"word": "this run", "one": "this run"}
        assert "done_before" in next(step for step in shown["steps"] if step["id"] == "two")
        scene.decide(agent, "approve")
    shown = card(scene, agent)
    assert shown["reason"].startswith("it was done before in this run")
    assert scene.done.count("hello") == 1
    output = scene.decide(agent, answer)
    assert output["status"] == ("completed" if answer == "approve" else "completed_with_skips")
    assert scene.done.count("hello") == (2 if answer == "approve" else 1)
    assert len(kept(scene)) == 1


CHAIN = {"name": "post_it", "description": "post", "steps": [{"toolName": "work.post", "arguments": POSTED}]}


@pytest.mark.parametrize("inside", ["step", "agent", "delegated", "chain"])
@pytest.mark.parametrize("again", ["step", "agent"])
def test_it_counts_wherever_it_was_done_and_is_planned(scene: Scene, inside: str, again: str) -> None:
    hints = ["work.post", "agent.delegate"]
    agentic = {"id": "a", "description": "post it", "tool_hints": hints}
    call = scene.calls(("work__post", POSTED))
    delegate = scene.calls(("agent__delegate", {"task": "post it", "tools": ["work.post"]}))
    chain = [scene.step("m", "tool.create_chain", params=CHAIN), scene.step("a", "post_it", "m", params={})]
    bad = scene.step("bad", "work.fail")
    firsts: dict[str, tuple[list[Any], list[Any]]] = {
        "step": ([scene.step("a", "work.post", params=POSTED)], []),
        "agent": ([agentic], [call, "posted"]),
        "delegated": ([agentic], [delegate, call, "posted", "told"]),
        "chain": (chain, []),
    }
    seconds: dict[str, tuple[list[Any], list[Any]]] = {
        "step": ([scene.step("b", "work.post", params=POSTED)], []),
        "agent": ([{**agentic, "id": "b", "description": "post it once"}], [call, "posted it"]),
    }
    (steps, said), (others, more) = firsts[inside], seconds[again]
    replies = [scene.plan(*steps, bad), *said, scene.plan(*others), *more, "done"]
    agent = scene.agent(model=ScriptedModel(replies=replies), **OFF)
    output, repeats = scene.ask(agent), list[str]()
    while output.get("__interrupt__"):
        shown = card(scene, agent)
        repeats += [shown["reason"]] if shown.get("done_before") else []
        output = scene.decide(agent, "reject" if shown.get("done_before") else "approve")
    assert output["status"] in ("completed", "completed_with_skips")
    assert scene.done.count("hello") == 1
    if inside == again == "step":
        assert (len(kept(scene)), repeats) == (1, [])
    else:  # the step that did it stays in the plan, and a person is asked about one more
        assert (kept(scene), repeats) == ([], ['it was done before in this run: work.post "hello"'])


def test_what_is_kept_can_be_undone_once(scene: Scene) -> None:
    first = scene.plan(scene.step("s1", "work.book", params=POSTED), scene.step("bad", "work.fail"))
    other = scene.plan(scene.step("x", "work.read"), scene.step("s9", "work.book", "x", params=POSTED))
    agent = scene.agent(first, other, "done", **OFF)
    assert scene.ask(agent)["status"] == "completed"
    scene.thread = str(agent.undo(scene.thread)["configurable"]["thread_id"])
    assert "__interrupt__" in scene.recover(agent)
    scene.decide(agent, "approve")
    assert [line for line in scene.done if "hello" in line] == ["hello", "unhello 1"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("how", ["literal", "templated"])
def test_a_process_that_dies_while_it_keeps_an_effect_keeps_it_once(
    scene: Scene, how: str, when: str
) -> None:
    named = {"literal": {"name": "x, reading 1"}, "templated": {"name": "{{steps.x.output.text}}"}}[how]
    read, done = scene.step("x", "work.read"), {"name": "x, reading 1"}
    first = scene.plan(read, scene.step("s1", "work.post", "x", params=done), scene.step("bad", "work.fail"))
    other = scene.plan(read, scene.step("s8", "work.post", "x", params=named))
    order = {"die_at": "keep", "die_when": when}
    scene.child(scene.entry(message="Do it"), replies=[first, other, "done"], settings=OFF, **order)
    output = scene.recover(scene.agent("done", **OFF))
    assert output["status"] == "completed"
    assert scene.done.count(done["name"]) == 1
    assert kept(scene) == ["s8"]


def test_what_turns_out_to_be_the_same_call_asks_when_it_is_known(scene: Scene) -> None:
    first = scene.plan(
        scene.step("s1", "work.post", params={"name": "x, reading 1"}), scene.step("bad", "work.fail")
    )
    named = {"name": "{{steps.x.output.text}}"}
    other = scene.plan(scene.step("x", "work.read"), scene.step("s8", "work.post", "x", params=named))
    agent = scene.agent(first, other, "done", **OFF)
    scene.ask(agent)
    shown = card(scene, agent)
    assert (shown["step_id"], shown["reason"]) == (
        "s8",
        'it was done before in this run: work.post "x, reading 1"',
    )
    scene.decide(agent, "reject")
    assert scene.done.count("x, reading 1") == 1


def same_text(text: str) -> Made:
    """Return a text."""
    return Made(text=text)


@pytest.fixture
def same() -> Capability:
    """A reading that returns its own argument, so that plans can name it before it is known."""
    return capability("text.same", mode="read_only", trusted_result=True)(same_text)
