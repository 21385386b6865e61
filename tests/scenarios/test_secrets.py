"""A secret in an argument, or the mark that stands for one, is refused where it would do something."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import GateError
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load
from tests.scenarios.conftest import Scene

SECRET = "deploy-7Qz1xW9vB3nM5kJ8h"
TOOLS = {"approval": {"plan": "never"}, "secrets": {"env": ["DEPLOY_TOKEN"]}}


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)


def looking() -> Capability:
    """Declare a capability whose result holds the secret."""

    @capability("vault.read", mode="read_only", tags=("vault",))
    def read() -> str:
        """Read what is in the vault."""
        return f"token = {SECRET}; owner = sam"

    return read


def play(scene: Scene, *steps: dict[str, Any], plans: int = 1, **flags: Any) -> dict[str, Any]:
    """Run a plan over the vault and the memory."""
    model = ScriptedModel(replies=[*[scene.plan(*steps)] * plans, "done"])
    agent = build_graph(load(scene.workspace, **{**TOOLS, **flags}), model=model, capabilities=[looking()])
    scene.agents.append(agent)
    output = scene.ask(agent)
    return {**output, "asked": str(model.prompts)}


LOOK = {"id": "look", "capability": "vault.read", "params": {}}


def test_a_result_is_shown_with_a_mark_in_the_place_of_the_secret(scene: Scene) -> None:
    told = play(scene, LOOK)["asked"]
    assert "token = [REDACTED DEPLOY_TOKEN]; owner = sam" in told
    assert SECRET not in told


def test_what_changes_something_is_not_done_with_a_mark(scene: Scene) -> None:
    write = {"id": "note", "capability": "memory.write", "params": {"text": "{{steps.look.output}}"}}
    play(scene, LOOK, write)
    (row,) = scene.rows(
        "SELECT json_extract(result, '$.error') AS e, json_extract(result, '$.code') AS c FROM"
        " steps WHERE step_id = 'note'"
    )
    assert "the mark of the secret DEPLOY_TOKEN" in row["e"]
    assert row["c"] == "forbidden"
    assert scene.rows("SELECT * FROM memories") == []
    assert scene.rows("SELECT * FROM effects") == []


def test_what_only_reads_goes_on_with_a_mark(scene: Scene) -> None:
    shorter = {"id": "short", "capability": "text.summarize", "params": {"text": "{{steps.look.output}}"}}
    assert play(scene, LOOK, shorter)["status"] == "completed"


def test_a_plan_with_a_mark_in_an_argument_is_sent_back(scene: Scene) -> None:
    note = {"id": "note", "capability": "memory.write", "params": {"text": f"use {SECRET}"}}
    assert play(scene, note, plans=3)["status"] == "refused"
    assert scene.rows("SELECT * FROM memories") == []
    verified = [event["data"] for event in scene.journal() if event["type"] == "plan_verified"]
    assert "mark of the secret DEPLOY_TOKEN" in str(verified[0]["findings"])


def test_an_edit_with_a_secret_is_refused_and_the_gate_stays_open(scene: Scene) -> None:
    flags: dict[str, Any] = {"approval": {"plan": "always"}}
    play(scene, {"id": "note", "capability": "memory.write", "params": {"text": "hello"}}, **flags)
    agent = scene.agents[-1]
    steps = [{"id": "note", "capability": "memory.write", "params": {"text": SECRET}}]
    edit = {"name": "approve_plan", "args": {"plan": {"goal": "Do it", "steps": steps}}}
    with pytest.raises(GateError, match="holds the secret DEPLOY_TOKEN") as refused:
        scene.answer(agent, {"decisions": [{"type": "edit", "edited_action": edit}]})
    assert SECRET not in str(refused.value)
    assert scene.waiting(agent)


KNOWN_BY_FORM = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"
BLOTTED = "[REDACTED github-token]"


def test_a_key_that_no_setting_knows_is_put_out_of_every_prompt(scene: Scene) -> None:
    (scene.workspace / "notes.md").write_text(f"the token is {KNOWN_BY_FORM}, owner sam", "utf-8")
    read = scene.calls(("files__read", {"path": "notes.md"}))
    model = ScriptedModel(replies=[read, "done"])
    agent = build_graph(load(scene.workspace, planning={"mode": "never"}), model=model)
    scene.agents.append(agent)
    assert scene.ask(agent, f"Who owns {KNOWN_BY_FORM}?")["status"] == "completed"
    told = str(model.prompts)
    assert f"the token is {BLOTTED}, owner sam" in told
    assert f"Who owns {BLOTTED}?" in told
    assert KNOWN_BY_FORM not in told


def test_nothing_is_changed_with_the_mark_of_such_a_key(scene: Scene) -> None:
    write = scene.calls(("memory__write", {"text": f"the token is {BLOTTED}"}))
    model = ScriptedModel(replies=[write, "done"])
    agent = build_graph(load(scene.workspace, planning={"mode": "never"}), model=model)
    scene.agents.append(agent)
    scene.ask(agent, f"Remember: the token is {BLOTTED}")
    assert "the mark of the secret github-token" in str(model.prompts)
    assert scene.rows("SELECT * FROM memories") == []
