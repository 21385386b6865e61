"""Where a search finds nothing, what needs the first of it is left out, ends the plan, or goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from planwright.capabilities.declaration import capability
from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

FIRST = "{{steps.s1.output.messages.0.text}}"
NOBODY = "nothing was found by s1"
NEVER = {"approval": {"plan": "never"}, "planning": {"mode": "always"}}


class Message(BaseModel):
    """What a search finds."""

    text: str
    """Its words."""


class Found(BaseModel):
    """All that a search finds."""

    messages: list[Message]
    """One for each."""


class Kept(BaseModel):
    """What was kept."""

    text: str
    """The words that it was given."""


@capability("odd.search", mode="read_only", trusted_result=True, tags=("search",))
def search(query: str) -> Found:
    """Search messages."""
    return Found(messages=[Message(text="one")] if query == "one" else [])


@capability("odd.keep", mode="local_write", effect="idempotent", trusted_result=True)
def keep(text: str | None = "never given") -> Kept:
    """Keep what may be nothing."""
    return Kept(text=repr(text))


SEARCH: dict[str, Any] = {"id": "s1", "capability": "odd.search", "params": {"query": "x"}}


def write(id_: str, text: str, *after: str, **more: Any) -> dict[str, Any]:
    """Write one step that writes something."""
    params = {"name": id_, "text": text}
    return {"id": id_, "capability": "work.write", "params": params, "depends_on": list(after), **more}


def played(scene: Scene, *steps: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Play a plan."""
    agent = scene.agent(scene.plan(*steps), "Done.", capabilities=[search, keep], **{**NEVER, **options})
    return scene.ask(agent)


def ends(scene: Scene) -> dict[str, tuple[str, str]]:
    """Read how each step ended, and by which kind of failure."""
    query = "SELECT json_extract(result, '$.step_id') AS id, status, json_extract(result, '$.code') AS code"
    return {row["id"]: (row["status"], row["code"] or "") for row in scene.rows(f"{query} FROM steps")}


@pytest.mark.parametrize("said", [{}, {"on_empty": "skip"}])
def test_what_needs_the_first_of_nothing_is_left_out_with_what_needs_it(
    scene: Scene, said: dict[str, Any]
) -> None:
    next_ = write("s3", "{{steps.s2.output.text}}", "s1", "s2")
    output = played(scene, SEARCH, write("s2", FIRST, **said), next_, write("s4", "else"))
    assert (output["status"], scene.done) == ("completed_with_skips", ["s4:else"])
    assert "__interrupt__" not in output
    assert ends(scene) == {
        "s1": ("completed", ""),
        "s2": ("skipped", "nothing_found"),
        "s3": ("skipped", "dependency_failed"),
        "s4": ("completed", ""),
    }
    told = [event["data"] for event in scene.journal() if event["type"] == "plan_step_skipped"]
    assert told[0]["error"] == f"{NOBODY} ({FIRST})"


def test_the_answer_says_it(scene: Scene) -> None:
    model = ScriptedModel(replies=[scene.plan(SEARCH, write("s2", FIRST)), "Nothing was found."])
    scene.ask(scene.agent(model=model, capabilities=[search], **NEVER))
    assert len(model.prompts) == 2
    assert NOBODY in "".join(message.text for message in model.prompts[-1])


def test_nobody_is_asked_about_what_is_left_out(scene: Scene) -> None:
    step = {"id": "s2", "capability": "work.destroy", "params": {"name": "d", "text": FIRST}}
    output = played(scene, SEARCH, step)
    assert (output["status"], scene.done) == ("completed_with_skips", [])
    assert scene.rows("SELECT gate_id FROM gates WHERE status = 'open'") == []


def test_what_a_person_has_left_unaccepted_is_not_called_completed(scene: Scene) -> None:
    post = {
        "id": "p",
        "capability": "work.write",
        "params": {"name": "p", "text": "x"},
        "success_criteria": {"cel": "output.text == 'never'"},
    }
    settings = {**NEVER["planning"], "replan_budget": 0}
    agent = scene.agent(
        scene.plan(post, SEARCH, write("s2", FIRST)),
        "Done.",
        capabilities=[search],
        approval=NEVER["approval"],
        planning=settings,
        critic={"run_retries": 0},
    )
    scene.ask(agent)
    output = scene.decide(agent, "reject")
    assert (output["status"], ends(scene)["s2"]) == ("escalated", ("skipped", "nothing_found"))


def test_a_plan_may_end_there(scene: Scene) -> None:
    last = write("s4", "late", "s3")
    output = played(
        scene,
        SEARCH,
        write("s2", FIRST, on_empty="end"),
        {"id": "s3", "capability": "work.read", "params": {"name": "s3"}, "depends_on": ["s1"]},
        last,
        execution={"order": "waves"},
    )
    assert (output["status"], [line for line in scene.done if line.startswith("s4")]) == (
        "completed_with_skips",
        [],
    )
    found = ends(scene)
    assert (found["s2"], found["s4"]) == (("skipped", "plan_ended"), ("skipped", "plan_ended"))
    (told,) = (
        event["data"]["error"]
        for event in scene.journal()
        if event["type"] == "plan_step_skipped" and event["data"]["step_id"] == "s4"
    )
    assert told == f"the plan ended at s2: {NOBODY} ({FIRST})"


@pytest.mark.parametrize(
    ("text", "written"), [(FIRST, "s2"), (f"It is {FIRST}.", "s2:It is .")], ids=["whole", "within"]
)
def test_a_step_may_go_on_with_an_empty_text(scene: Scene, text: str, written: str) -> None:
    output = played(scene, SEARCH, write("s2", text, on_empty="go_on"))
    assert (output["status"], scene.done) == ("completed", [written])


def test_and_with_null_where_that_is_no_text(scene: Scene) -> None:
    step = {"id": "s2", "capability": "odd.keep", "params": {"text": FIRST}, "on_empty": "go_on"}
    assert played(scene, SEARCH, step)["status"] == "completed"
    (kept,) = scene.rows(
        "SELECT result FROM effects WHERE capability = 'odd_keep' OR capability = 'odd.keep'"
    )
    assert kept["result"] == '{"text":"None"}'


def test_what_is_found_is_taken_whatever_is_said_of_nothing(scene: Scene) -> None:
    found = SEARCH | {"params": {"query": "one"}}
    assert played(scene, found, write("s2", FIRST, on_empty="end"))["status"] == "completed"
    assert scene.done == ["s2:one"]


@pytest.mark.parametrize("path", ["messages.1.text", "messages.0.words", "found.0"])
def test_a_reference_that_is_wrong_still_fails(scene: Scene, path: str) -> None:
    found = SEARCH | {"params": {"query": "one"}}
    output = played(scene, found, write("s2", f"{{{{steps.s1.output.{path}}}}}"), planning={"mode": "always"})
    assert (output["status"], scene.done) != ("completed_with_skips", [])
    assert ends(scene).get("s2", ("failed", ""))[0] == "failed"


CHAIN = {
    "name": "row",
    "description": "Search and write",
    "steps": [
        {"toolName": "odd.search", "arguments": {"query": "x"}},
        {"toolName": "work.write", "arguments": {"name": "w", "text": "{{previous_result.messages.0.text}}"}},
    ],
}


def test_a_chain_stops_there_and_its_model_is_told(scene: Scene) -> None:
    with (scene.workspace / "planwright.toml").open("a") as file:
        file.write("[tools]\ntop_k = 40\n")
    made = scene.calls(("tool__create_chain", CHAIN))
    model = ScriptedModel(replies=[made, scene.calls(("row", {})), "Nothing was found."])
    agent = scene.agent(
        model=model,
        capabilities=[search],
        planning={"mode": "never"},
        approval={"tool_risk": "Critical", "plan_risk": "Critical"},
    )
    output = scene.ask(agent, "Chain tools: search, write")
    assert (output["status"], scene.done) == ("completed", [])
    assert "nothing was found" in model.prompts[-1][-1].text
