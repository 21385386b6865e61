"""A run that is to end with a typed answer: an object that follows a schema, beside the words for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.types import Command
from pydantic import BaseModel, Field

from planwright.domain.errors import SetupError
from planwright.domain.run_context import RunContext
from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

WORDS = "Mara is away for three days."


class Item(BaseModel):
    """One thing of a list."""

    name: str


class Absence(BaseModel):
    """Who is away, and for how long."""

    who: str
    days: int = Field(ge=1)
    items: list[Item] = []
    note: str | None = None


VALUE = {"who": "Mara", "days": 3, "items": [{"name": "a"}]}
FIELDS = {"who": "str", "days": "int", "items": [{"name": "str"}]}
FORMS: dict[str, Any] = {
    "class": {"answer_schema": Absence},
    "schema": {"answer_schema": Absence.model_json_schema()},
    "fields": {"answer_schema": FIELDS},
    "context": RunContext(answer_schema=Absence),  # type: ignore[arg-type]
}


def request(scene: Scene, agent: Any, context: Any = FORMS["class"]) -> dict[str, Any]:
    """Ask for a typed answer."""
    entry = {"messages": [("user", "Who is away?")]}
    output: dict[str, Any] = agent.invoke(entry, scene.config, context=context)
    return output


def planned(scene: Scene, *replies: Any, **settings: Any) -> tuple[Any, ScriptedModel]:
    """Open an agent whose plan reads once."""
    model = ScriptedModel(replies=[scene.plan(scene.step("s1", "work.read")), *replies])
    return scene.agent(model=model, **settings), model


@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_a_value_beside_the_words(form: str, scene: Scene) -> None:
    agent, model = planned(scene, WORDS, json.dumps(VALUE))
    output = request(scene, agent, FORMS[form])
    assert (output["status"], output["answer"]) == ("completed", WORDS)
    assert output["answer_value"] == VALUE
    system, told = model.prompts[2]
    assert system.text.startswith("Role: answer_value")
    assert '"who"' in system.text
    assert "s1, reading 1" in told.text
    assert WORDS in told.text
    assert "<untrusted-" in told.text
    (event,) = [event for event in scene.journal() if event["type"] == "answer_value"]
    assert event["data"] == {"value": VALUE}


def test_a_loop_gives_a_value_too(scene: Scene) -> None:
    called = scene.calls(("work__read", {"name": "calendar"}))
    model = ScriptedModel(replies=[called, WORDS, json.dumps(VALUE)])
    output = request(scene, scene.agent(model=model, planning={"mode": "never"}))
    assert (output["status"], output["answer"], output["answer_value"]) == ("completed", WORDS, VALUE)
    assert "calendar, reading 1" in model.prompts[2][1].text


def test_words_that_follow_the_schema_are_the_value_and_no_model_is_asked_again(scene: Scene) -> None:
    agent, model = planned(scene, json.dumps(VALUE))
    output = request(scene, agent)
    assert (output["answer"], output["answer_value"]) == (json.dumps(VALUE), VALUE)
    assert len(model.prompts) == 2


def test_a_value_that_does_not_fit_is_repaired_once(scene: Scene) -> None:
    wrong = json.dumps({**VALUE, "days": 0})
    agent, model = planned(scene, WORDS, wrong, json.dumps(VALUE))
    assert request(scene, agent)["answer_value"] == VALUE
    *_, reply, told = model.prompts[3]
    assert reply.text == wrong
    assert "days: 0 is less than the minimum of 1" in told.text


def test_a_run_without_such_a_value_has_failed_and_says_what_was_done(scene: Scene) -> None:
    wrong = json.dumps({"who": "Mara"})
    model = ScriptedModel(replies=[scene.plan(scene.step("s1", "work.write")), WORDS, wrong, wrong, "x"])
    agent = scene.agent(model=model, approval={"plan": "never"})
    output = request(scene, agent)
    assert (output["status"], output["answer_value"]) == ("failed", None)
    first, why, head, *deeds = output["answer"].split("\n")
    assert first == WORDS
    assert why == (
        "There is no typed answer, as `answer_schema` wants one: the object: 'days' is a required property"
    )
    assert (head, len(deeds)) == ("On record:", 1)
    assert scene.done == ["s1"]
    assert not any(event["type"] == "answer_value" for event in scene.journal())


def test_an_agent_brings_a_form_and_a_request_another(scene: Scene) -> None:
    agents = {"clerk": {"answer_schema": {"who": "str"}}}
    agent, _ = planned(scene, WORDS, '{"who": "Mara"}', agents=agents)
    assert request(scene, agent, {"agent": "clerk"})["answer_value"] == {"who": "Mara"}
    scene.thread = "another"
    agent, _ = planned(scene, WORDS, json.dumps(VALUE), agents=agents)
    assert request(scene, agent, {"agent": "clerk", **FORMS["class"]})["answer_value"] == VALUE


def test_a_run_goes_on_with_its_form_after_a_gate_in_another_process(scene: Scene) -> None:
    gated = scene.step("s1", "work.write", estimated_risk="Medium")
    agent = scene.agent(scene.plan(gated))
    request(scene, agent)
    other = scene.agent(model=ScriptedModel(replies=[WORDS, json.dumps(VALUE)]))
    output = other.invoke(Command(resume={"decisions": [{"type": "approve"}]}), scene.config)
    assert (output["status"], output["answer_value"]) == ("completed", VALUE)


def test_the_value_of_one_run_is_not_that_of_the_next(scene: Scene) -> None:
    model = ScriptedModel(replies=[WORDS, json.dumps(VALUE), "title", "Good day."])
    agent = scene.agent(model=model, planning={"mode": "never"}, memory={"proposals": "off"})
    assert request(scene, agent)["answer_value"] == VALUE
    assert scene.ask(agent, "Good day")["answer_value"] is None


def test_a_fork_keeps_the_form(scene: Scene) -> None:
    agent, _ = planned(scene, WORDS, json.dumps(VALUE))
    request(scene, agent)
    other = scene.agent(model=ScriptedModel(replies=[WORDS, json.dumps({**VALUE, "days": 4})]))
    (run,) = scene.rows("SELECT run_id FROM runs")
    config = other.fork(run["run_id"], rerun=["s1"])
    assert other.invoke(None, config)["answer_value"] == {**VALUE, "days": 4}


def test_a_form_that_is_none_is_refused_before_anything_is_done(scene: Scene) -> None:
    agent, model = planned(scene, WORDS)
    with pytest.raises(SetupError, match=r"answer_schema\n  Value error, 'money' is no type"):
        request(scene, agent, {"answer_schema": {"total": "money"}})
    assert (model.prompts, scene.rows("SELECT run_id FROM runs")) == ([], [])


def test_without_a_model_nothing_is_done(scene: Scene) -> None:
    agent = scene.agent(model=None)
    output = request(scene, agent)
    assert output["status"] == "failed"
    assert "`answer_schema` wants a typed answer, which only a model writes" in output["answer"]
    assert not any(event["type"] == "plan_created" for event in scene.journal())


def test_questions_and_dry_runs_have_no_value(scene: Scene) -> None:
    agent, model = planned(scene, "never asked")
    output = request(scene, agent, {**FORMS["class"], "dry_run": True})
    assert (output["status"], output["answer_value"]) == ("planned", None)
    assert len(model.prompts) == 1


def test_a_limit_at_the_value_is_met_like_any_other(scene: Scene) -> None:
    agent, _ = planned(scene, WORDS, json.dumps(VALUE), budgets={"run": {"model_calls": 2}})
    output = request(scene, agent)
    assert output["status"] == "budget_exceeded"
    assert "budgets.run.model_calls" in output["answer"]
    agent.extend(scene.thread, {"model_calls": 5})
    output = scene.recover(agent)
    assert (output["status"], output["answer_value"]) == ("completed", VALUE)
    assert scene.done == ["s1"]
