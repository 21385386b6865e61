"""A plan reads first: its card has the values that its effects will have, and asks once."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from tests.opened_store import opened_store
from tests.scenarios.conftest import Scene
from tests.scenarios.test_shown_once_known import ACCOUNT, REFUND, call, office

READ = {"id": "s1", "capability": "office.read", "params": {}}
PAID = f"refund {ACCOUNT} 500"


def broken() -> Capability:
    """Make a capability that cannot read, and one that finds nothing."""

    @capability("office.broken", mode="read_only", tags=("broken",))
    def read() -> dict[str, str]:
        """Read what is not there."""
        raise FileNotFoundError("there is no such mail")

    return read


def search() -> Capability:
    """Make a search that finds nothing."""

    @capability("office.search", mode="read_only", tags=("search",))
    def search() -> dict[str, list[dict[str, str]]]:
        """Look for a mail."""
        return {"found": []}

    return search


def agent_for(
    scene: Scene, done: list[str], *steps: Any, replies: tuple[Any, ...] = (), **options: Any
) -> Agent:
    """Make an agent whose model plans some steps."""
    model = ScriptedModel(replies=[scene.plan(*steps), *replies, "the answer"])
    tools = [*office(done), broken(), search()]
    return scene.agent(model=model, capabilities=tools, egress={"allow": ["127.0.0.1:9"]}, **options)


def card(output: dict[str, Any]) -> dict[str, Any]:
    """Read the one card that a run waits with, by the ids of its steps."""
    (asked,) = output["__interrupt__"]
    assert asked.value["kind"] == "plan"
    return {step["id"]: step for step in asked.value["shown"]["steps"]}


def test_one_card_shows_what_was_read_and_what_will_be_sent(scene: Scene) -> None:
    done: list[str] = []
    agent = agent_for(scene, done, READ, REFUND)
    steps = card(scene.ask(agent))
    assert (steps["s1"]["brought"], steps["out"]["values"]) == (ACCOUNT, {"account": ACCOUNT})
    assert not steps["out"]["own_gate"]
    assert done == []
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert done == [PAID]
    assert [row["n"] for row in scene.rows("SELECT count(*) AS n FROM gates")] == [1]


def test_what_a_model_writes_by_reading_alone_stands_on_the_card(scene: Scene) -> None:
    done: list[str] = []
    written = {"id": "s1", "description": "Write a post about the day", "tool_hints": ["office.day"]}
    post = call("office.post", room="team", text="{{steps.s1.output.text}}")
    agent = agent_for(scene, done, written, post, replies=("Hello all",))
    assert card(scene.ask(agent))["out"]["values"] == {"text": "Hello all"}
    scene.decide(agent, "approve")
    assert done == ["post team Hello all"]


def test_a_no_leaves_it_at_the_reading(scene: Scene) -> None:
    done: list[str] = []
    agent = agent_for(scene, done, READ, REFUND)
    scene.ask(agent)
    answer = scene.decide(agent, "reject")
    assert (answer["status"], done) == ("rejected", [])
    assert "nothing more was run" in answer["answer"]


@pytest.mark.parametrize("settings", [{"order": "plan_first"}, {"plan": "always"}])
def test_nothing_is_read_before_the_plan_is_approved_where_that_is_wanted(
    scene: Scene, settings: dict[str, str]
) -> None:
    agent = agent_for(scene, [], READ, REFUND, approval=settings)
    assert "brought" not in card(scene.ask(agent))["s1"]
    assert scene.rows("SELECT * FROM steps") == []


def test_nobody_is_asked_where_the_search_finds_nothing(scene: Scene) -> None:
    done: list[str] = []
    search = {"id": "s1", "capability": "office.search", "params": {}}
    pay = call("office.refund", account="{{steps.s1.output.found.0.text}}", cents=500)
    output = scene.ask(agent_for(scene, done, search, pay))
    assert "__interrupt__" not in output
    assert (output["status"], done) == ("completed_with_skips", [])
    assert scene.rows("SELECT * FROM gates") == []


def test_nobody_is_asked_over_what_a_failed_read_leaves_nothing_for(scene: Scene) -> None:
    done: list[str] = []
    read = {"id": "s1", "capability": "office.broken", "params": {}}
    agent = agent_for(scene, done, read, REFUND, critic={"run_retries": 0}, planning={"replan_budget": 0})
    scene.ask(agent)
    assert [row["kind"] for row in scene.rows("SELECT kind FROM gates")] == ["escalation"]
    assert done == []


def test_other_values_than_were_shown_are_asked_for_again(scene: Scene) -> None:
    done: list[str] = []
    scene.ask(agent_for(scene, done, READ, REFUND))
    (row,) = scene.rows("SELECT uid, result FROM steps")
    other = row["result"].replace(ACCOUNT, "DE90 another")
    with closing(opened_store(scene.workspace / ".planwright")) as connection:
        connection.execute("UPDATE steps SET result = ? WHERE uid = ?", (other, row["uid"]))
        connection.commit()
    agent = agent_for(scene, done, READ, REFUND)
    again = scene.decide(agent, "approve")
    assert done == []
    assert card(again)["out"]["values"] == {"account": "DE90 another"}
    scene.decide(agent, "approve")
    assert done == ["refund DE90 another 500"]


def test_a_value_of_an_effect_asks_once_it_is_known(scene: Scene) -> None:
    done: list[str] = []
    noted = {"id": "s1", "capability": "office.note", "params": {"page": "a", "text": "b"}}
    post = call("office.post", room="team", text="{{steps.s1.output}}")
    agent = agent_for(scene, done, noted, post)
    assert "values" not in card(scene.ask(agent))["out"]
    (asked,) = scene.decide(agent, "approve")["__interrupt__"]
    assert (asked.value["kind"], done) == ("step", ["note a b"])


def test_one_destructive_call_asks_once(scene: Scene) -> None:
    agent = scene.agent(
        scene.plan(scene.step("s1", "work.destroy")), "gone", approval={"depth": "plan_and_gates"}
    )
    scene.ask(agent)
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["s1"]
