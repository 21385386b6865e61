"""What the user dictated word for word asks once at most, whoever plans it."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.types import Command

from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load
from tests.scenarios.conftest import Scene

DICTATED = [
    ("Remember that I prefer short answers", "memory.write", {"text": "I prefer short answers"}),
    ('Write "buy nails" to notes/todo.md', "files.write", {"path": "notes/todo.md", "text": "buy nails"}),
]
READ = "Read notes/mail.md"


def questions(scene: Scene, agent: Agent, request: str) -> int:
    """Ask, approve whatever is asked, and count the questions; the run has to complete."""
    scene.agents.append(agent)
    output, asked = scene.ask(agent, request), 0
    while gates := output.get("__interrupt__"):
        asked += len(gates)
        output = agent.invoke(
            Command(resume={gate.id: {"decisions": [{"type": "approve"}]} for gate in gates}), scene.config
        )
    assert output["status"] == "completed"
    return asked


def embedded(scene: Scene, *calls: tuple[str, dict[str, Any]]) -> Agent:
    """Make an agent of the planner that comes along."""
    return build_graph(load(scene.workspace))


def planned(scene: Scene, *calls: tuple[str, dict[str, Any]]) -> Agent:
    """Make an agent whose model plans a call for each request."""
    replies = [
        reply for name, args in calls for reply in (scene.plan(scene.step("s1", name, params=args)), "done")
    ]
    settings = load(scene.workspace, planning={"mode": "always"})
    return build_graph(settings, model=ScriptedModel(replies=replies))


def looped(scene: Scene, *calls: tuple[str, dict[str, Any]]) -> Agent:
    """Make an agent whose model makes a call for each request."""
    wire = [(name.replace(".", "__"), args) for name, args in calls]
    replies = [reply for call in wire for reply in (scene.calls(call), "done")]
    return build_graph(
        load(scene.workspace, planning={"mode": "never"}), model=ScriptedModel(replies=replies)
    )


@pytest.mark.parametrize("after_reading", [False, True])
@pytest.mark.parametrize("way", [embedded, planned, looped])
@pytest.mark.parametrize(("request_", "name", "args"), DICTATED)
def test_a_dictated_effect_asks_once_at_most(
    scene: Scene, way: Any, request_: str, name: str, args: dict[str, Any], after_reading: bool
) -> None:
    (scene.workspace / "notes").mkdir()
    (scene.workspace / "notes/mail.md").write_text("Ann: Friday.", encoding="utf-8")
    (scene.workspace / "planwright.toml").unlink()
    reads = [("files.read", {"path": "notes/mail.md"})] if after_reading else []
    agent = way(scene, *reads, (name, args))
    if after_reading:
        assert questions(scene, agent, READ) == 0
    assert questions(scene, agent, request_) <= 1
    effects = scene.rows("SELECT capability FROM effects")
    assert [row["capability"] for row in effects] == [name]
