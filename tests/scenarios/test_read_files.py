"""A call that passes a file on is approved with what the file holds: other content is asked for again."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import Field

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityUnavailable, GateError
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

Path_ = Annotated[str, Field(json_schema_extra={"format": "path"})]
Paths = Annotated[list[str], Field(json_schema_extra={"format": "path"})]
REPORT = "report.md"


def office(sent: list[str]) -> list[Capability]:
    """Make capabilities that pass files on, and one that names a file."""

    @capability(
        "office.send", mode="local_write", risk="Medium", tags=("send",), destinations=("to", "files")
    )
    def send(to: str, files: Paths, call: CallContext) -> str:
        """Send files."""
        sent.extend(f"{to} {call.workspace.read(file)}" for file in files)
        return "sent"

    @capability("office.find", mode="read_only", tags=("find",), trusted_result=True)
    def find() -> dict[str, str]:
        """Find the report."""
        return {"path": REPORT}

    return [send, find]


def write(scene: Scene, text: str) -> None:
    (scene.workspace / REPORT).write_text(text, encoding="utf-8")


def planned(scene: Scene, sent: list[str], *steps: dict[str, Any]) -> Agent:
    model = ScriptedModel(replies=[scene.plan(*steps), "the answer"])
    return scene.agent(model=model, capabilities=office(sent))


def send(path: str = REPORT, **more: Any) -> dict[str, Any]:
    return {"id": "out", "capability": "office.send", "params": {"to": "ada", "files": [path]}, **more}


def files(card: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [(file["path"], file["size"], file["beginning"]) for file in card["files"]]


def test_the_card_of_a_plan_shows_what_its_files_hold(scene: Scene) -> None:
    write(scene, "as shown")
    agent = planned(scene, [], send())
    (asked,) = scene.ask(agent)["__interrupt__"]
    (step,) = [step for step in asked.value["shown"]["steps"] if step["id"] == "out"]
    assert files(step) == [(REPORT, 8, "as shown")]
    assert step["files"][0]["sha256"] == hashlib.sha256(b"as shown").hexdigest()


def test_other_content_is_asked_for_again(scene: Scene) -> None:
    sent: list[str] = []
    write(scene, "as shown")
    agent = planned(scene, sent, send())
    scene.ask(agent)
    write(scene, "changed meanwhile")
    (again,) = scene.decide(agent, "approve")["__interrupt__"]
    assert sent == []
    assert again.value["shown"]["changes"] == ["out: the content of a file that it passes on has changed"]
    assert files(again.value["shown"]["steps"][0]) == [(REPORT, 17, "changed meanwhile")]
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert sent == ["ada changed meanwhile"]


def test_the_hash_of_a_plan_does_not_stand_for_content_that_was_not_seen(scene: Scene) -> None:
    """Two people look at the same plan; the file changes, and the first of them answers, which asks anew."""
    sent: list[str] = []
    write(scene, "as shown")
    first, second = planned(scene, sent, send()), planned(scene, sent, send())
    scene.ask(first)
    (seen,) = second.get_state(scene.config).interrupts
    write(scene, "changed meanwhile")
    (again,) = scene.decide(first, "approve")["__interrupt__"]
    assert again.value["plan_hash"] == seen.value["plan_hash"]
    with pytest.raises(GateError, match="was opened since"):
        scene.answer(second, {"type": "approve", "plan_hash": seen.value["plan_hash"]})
    assert sent == []
    named = {"type": "approve", "plan_hash": again.value["plan_hash"], "gate_id": again.value["gate_id"]}
    assert scene.answer(second, named)["status"] == "completed"
    assert sent == ["ada changed meanwhile"]


def test_the_same_content_is_sent(scene: Scene) -> None:
    sent: list[str] = []
    write(scene, "as shown")
    agent = planned(scene, sent, send())
    scene.ask(agent)
    write(scene, "as shown")
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert sent == ["ada as shown"]


def test_what_an_earlier_step_wrote_is_shown_before_it_is_sent(scene: Scene) -> None:
    sent: list[str] = []
    written = {"id": "w", "capability": "files.write", "params": {"path": REPORT, "text": "new"}}
    agent = planned(scene, sent, written, send(depends_on=["w"]))
    (asked,) = scene.ask(agent)["__interrupt__"]
    assert files(asked.value["shown"]["steps"][1]) == [(REPORT, 0, "")]
    assert "files" not in asked.value["shown"]["steps"][0]
    (again,) = scene.decide(agent, "approve")["__interrupt__"]
    assert sent == []
    assert files(again.value["shown"]["steps"][1]) == [(REPORT, 3, "new")]
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert sent == ["ada new"]


def test_a_path_that_becomes_known_later_is_shown_with_its_content(scene: Scene) -> None:
    sent: list[str] = []
    write(scene, "as shown")
    found = {"id": "f", "capability": "office.find", "params": {}}
    agent = planned(scene, sent, found, send("{{steps.f.output.path}}", approval_mode="destructive"))
    scene.ask(agent)
    (asked,) = scene.decide(agent, "approve")["__interrupt__"]
    assert files(asked.value["shown"]) == [(REPORT, 8, "as shown")]
    write(scene, "changed meanwhile")
    scene.decide(agent, "approve")
    assert sent == []


@pytest.mark.parametrize("unseen", [False, True])
def test_a_path_that_our_own_result_brings_is_shown_with_its_content(scene: Scene, unseen: bool) -> None:
    sent: list[str] = []
    write(scene, "as shown")
    found = {"id": "f", "capability": "office.find", "params": {}}
    agent = planned(scene, sent, found, send("{{steps.f.output.path}}"))
    (asked,) = scene.ask(agent)["__interrupt__"]
    assert asked.value["shown_later"] == ["out"]
    if unseen:
        said = {"decisions": [{"type": "approve", "remember": {"unseen": True}}]}
        assert scene.answer(agent, said)["status"] == "completed"
    else:
        (shown,) = scene.decide(agent, "approve")["__interrupt__"]
        assert files(shown.value["shown"]) == [(REPORT, 8, "as shown")]
        assert sent == []
        scene.decide(agent, "approve")
    assert sent == ["ada as shown"]


def test_a_path_that_is_written_needs_no_look_at_its_content(scene: Scene) -> None:
    found = {"id": "f", "capability": "office.find", "params": {}}
    written = {"path": "{{steps.f.output.path}}", "text": "new"}
    agent = planned(scene, [], found, {"id": "w", "capability": "files.write", "params": written})
    scene.ask(agent)
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert (scene.workspace / REPORT).read_text("utf-8") == "new"


def test_a_call_of_a_model_is_asked_for_again(scene: Scene) -> None:
    sent: list[str] = []
    write(scene, "as shown")
    call = scene.calls(("office__send", {"to": "ada", "files": [REPORT]}))
    agent = scene.agent(
        call,
        "done",
        capabilities=office(sent),
        planning={"mode": "auto"},
        approval={"tool_risk": "Medium"},
    )
    (asked,) = scene.ask(agent, "Send report.md to Ada")["__interrupt__"]
    assert files(asked.value["shown"]) == [(REPORT, 8, "as shown")]
    write(scene, "changed meanwhile")
    (again,) = scene.decide(agent, "approve")["__interrupt__"]
    assert files(again.value["shown"]) == [(REPORT, 17, "changed meanwhile")]
    assert sent == []
    scene.decide(agent, "approve")
    assert sent == ["ada changed meanwhile"]


def test_a_part_of_a_chain_shows_its_files_by_itself(scene: Scene) -> None:
    sent: list[str] = []
    write(scene, "as shown")
    parts = [{"toolName": "office.send", "arguments": {"to": "ada", "files": [REPORT]}}]
    made = {"name": "send_it", "description": "Send it", "steps": parts}
    making = {"id": "made", "capability": "tool.create_chain", "params": made}
    agent = planned(
        scene, sent, making, {"id": "c", "capability": "send_it", "params": {}, "depends_on": ["made"]}
    )
    scene.ask(agent)
    (asked,) = scene.decide(agent, "approve")["__interrupt__"]
    assert files(asked.value["shown"]) == [(REPORT, 8, "as shown")]
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert sent == ["ada as shown"]


@pytest.mark.parametrize("name", ["nowhere.md", "../outside.md", "notes"])
def test_what_is_no_file_is_shown_as_that(scene: Scene, name: str) -> None:
    (scene.workspace / "notes").mkdir()
    agent = planned(scene, [], send(name))
    out = scene.ask(agent)
    shown = [step for each in out.get("__interrupt__", ()) for step in each.value["shown"]["steps"]]
    assert [file["sha256"] for step in shown for file in step.get("files", ())] in ([""], [])


def test_content_that_changes_before_a_retry_is_not_sent(scene: Scene) -> None:
    sent, tries = list[str](), [0]

    @capability("office.mail", mode="local_write", risk="Medium", effect="idempotent", tags=("send",))
    def mail(to: str, file: Path_, call: CallContext) -> str:
        """Send a file."""
        tries[0] += 1
        if tries[0] == 1:
            write(scene, "changed meanwhile")
            raise CapabilityUnavailable("try later")
        sent.append(call.workspace.read(file))
        return "sent"

    write(scene, "as shown")
    step = {"id": "out", "capability": "office.mail", "params": {"to": "ada", "file": REPORT}}
    agent = scene.agent(model=ScriptedModel(replies=[scene.plan(step), "done"]), capabilities=[mail])
    scene.ask(agent)
    scene.decide(agent, "approve")
    assert sent == []


def test_a_path_that_is_a_default_is_shown(scene: Scene) -> None:
    @capability("office.mail", mode="local_write", risk="Medium", tags=("send",))
    def mail(to: str, call: CallContext, file: Path_ = REPORT) -> str:
        """Send a file."""
        return call.workspace.read(file)

    write(scene, "as shown")
    step = {"id": "out", "capability": "office.mail", "params": {"to": "ada"}}
    agent = scene.agent(model=ScriptedModel(replies=[scene.plan(step), "done"]), capabilities=[mail])
    (asked,) = scene.ask(agent)["__interrupt__"]
    assert files(asked.value["shown"]["steps"][0]) == [(REPORT, 8, "as shown")]


def test_what_nobody_has_to_approve_does_not_stop_at_what_its_own_run_wrote(scene: Scene) -> None:
    sent: list[str] = []

    @capability("office.keep", mode="local_write", risk="Low", tags=("send",))
    def keep(file: Path_, call: CallContext) -> str:
        """Keep a file."""
        sent.append(call.workspace.read(file))
        return "kept"

    written = {"id": "w", "capability": "files.write", "params": {"path": REPORT, "text": "new"}}
    kept = {"id": "out", "capability": "office.keep", "params": {"file": REPORT}, "depends_on": ["w"]}
    model = ScriptedModel(replies=[scene.plan(written, kept), "the answer"])
    agent = scene.agent(model=model, capabilities=[keep], approval={"plan_risk": "High"})
    assert scene.ask(agent)["status"] == "completed"
    assert sent == ["new"]
