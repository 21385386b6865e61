"""A run that waits while its settings, policy, tools or data change goes on as the settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langgraph.types import Command

from planwright.domain.errors import RunError, VersionMismatch
from planwright.models.scripted import ScriptedModel

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

STRICT = {"sessions": {"on_change": "refuse"}}
RULES = '[[rule]]\nmatch = { capability = "work.destroy" }\ndecide = "deny"\n[[rule]]\ndecide = "ask"\n'


def waiting(scene: Scene, **options: Any) -> Agent:
    """Begin a run that waits at the gate of its plan."""
    first = scene.agent(scene.plan(scene.step("s", "work.send")), "the answer", **options)
    scene.ask(first)
    assert scene.waiting(first)
    return first


def again(scene: Scene, **options: Any) -> Agent:
    return scene.agent(model=ScriptedModel(replies=["the answer"]), **options)


def finish(scene: Scene, agent: Agent, output: dict[str, Any]) -> None:
    """Approve all that is asked, to the end."""
    while output["status"] != "completed":
        output = scene.decide(agent, "approve")
    assert scene.done == ["s>nobody"]


def changes(scene: Scene) -> list[dict[str, Any]]:
    return [event["data"] for event in scene.journal() if event["type"] == "versions_changed"]


def test_what_has_not_changed_is_not_spoken_of(scene: Scene) -> None:
    waiting(scene, **STRICT)
    second = again(scene, **STRICT)
    finish(scene, second, scene.recover(second))
    assert changes(scene) == []


def test_a_change_is_on_record_and_the_run_goes_on(scene: Scene) -> None:
    waiting(scene)
    (scene.workspace / "policy.toml").write_text(RULES, "utf-8")
    second = again(scene)
    output = scene.recover(second)
    assert scene.done == []
    finish(scene, second, output)
    (change,) = changes(scene)
    assert (change["code"], change["parts"]) == ("pack_version_mismatch", ["policy"])
    (row,) = scene.rows("SELECT content FROM audit WHERE content LIKE '%\"versions\"%'")
    assert change["versions"]["policy"] in row["content"]


@pytest.mark.parametrize(
    ("part", "options"),
    [("policy", {}), ("settings", {"execution": {"step_retries": 1}}), ("prompts", {})],
)
def test_a_run_waits_until_it_is_migrated(
    scene: Scene, part: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting(scene, **STRICT)
    if part == "policy":
        (scene.workspace / "policy.toml").write_text(RULES, "utf-8")
    if part == "prompts":
        monkeypatch.setattr("planwright.execution.versions.prompts_hash", lambda: "other words")
    second = again(scene, **STRICT, **options)
    before = scene.everything()
    entries: tuple[object, ...] = (Command(resume={"decisions": [{"type": "approve"}]}), None)
    for entry in entries:
        with pytest.raises(VersionMismatch, match=f"pack_version_mismatch: {part} is not what") as refused:
            second.invoke(entry, scene.config)
        assert refused.value.code == "pack_version_mismatch"
        assert "--migrate" in refused.value.next_step
    assert scene.everything() == before
    assert scene.done == []
    assert second.migrate(scene.thread) == [part]
    assert second.migrate(scene.thread) == []
    finish(scene, second, scene.recover(second))
    assert [(change["parts"], change["by"]) for change in changes(scene)] == [([part], "python")]


def test_a_run_that_is_cancelled_ends_whatever_has_changed(scene: Scene) -> None:
    waiting(scene, **STRICT)
    second = again(scene, **STRICT, execution={"step_retries": 1})
    assert second.cancel(scene.thread)
    with pytest.raises(RunError, match="no open run"):
        second.migrate(scene.thread)


def test_a_run_on_other_data_is_refused_until_it_is_migrated(scene: Scene) -> None:
    first = scene.agent(scene.plan(scene.step("s", "work.send")), "the answer")
    first.invoke({"messages": [("user", "Do it")]}, scene.config, context={"snapshot": "monday"})
    second = again(scene)

    def go_on(snapshot: str) -> dict[str, Any]:
        output: dict[str, Any] = second.invoke(None, scene.config, context={"snapshot": snapshot})
        return output

    assert go_on("monday")["status"] == "interrupted"
    with pytest.raises(VersionMismatch, match="snapshot_version_mismatch"):
        go_on("tuesday")
    assert second.migrate(scene.thread, snapshot="tuesday") == ["snapshot"]
    go_on("tuesday")
    with pytest.raises(VersionMismatch, match="snapshot_version_mismatch"):
        go_on("monday")
    finish(scene, second, scene.recover(second))
    assert [change["code"] for change in changes(scene)] == ["snapshot_version_mismatch"]
