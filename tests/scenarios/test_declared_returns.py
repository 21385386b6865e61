"""A step that is left to a model, and declares what it returns: its fields go on into other steps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

FIELDS = {"who": "str", "days": "int", "notes": "str[]"}
FOUND = {"who": "Mara", "days": 3, "notes": ["a", "b"]}


def judged(**more: Any) -> dict[str, Any]:
    """Write a step that a model does, and that returns fields."""
    return {"id": "who", "description": "Say who is away", "returns": FIELDS, **more}


def written(scene: Scene, text: str = "{{steps.who.output.who}}") -> dict[str, Any]:
    """Write a call that takes one of them."""
    return scene.step("s2", "work.write", params={"name": text})


def asked(scene: Scene, *replies: str, plans: tuple[str, ...] = ()) -> tuple[dict[str, Any], ScriptedModel]:
    """Run a plan whose second step takes a field of the first, and approve what it writes."""
    plan = scene.plan(judged(), written(scene))
    model = ScriptedModel(replies=[*(plans or (plan,)), *replies])
    agent = scene.agent(model=model, approval={"plan": "never"})
    output = scene.ask(agent)
    return scene.decide(agent, "approve") if output["status"] == "interrupted" else output, model


def test_a_field_goes_on_into_a_call_as_it_is(scene: Scene) -> None:
    output, model = asked(scene, json.dumps(FOUND), "Mara is away.")
    assert (output["status"], scene.done) == ("completed", ["Mara"])
    told = model.prompts[1][-1].text
    assert '"properties":{"who":{"type":"string"}' in told.replace(" ", "")
    assert "one JSON object of that form" in told
    assert '"output":{"who":"Mara","days":3,"notes":["a","b"]}' in model.prompts[2][-1].text


def test_words_that_are_not_of_the_form_are_mended_once(scene: Scene) -> None:
    output, model = asked(scene, "Mara, for three days", json.dumps(FOUND), "Mara is away.")
    assert (output["status"], scene.done) == ("completed", ["Mara"])
    mending = model.prompts[2]
    assert "Mara, for three days" in mending[-1].text
    assert "the reply is not one JSON object" in mending[-1].text


def test_a_step_that_returns_no_such_fields_has_failed(scene: Scene) -> None:
    wrong = json.dumps({"who": "Mara", "days": "some"})
    again = scene.plan(scene.step("other", "work.read"))
    output, _ = asked(scene, wrong, wrong, again, "It could not be found out.")
    failed = [event["data"] for event in scene.journal() if event["type"] == "plan_step_failed"]
    assert (
        failed[0]["error"]
        == "it did not return what it declares: `days` has to be of type integer, and is a text"
    )
    assert scene.done == ["other"]
    assert output["status"] == "completed_with_skips"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{steps.who.output.whom}}", "it returns: who, days, notes"),
        ("{{steps.who.output.notes}}", "is array"),
    ],
)
def test_a_reference_is_held_against_what_is_declared(scene: Scene, text: str, why: str) -> None:
    wrong = scene.plan(judged(), written(scene, text))
    right = scene.plan(judged(), written(scene))
    output, model = asked(scene, right, json.dumps(FOUND), "Mara is away.", plans=(wrong,))
    assert why in model.prompts[1][-1].text
    assert (output["status"], scene.done) == ("completed", ["Mara"])


def test_a_fixed_call_declares_nothing(scene: Scene) -> None:
    wrong = scene.plan({**scene.step("s1", "work.read"), "returns": FIELDS})
    output, model = asked(scene, scene.plan(scene.step("s1", "work.read")), "Read.", plans=(wrong,))
    assert "a fixed call returns what its capability does" in model.prompts[1][-1].text
    assert (output["status"], scene.done) == ("completed", ["s1"])


def test_a_type_that_there_is_not_is_said_to_the_planner(scene: Scene) -> None:
    wrong = scene.plan(judged(returns={"who": "person"}), written(scene))
    right = scene.plan(judged(), written(scene))
    output, model = asked(scene, right, json.dumps(FOUND), "Mara is away.", plans=(wrong,))
    assert "'person' is no type" in model.prompts[1][-1].text
    assert output["status"] == "completed"


def test_what_a_model_found_before_the_last_step_is_in_the_answer_too(scene: Scene) -> None:
    note = {"id": "note", "description": "Say who was written to", "depends_on": ["who"]}
    model = ScriptedModel(
        replies=[scene.plan(judged(), note), json.dumps(FOUND), "Mara was written to", "Mara is away"]
    )
    agent = scene.agent(model=model)
    assert scene.ask(agent)["answer"] == "Mara is away"


def test_words_of_the_last_step_are_the_answer_where_only_reads_stand_before_it(scene: Scene) -> None:
    told = {"id": "told", "description": "Say what it says", "depends_on": ["s1"]}
    agent = scene.agent(scene.plan(scene.step("s1", "work.read"), told), "it says nothing", "never asked")
    assert scene.ask(agent)["answer"] == "it says nothing"
