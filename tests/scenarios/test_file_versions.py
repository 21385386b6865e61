"""What an agent writes are documents, and what they replaced comes back byte for byte when a person asks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.types import Command

from planwright.domain.errors import RunError
from planwright.graph.agent import Agent

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

HARMLESS = [
    "todo.txt", "summary.md", "notes/2026-11-21.md", "notes/deep/er/plan.markdown", "Report.HTML", "page.htm",
    "tickets.csv", "out/table.tsv", "data.json", "results/run-1.json", "README.md", "CHANGELOG.md",
    "a b c.txt", "ü 🧾.txt", "package.md", "conftest.py.md", "node.js notes.md", "settings.txt",
    "my-agents.md", "from kim.txt", "config.csv", "Makefile.txt", "invoice 4310.50.txt", "tasks.json",
    "customer requirements.md", "index.html", "dev/null.txt", "policy.md",
]  # fmt: skip
OLD = {"notes/a.md": "Grüße\r\n\x00\ufeff".encode() + b"\xff\xfe\x80", "b.txt": b""}


def write(scene: Scene, id_: str, path: str, text: str, *after: str, by: str = "files.write") -> Any:
    return scene.step(id_, by, *after, params={"path": path, "text": text})


def run(scene: Scene, *steps: Any) -> tuple[Agent, dict[str, Any]]:
    """Run a plan, approved, to its end."""
    agent = scene.agent(
        scene.plan(*steps),
        "the answer",
        planning={"mode": "always", "max_steps": 100},
        budgets={"run": {"effects": 100}},
    )
    output = scene.ask(agent)
    return agent, scene.decide(agent, "approve") if "__interrupt__" in output else output


def undo(scene: Scene, agent: Agent, thread: str = "") -> dict[str, Any]:
    config = agent.undo(thread or scene.thread)
    agent.invoke(None, config)
    output: dict[str, Any] = agent.invoke(Command(resume="approve"), config)
    return output


def content(scene: Scene, path: str) -> bytes | None:
    place = scene.workspace / path
    return place.read_bytes() if place.exists() else None


@pytest.fixture
def old(scene: Scene) -> Scene:
    """A workspace with two files that are no text, or nothing."""
    for path, data in OLD.items():
        (scene.workspace / path).parent.mkdir(exist_ok=True)
        (scene.workspace / path).write_bytes(data)
    return scene


def test_harmless_documents_are_written(scene: Scene) -> None:
    assert len(HARMLESS) >= 20
    _, output = run(scene, *(write(scene, f"s{n}", path, path) for n, path in enumerate(HARMLESS)))
    assert output["status"] == "completed"
    assert [path for path in HARMLESS if content(scene, path) != path.encode()] == []


def test_harmless_documents_are_created(scene: Scene) -> None:
    made = [path for path in HARMLESS if path.lower().endswith((".md", ".html", ".htm", ".markdown"))]
    steps = (write(scene, f"s{n}", path, path, by="documents.create") for n, path in enumerate(made))
    assert run(scene, *steps)[1]["status"] == "completed"
    assert [path for path in made if path.encode() not in (content(scene, path) or b"")] == []


@pytest.mark.parametrize("path", ["package.json", "Makefile", "tickets.db", "x.py", ".vscode/tasks.json"])
@pytest.mark.parametrize("by", ["files.write", "documents.create"])
def test_a_plan_that_writes_what_runs_is_refused_before_a_person_is_asked(
    scene: Scene, path: str, by: str
) -> None:
    output = scene.ask(scene.agent(scene.plan(write(scene, "a", path, "mine now", by=by))))
    assert output["status"] == "refused"
    assert path in output["answer"]
    assert scene.rows("SELECT * FROM gates") == []
    assert content(scene, path) is None


def test_what_was_replaced_comes_back_and_what_was_new_goes(old: Scene) -> None:
    steps = [
        write(old, "one", "notes/a.md", "first"),
        write(old, "two", "notes/a.md", "second", "one"),
        write(old, "three", "b.txt", "third"),
        write(old, "four", "notes/new.txt", "fourth"),
        write(old, "five", "page.html", "fifth", by="documents.create"),
    ]
    agent, output = run(old, *steps)
    assert output["status"] == "completed"
    assert content(old, "notes/a.md") == b"second"
    assert undo(old, agent)["status"] == "completed"
    assert {path: content(old, path) for path in OLD} == OLD
    assert (content(old, "notes/new.txt"), content(old, "page.html")) == (None, None)
    with pytest.raises(RunError, match="it was undone by run_"):
        agent.undo(old.thread)


def test_a_file_that_changed_since_is_left_alone_and_the_rest_is_restored(old: Scene) -> None:
    agent, _ = run(old, write(old, "one", "notes/a.md", "first"), write(old, "two", "new.txt", "second"))
    (old.workspace / "new.txt").write_text("a person's own")
    assert undo(old, agent)["status"] == "failed"
    assert content(old, "new.txt") == b"a person's own"
    assert content(old, "notes/a.md") == OLD["notes/a.md"]
    (old.workspace / "new.txt").write_text("second")
    assert undo(old, agent)["status"] == "completed"
    assert content(old, "new.txt") is None


@pytest.mark.parametrize("job", ["intent", "file version", "done"])
def test_a_run_killed_while_it_writes_keeps_the_first_version(old: Scene, job: str) -> None:
    plan = old.plan(write(old, "one", "notes/a.md", "first"))
    old.child(old.entry(message="Do it"), replies=[plan])
    old.child(old.entry(resume={"decisions": [{"type": "approve"}]}), replies=["the answer"], die_at=job)
    agent = old.agent("the answer")
    assert old.recover(agent)["status"] == "completed"
    assert content(old, "notes/a.md") == b"first"
    assert undo(old, agent)["status"] == "completed"
    assert content(old, "notes/a.md") == OLD["notes/a.md"]


@pytest.mark.sqlite
def test_no_blob_of_the_store_is_written_into_a_file_as_a_version(old: Scene) -> None:
    run(old, write(old, "one", "notes/a.md", "first"))
    (effect,) = old.rows("SELECT result FROM effects")
    version = json.loads(effect["result"])["version"]
    others = [path.parent.name + path.name for path in (old.workspace / ".planwright/blobs").rglob("*/*")]
    assert len(others) >= 2
    for n, (blob, path) in enumerate(
        [*((one, "b.txt") for one in others), (version, "other.txt"), ("", "b.txt")]
    ):
        old.thread = f"{n}"
        step = old.step("a", "files.restore", params={"path": path, "version": blob})
        _, output = run(old, step)
        assert output["status"] == "failed", (blob, path)
    assert (content(old, "b.txt"), content(old, "other.txt")) == (b"", None)


def test_a_restored_file_can_be_undone_in_turn(old: Scene) -> None:
    run(old, write(old, "one", "notes/a.md", "first"))
    (effect,) = old.rows("SELECT result FROM effects")
    version = json.loads(effect["result"])["version"]
    old.thread = "again"
    agent, output = run(
        old, old.step("a", "files.restore", params={"path": "notes/a.md", "version": version})
    )
    assert output["status"] == "completed"
    assert content(old, "notes/a.md") == OLD["notes/a.md"]
    assert undo(old, agent, "again")["status"] == "completed"
    assert content(old, "notes/a.md") == b"first"


def test_a_file_with_a_secret_is_not_replaced_for_the_store_does_not_keep_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "s3cr3t-value-of-a-token")
    (scene.workspace / "a.txt").write_text("token s3cr3t-value-of-a-token")
    plan = scene.plan(write(scene, "a", "a.txt", "mine"))
    agent = scene.agent(plan, "the answer", secrets={"env": ["DEPLOY_TOKEN"]}, planning={"replan_budget": 0})
    scene.ask(agent)
    assert scene.decide(agent, "approve")["status"] == "failed"
    assert content(scene, "a.txt") == b"token s3cr3t-value-of-a-token"
    blobs = (scene.workspace / ".planwright").rglob("*")
    assert [path for path in blobs if path.is_file() and b"s3cr3t-value" in path.read_bytes()] == []
